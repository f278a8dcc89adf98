"""Line styles of solvers, by name: the same in all figures and reports."""

from collections.abc import Iterable, Sequence
from zlib import crc32

from dualgap.experiments.plots.style import MARKERS, N_DISTINCT_STYLES, LineStyle, line_style

# The position of a frequently compared solver determines its colour and marker: eight in a row have
# different colours. Other solvers get a position from the checksum of their name.
_SOLVERS = (
    *("smo", "libsvm", "dual_coordinate_descent", "liblinear"),
    *("cvxopt_qp", "projected_gradient", "pegasos", "cvxpy_qp"),
    *("sgd", "libsvm_openmp", "one_dal", "platt_smo"),
)
# Settings keep a solver's colour; a position here shifts its marker.
_SETTINGS = ("barzilai_borwein", "accelerated", "plain", "notebook")


def solver_styles(labels: Iterable[str]) -> dict[str, LineStyle]:
    """Return a line style for each series, `solver` or `solver (settings)`, the same in every figure.

    The solver's name determines the colour, and its settings the marker. If two labels would look the
    same, the later one gets the next marker that is free in its colour, or else in the next colour.
    """
    indices: dict[str, tuple[bool, int, int]] = {}
    for label in sorted(set(labels)):
        # a back end of `qpsolvers_qp` counts as a separate solver
        name = label if label.startswith("qpsolvers_qp (") else label.partition(" (")[0]
        settings = label.removeprefix(name).strip(" ()")
        index = _index(name, _SOLVERS)
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


def _index(name: str, names: Sequence[str]) -> int:
    return names.index(name) if name in names else crc32(name.encode())
