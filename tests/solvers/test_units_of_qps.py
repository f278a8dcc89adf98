"""A QP's answer is the same, but for its units, whatever units its cost and rows are in."""

import numpy as np
import pytest

from solvers import solve
from solvers.cvxopt_qp import CvxoptQP
from solvers.cvxpy_qp import CvxpyQP
from solvers.external.qpsolvers_qp import QPSolversQP
from solvers.numerics.quadratic import BACKENDS
from tests.problems.convex_qps import drawn, problem_of


def back_ends():
    yield CvxoptQP()
    yield from (CvxpyQP(backend=name, tol=1e-8) for name in CvxpyQP.backends())
    yield from (QPSolversQP(backend=name, tol=1e-8) for name in BACKENDS if name != "cvxopt")


def in_other_units(arrays, seed):
    """Return the arrays with P and q times 2ᵏ, and each row and its side times a 2ᵏ of its own."""
    rng = np.random.default_rng([12, seed])
    cost, of_G, of_A = (
        rng.integers(-40, 41, size) for size in (1, len(arrays["G"]), len(arrays["A"]))
    )
    exponents = {"P": cost, "q": cost, "G": of_G[:, None], "h": of_G}
    exponents |= {"A": of_A[:, None], "b_eq": of_A}
    return arrays | {name: np.ldexp(arrays[name], k) for name, k in exponents.items()}


@pytest.mark.parametrize("solver", list(back_ends()), ids=repr)
def test_the_verdict_and_the_gap_do_not_depend_on_units(solver):
    seeds = (seed for seed in range(18) if drawn(seed)[0] != "infeasible")
    for seed in seeds:
        _, arrays = drawn(seed)
        one, other = problem_of(arrays), problem_of(in_other_units(arrays, seed))
        answer, scaled = solve(one, solver), solve(other, solver)
        assert answer.verdict == scaled.verdict
        gap = answer.certificate.relative_gap
        if np.isfinite(gap):
            assert 0.5 * gap <= scaled.certificate.relative_gap <= 2 * gap


@pytest.mark.parametrize("size", [1.0, 1e-3, 1e-6, 1e-9, 1e-12])
def test_one_small_bound_is_not_the_size_of_the_box(size):
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
