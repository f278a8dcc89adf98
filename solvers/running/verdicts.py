"""Verdicts on answers, and the sentences that explain them."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np

from dualgap.problems import Certificate, SampleProblem
from dualgap.problems.answers.diagnosis import Diagnosis, diagnose
from dualgap.problems.forms import Claim
from dualgap.problems.problem import split
from dualgap.problems.problem.certificate import WRONG_GAP
from dualgap.problems.quadratic.certificate import QPCertificate
from dualgap.solvers.base import Status
from dualgap.solvers.running.output import SolverOutput, Target

Verdict = Literal["wrong", "uncertified", "inaccurate", "infeasible", "solved"]  # worst first


def solved_nearby(output: SolverOutput, c: Certificate, target: Target) -> QPCertificate | None:
    """Return the bounds nearby if x is optimal for sides within the allowed backward error."""
    nearby = c.nearby if isinstance(c, QPCertificate) else None
    if nearby is None or output.claimed in ("infeasible", "unbounded"):
        return None
    is_solved = nearby.relative_gap <= target.gap
    return nearby if is_solved and nearby.backward_error <= target.backward_error else None


def verdict_on(output: SolverOutput, c: Certificate, target: Target) -> Verdict:
    """Return the verdict, see `Solution.verdict`."""
    if solved_nearby(output, c, target):
        return "solved"
    verdicts = {_verdict(c, output.claimed, target.gap)}
    for part, answer in zip(c.parts, output.parts, strict=False):  # none without a point
        verdicts.add(_verdict(part, answer.claimed, target.gap))
    if isinstance(c, QPCertificate) and output.claimed == "optimal":
        verdicts = {"inaccurate" if verdict == "wrong" else verdict for verdict in verdicts}
    return next(verdict for verdict in get_args(Verdict) if verdict in verdicts)


def _verdict(c: Certificate, claimed: Claim, target_gap: float) -> Verdict:
    if c.infeasible:
        return "infeasible"
    # a feasible point refutes "infeasible", a lower bound refutes "unbounded"
    refuting = {"infeasible": c.primal_objective, "unbounded": c.dual_objective}
    if np.isfinite(refuting.get(claimed, np.nan)):
        return "wrong"
    if not np.isfinite(c.relative_gap):
        return "uncertified"
    if c.relative_gap <= target_gap:
        return "solved"
    if c.is_undecided(target_gap):
        return "uncertified"
    # weights may be optimal although no good dual point was recovered from them
    is_shown = claimed == "optimal" and not c.bound_source.endswith("recovered from w")
    proven = c.relative_gap > WRONG_GAP and not c.is_undecided(WRONG_GAP)
    return "wrong" if is_shown and proven else "inaccurate"


def diagnosis_of(output: SolverOutput, certificate: Certificate) -> Diagnosis | None:
    """Return the first condition that the answer violates beyond tolerances, else None."""
    if not isinstance(output.problem, SampleProblem):
        return None
    parts, points = output.problem.parts, split(output.problem, output.point)
    claims: list[Claim] = [answer.claimed for answer in output.parts]
    claims = claims or [output.claimed] * len(parts)
    certificates = certificate.parts or (certificate,)
    for part, point, c, claimed in zip(parts, points, certificates, claims, strict=False):
        if first := diagnose(part.problem, point, c, claimed):
            prefix = f"in the subproblem {part.name}: " if part.name else ""
            return first._replace(finding=prefix + first.finding)
    return None


def explanation(output: SolverOutput, c: Certificate, target: Target, finding: str) -> str:
    """Return the reason for the verdict, see `Solution.reason`; `finding` is that of the diagnosis."""
    verdict, reasons = verdict_on(output, c, target), [output.note, finding, c.reason]
    gaps = [part.relative_gap for part in c.parts]
    if gaps and verdict != "solved":
        worst = int(np.argmax(gaps))  # NaN counts as the largest
        name = output.problem.parts[worst].name
        reasons.append(f"worst subproblem: {name}, relative gap {gaps[worst]:.2g}")
    is_missed = verdict in ("inaccurate", "wrong") and c.relative_gap > target.gap
    remedy = _remedy(output, c.relative_gap, target.gap) if is_missed else ""
    facts = "; ".join(filter(None, reasons))
    if verdict not in ("solved", "infeasible") and not (facts or remedy):
        return f"No bound on the optimum is known for this answer ({output.status})."
    return f"{facts}. {remedy}" if facts and remedy else facts or remedy


def _remedy(output: SolverOutput, gap: float, target: float) -> str:
    """Return what to change so that the gap, which is larger than the target, reaches it."""
    tol, remedy = output.derived_tol, "choose another solver or other settings of it"
    if isinstance(output.problem, SampleProblem):
        remedy = "scale the features, choose another solver"
    if output.status is Status.TIME_LIMIT:
        cause, remedy = " at the time limit", "raise time_limit"
    elif output.status is Status.MAX_ITER:
        cause, remedy = " at the iteration limit", "raise max_iter"
    else:
        cause = f" although the tolerance, {tol:.2g}, was derived from it" if tol else ""
        if output.claimed == "optimal":
            remedy = _advice_on_tol(output, target / gap) or remedy
        elif tol and not output.note:  # which says what it is that limits the gap
            remedy = "raise the solver's limit (max_iter or epochs)"
    return (
        f"The gap {gap:.2g} is above the target {target:g}{cause}; {remedy}, or raise target_gap."
    )


def _advice_on_tol(output: SolverOutput, factor: float) -> str:
    """Return which `tol` to set if the solver resolves a smaller one than its own, else "".

    For a `tol` that was derived it names the one, smaller by `factor`, that may reach the target.
    """
    if output.finer_tol is None:
        return ""
    if output.derived_tol is None:
        return "set a smaller tol"
    if (next_tol := factor * output.derived_tol) > output.finer_tol:
        return f"set tol below {next_tol:.1g}"
    return f"set tol to {output.finer_tol:g}, the finest that the solver resolves"
