"""A line style for each solver, the same in all figures and reports: found by its name."""

from collections.abc import Iterable, Sequence
from zlib import crc32

from dualgap.experiments.plots.style import LOOKS, MARKERS, LineStyle, line_style

# The solvers that are most often compared have a place each, which decides colour and marker: of eight
# in a row no two share a colour. Others get a place by their name's checksum, and are listed nowhere.
_SOLVERS = (
    *("smo", "libsvm", "dual_coordinate_descent", "liblinear"),
    *("cvxopt_qp", "projected_gradient", "pegasos", "cvxpy_qp"),
    *("sgd", "libsvm_openmp", "one_dal", "platt_smo"),
)
# Settings keep a solver's colour; a place here is how far they move its marker.
_SETTINGS = ("barzilai_borwein", "accelerated", "plain", "notebook")


def solver_styles(labels: Iterable[str]) -> dict[str, LineStyle]:
    """Return a line style for each series, `solver` or `solver (settings)`, the same in every figure.

    The solver's name decides the colour, and its settings the marker. Only where two of the labels would
    look alike does the later one move on: to the next marker that is free in its colour, and from the
    last one to the next colour.
    """
    places: dict[str, tuple[bool, int, int]] = {}
    for label in sorted(set(labels)):
        # a back end of `qpsolvers_qp` is a solver of its own
        name = label if label.startswith("qpsolvers_qp (") else label.partition(" (")[0]
        settings = label.removeprefix(name).strip(" ()")
        place = _place(name, _SOLVERS)
        marker = place + (_place(settings, _SETTINGS) if settings else 0)
        places[label] = name not in _SOLVERS, place, marker
    taken: set[tuple[str, str]] = set()
    styles: dict[str, LineStyle] = {}
    for label in sorted(places, key=lambda label: (places[label][0], label)):
        _, colour, marker = places[label]
        tried = [line_style(colour + i // len(MARKERS), marker + i) for i in range(LOOKS)]
        line = next((t for t in tried if (t.colour, t.marker) not in taken), tried[0])
        taken.add((line.colour, line.marker))
        styles[label] = line
    return {label: styles[label] for label in places}


def _place(name: str, known: Sequence[str]) -> int:
    return known.index(name) if name in known else crc32(name.encode())
