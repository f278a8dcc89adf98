"""The line styles of solvers."""

import numpy as np

from dualgap.experiments.plots.solver_styles import solver_styles
from dualgap.experiments.plots.style import BLUE, N_DISTINCT_STYLES
from dualgap.solvers import all_solvers

COMPARED = ("smo", "libsvm", "dual_coordinate_descent", "liblinear", "cvxopt_qp")
COMPARED += ("projected_gradient", "pegasos", "cvxpy_qp")
SERIES = [*all_solvers(), "student.py:Mine", "qpsolvers_qp (osqp)", "smo (one)", "smo (two)"]


def looks(names):
    return {(line.colour, line.marker) for line in solver_styles(names).values()}


def drawn(count):
    """Names that a new solver might have."""
    letters = np.random.default_rng(count).choice([*"abcdefghijklmnopqrstuvwxyz_"], (count, 9))
    return ["".join(word) for word in letters]


def test_no_two_series_look_alike_for_any_solver_names():
    assert all(len(looks([*SERIES, name])) == len(SERIES) + 1 for name in drawn(200))
    assert len(looks(drawn(N_DISTINCT_STYLES))) == N_DISTINCT_STYLES


def test_common_solvers_have_the_same_style_in_every_figure():
    together = solver_styles([*SERIES, *drawn(200)])
    assert all(solver_styles([name])[name] == together[name] for name in COMPARED)
    assert len({together[name].colour for name in COMPARED}) == len(COMPARED)
    assert {together[f"smo{settings}"].colour for settings in ("", " (one)", " (two)")} == {BLUE}


def test_up_to_eight_solvers_have_colours_of_their_own():
    for names in (drawn(8), [*drawn(3), *COMPARED[:5]], ["OSQP", "Clarabel", "SCS", "CVXOPT"]):
        styles = solver_styles([f"{name} ({i})" for name in names for i in range(2)])
        assert len({line.colour for line in styles.values()}) == len(names)
