"""A QP's answer is the same, but for its units, whatever units its cost, rows and variables are in."""

import numpy as np
import pytest
from tests.halves import quick_cases
from tests.problems.quadratic.convex_qps import drawn, problem_of

from dualgap.solvers import solve
from dualgap.solvers.cvxopt_qp import CvxoptQP
from dualgap.solvers.cvxpy_qp import CvxpyQP
from dualgap.solvers.external.qpsolvers_qp import QPSolversQP
from dualgap.solvers.numerics.backends import BACKENDS


def back_ends():
    yield CvxoptQP()
    yield from (CvxpyQP(backend=name, tol=1e-8) for name in CvxpyQP.backends())
    yield from (QPSolversQP(backend=name, tol=1e-8) for name in BACKENDS if name != "cvxopt")


def in_other_units(arrays, seed):
    """Return the arrays with P and q, each row and each variable times a 2ᵏ of its own, |k| ≤ 40."""
    rng = np.random.default_rng([12, seed])
    cost, of_G, of_A, of_x = (
        rng.integers(-40, 41, size)
        for size in (1, len(arrays["G"]), len(arrays["A"]), len(arrays["q"]))
    )
    exponents = {"P": cost + of_x + of_x[:, None], "q": cost + of_x, "lb": -of_x, "ub": -of_x}
    exponents |= {"G": of_G[:, None] + of_x, "h": of_G, "A": of_A[:, None] + of_x, "b_eq": of_A}
    return arrays | {name: np.ldexp(arrays[name], k) for name, k in exponents.items()}


@pytest.mark.parametrize("seeds", quick_cases([range(2), range(2, 150)], [range(2)]), ids=str)
@pytest.mark.parametrize("solver", list(back_ends()), ids=repr)
def test_the_verdict_and_the_gap_do_not_depend_on_units(solver, seeds):
    for seed in seeds:
        _, arrays = drawn(seed)
        if (arrays["lb"] > arrays["ub"]).any():
            continue
        answer, scaled = (
            solve(problem_of(data), solver) for data in (arrays, in_other_units(arrays, seed))
        )
        assert answer.verdict == scaled.verdict, seed
        gap, other = (
            (c.nearby or c).relative_gap for c in (answer.certificate, scaled.certificate)
        )
        if np.isfinite(gap):
            assert 0.5 * gap <= other <= 2 * gap, seed


@pytest.mark.parametrize("size", [1.0, 1e-3, 1e-6, 1e-9, 1e-12])
def test_one_tight_bound_does_not_set_the_scale_of_the_box(size):
    arrays = {
        "P": np.array([[2.0, 0.5, 0.0], [0.5, 2.0, 0.3], [0.0, 0.3, 1.0]]),
        "q": np.array([1.0, -2.0, 3.0]),
        "G": np.ones((1, 3)),
        "h": np.array([5.0]),
        "A": np.zeros((0, 3)),
        "b_eq": np.zeros(0),
        "lb": np.array([0.0, -np.inf, -np.inf]),
        "ub": np.array([size, np.inf, np.inf]),
    }
    for backend in ("clarabel", "osqp", "piqp"):
        assert solve(problem_of(arrays), QPSolversQP(backend=backend, tol=1e-8)).verdict == "solved"
