"""Line styles of solvers, by name; those that are compared most look the same everywhere."""

from collections.abc import Iterable, Sequence
from zlib import crc32

from dualgap.experiments.plots.style import MARKERS, N_DISTINCT_STYLES, LineStyle, line_style

# The position of a frequently compared solver determines its colour and marker: eight in a row have
# different colours. Other solvers begin at the checksum of their name.
_SOLVERS = (
    *("smo", "libsvm", "dual_coordinate_descent", "liblinear"),
    *("cvxopt_qp", "projected_gradient", "pegasos", "cvxpy_qp"),
    *("sgd", "libsvm_openmp", "one_dal", "platt_smo"),
)
# Settings keep a solver's colour; a position here shifts its marker.
_SETTINGS = ("barzilai_borwein", "accelerated", "plain", "notebook")


def solver_styles(labels: Iterable[str]) -> dict[str, LineStyle]:
    """Return a line style for each series, `solver` or `solver (settings)`.

    The solver's name determines the colour, and its settings the marker. If two labels would look the
    same, the later one gets the next marker that is free in its colour, or else in the next colour.
    """
    # a back end of `qpsolvers_qp` counts as a separate solver
    names = {
        label: label if label.startswith("qpsolvers_qp (") else label.partition(" (")[0]
        for label in sorted(set(labels))
    }
    positions = _positions(names.values())
    indices: dict[str, tuple[bool, int, int]] = {}
    for label, name in names.items():
        settings, index = label.removeprefix(name).strip(" ()"), positions[name]
        marker = index + (_index(settings, _SETTINGS) if settings else 0)
        indices[label] = name not in _SOLVERS, index, marker
    used: set[tuple[str, str]] = set()
    styles: dict[str, LineStyle] = {}
    for label in sorted(indices, key=lambda label: (indices[label][0], label)):
        _, colour, marker = indices[label]
        candidates = [
            line_style(colour + i // len(MARKERS), marker + i) for i in range(N_DISTINCT_STYLES)
        ]
        line = next((t for t in candidates if (t.colour, t.marker) not in used), candidates[0])
        used.add((line.colour, line.marker))
        styles[label] = line
    return {label: styles[label] for label in indices}


def _positions(names: Iterable[str]) -> dict[str, int]:
    """Return each name's position; those not in `_SOLVERS` have an unused colour while there is one."""
    n_colours = N_DISTINCT_STYLES // len(MARKERS)
    positions = {name: _SOLVERS.index(name) for name in names if name in _SOLVERS}
    for name in sorted({*names} - {*positions}):
        first = crc32(name.encode())
        used = {position % n_colours for position in positions.values()}
        unused = (i for i in range(first, first + n_colours) if i % n_colours not in used)
        positions[name] = next(unused, first)
    return positions


def _index(name: str, names: Sequence[str]) -> int:
    return names.index(name) if name in names else crc32(name.encode())
