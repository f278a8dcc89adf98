"""A line style for each solver, the same in all figures and reports: found by its name."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from zlib import crc32

from experiments.plots.style import MARKERS, LineStyle, line_style

# A place here decides colour and marker: of eight in a row no two share a colour, and solvers that are
# often compared share neither. Other solvers get a place by their name's checksum.
_SOLVERS = (
    *("smo", "libsvm", "dual_coordinate_descent", "liblinear"),
    *("cvxopt_qp", "projected_gradient", "pegasos", "cvxpy_qp"),
    *("qpsolvers_qp", "snap_ml", "one_dal", "cvxpy_erm"),
    *("liblinear_multicore", "sgd", "simplified_smo", "libsvm_openmp"),
    *("lbfgs", "newton_cg", "finite_newton", "sdca"),
    *("perceptron", "platt_smo", "lda", "stochastic_subgradient"),
    *("interior_point", "svm_light", "scg", "nystroem"),
    *("coordinate_descent", "mapped_pegasos", "mystic", "scipy_minimize"),
    *("cutting_plane", "random_fourier"),
    *("qpsolvers_qp (clarabel)", "qpsolvers_qp (highs)", "semismooth_newton"),
    *("qpsolvers_qp (osqp)", "qpsolvers_qp (piqp)", "qpsolvers_qp (proxqp)"),
    *("qpsolvers_qp (quadprog)", "qpsolvers_qp (scs)"),
)
# Settings keep a solver's colour; a place here is how far they move its marker.
_SETTINGS = ("barzilai_borwein", "accelerated", "plain", "notebook")


def solver_styles(labels: Iterable[str]) -> dict[str, LineStyle]:
    """Return a line style for each series, `solver` or `solver (settings)`, the same in every figure.

    The solver's name decides the colour, and its settings the marker. Only where two of the labels would
    look alike does the later one move on to the next marker that is free in its colour.
    """
    places = {label: _places(label) for label in sorted(set(labels))}
    taken: set[tuple[str, str]] = set()
    styles: dict[str, LineStyle] = {}
    for label in sorted(places, key=lambda label: (_name(label) not in _SOLVERS, label)):
        colour, marker = places[label]
        tried = [line_style(colour, marker + i) for i in range(len(MARKERS))]
        line = next((t for t in tried if (t.colour, t.marker) not in taken), tried[0])
        taken.add((line.colour, line.marker))
        styles[label] = line
    return {label: styles[label] for label in places}


def _name(label: str) -> str:
    return label if label in _SOLVERS else label.partition(" (")[0]


def _places(label: str) -> tuple[int, int]:
    """Return the places of a series' colour and marker."""
    name = _name(label)
    settings = label.removeprefix(name).strip(" ()")
    place = _place(name, _SOLVERS)
    return place, place + (_place(settings, _SETTINGS) if settings else 0)


def _place(name: str, known: Sequence[str]) -> int:
    return known.index(name) if name in known else crc32(name.encode())
