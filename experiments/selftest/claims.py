"""What a solver claims of its answers, against their certificates."""

from dualgap.experiments.selftest.bench import Bench
from dualgap.problems import Formulation
from dualgap.solvers import Status

_SIDES = 2.02  # tolerances: Platt's samples may be off by one on either side; and rounding


def claims(bench: Bench, problem: Formulation) -> str:
    """On a plain problem the last point comes with a claim, and the certificate agrees with both."""
    solution = bench.solve(problem)
    if solution.status is Status.FINISHED and solution.claimed == "none":
        return (
            f"ends without a claim (relative gap {solution.certificate.relative_gap:.2g}): "
            "claim optimal or stopped"
        )
    found = solution.diagnosis
    wrong_b = found.finding if found and found.condition == "intercept" else ""
    return bench.objection(solution) or wrong_b


def infeasibility(bench: Bench, problem: Formulation) -> str:
    """A hard margin that no hyperplane has: it may detect this or not, but claims no optimum."""
    return bench.objection(bench.solve(problem))


def honest(bench: Bench, problem: Formulation) -> str:
    """On degenerate data it does not crash, and claims nothing that the certificate refutes.

    A tolerance on the maximal violating pair, LIBSVM's `tol`, is worth a gap of n·C·tol, which is
    large at C = 1e12: an answer that keeps to it, as the certificate measures it, is honest.
    """
    solution = bench.solve(problem)
    tolerance = getattr(solution.solver, "tol", 0.0)
    kept = solution.certificate.violating_pair <= _SIDES * tolerance
    return "" if kept and solution.claimed == "optimal" else bench.objection(solution)
