"""Multi-core LIBLINEAR: the same answers as the plain build gives, through its own interface."""

import importlib
import importlib.util

import pytest
from tests.solvers.external.baseline_problems import LINEAR, excess

from dualgap.problems import Formulation
from dualgap.solvers import LibLinear, LibLinearMulticore, Solution, solve

NEEDED = pytest.mark.skipif(
    importlib.util.find_spec("liblinear") is None, reason="liblinear-multicore is not installed"
)


def converged(problem: Formulation, tol: float) -> Solution:
    """Return an answer that it calls optimal: with six of seven permutations 300 epochs are too few."""
    solutions = (solve(problem, LibLinearMulticore(tol=tol)) for _ in range(300))
    return next(solution for solution in solutions if solution.claimed == "optimal")


@NEEDED
@pytest.mark.parametrize(("name", "tol"), [("one C", 1e-5), ("sparse", 1e-2), ("risk", 1e-4)])
def test_it_agrees_with_the_plain_build(name: str, tol: float) -> None:
    threaded, plain = converged(LINEAR[name], tol), solve(LINEAR[name], LibLinear(tol=1e-6))
    assert 0 <= excess(threaded) + 1e-9 <= tol
    assert abs(threaded.objective - plain.objective) <= tol * plain.objective


@NEEDED
def test_at_its_iteration_limit_it_claims_nothing_and_prints_nothing(
    capfd: pytest.CaptureFixture[str],
) -> None:
    solution = solve(LINEAR["one C"], LibLinearMulticore(tol=1e-320))
    assert solution.claimed == "stopped"
    assert solution.iterations == 300
    assert capfd.readouterr() == ("", "")


@NEEDED
def test_it_uses_the_threads_that_openmp_has_in_this_process() -> None:
    openmp = importlib.import_module("liblinear.liblinear").liblinear
    before = openmp.omp_get_max_threads()
    try:
        for threads in (1, 2):
            openmp.omp_set_num_threads(threads)
            solve(LINEAR["one C"], LibLinearMulticore(tol=0.1))
            assert openmp.omp_get_max_threads() == threads
    finally:
        openmp.omp_set_num_threads(before)
