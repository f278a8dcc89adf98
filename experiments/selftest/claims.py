"""Properties of a solver's claims, compared with certificates."""

from dualgap.experiments.selftest.bench import Bench
from dualgap.problems import Formulation
from dualgap.solvers import Status


def claims(bench: Bench, problem: Formulation) -> str:
    """On a regular problem the last point has a claim, and the certificate confirms both."""
    solution = bench.solve(problem)
    gap = solution.certificate.relative_gap
    # `solve` stops on a hard margin as soon as an answer is certified, before the solver claims anything
    is_stopped = problem.may_be_infeasible and gap <= solution.target.gap
    if solution.status is Status.FINISHED and solution.claimed == "none" and not is_stopped:
        return f"ends without a claim (relative gap {gap:.2g}): claim optimal or stopped"
    diagnosis = solution.diagnosis
    wrong_b = diagnosis.finding if diagnosis and diagnosis.condition == "intercept" else ""
    return bench.objection(solution) or wrong_b


def infeasibility(bench: Bench, problem: Formulation) -> str:
    """For an infeasible hard margin it may claim infeasibility, but not an optimum."""
    return bench.objection(bench.solve(problem))


def honest(bench: Bench, problem: Formulation) -> str:
    """On degenerate data it does not crash, and makes no claim that the certificate refutes.

    A tolerance on the maximal violating pair, LIBSVM's `tol`, allows a gap of n·C·tol, which is large
    at C = 1e12: an answer within that tolerance, as certified, is honest.
    """
    solution = bench.solve(problem)
    tolerance = getattr(solution.solver, "tol", 0.0)
    # Platt's condition allows one tolerance on either side; and rounding
    is_within = solution.certificate.violating_pair <= 2.02 * tolerance
    return "" if is_within and solution.claimed == "optimal" else bench.objection(solution)
