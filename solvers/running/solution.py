"""The result of `solve`: the answer, the solver's claim, and the certificate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from dualgap.problems import (
    Certificate,
    Geometry,
    Matrix,
    Multiclass,
    Problem,
    SampleProblem,
    Vector,
    certify,
    describe,
)
from dualgap.problems.answers.diagnosis import Diagnosis, diagnose
from dualgap.problems.forms import Claim
from dualgap.problems.html_table import format_number, html_table
from dualgap.problems.problem import split
from dualgap.problems.problem.certificate import WRONG_GAP
from dualgap.problems.quadratic.certificate import QPCertificate
from dualgap.solvers.base import Solver, Status

BACKWARD_ERROR = 1e-12  # relative rounding of a sum of a few thousand products

Verdict = Literal["wrong", "uncertified", "inaccurate", "infeasible", "solved"]  # worst first


@dataclass(frozen=True, eq=False)
class Evaluation:
    """A point of a running solver, with the seconds and iterations so far.

    Attributes
    ----------
    precomputed : the certificate of the point, if already computed.
    certificate : computed at first access.
    """

    time: float
    iteration: int
    problem: Problem
    point: Any
    precomputed: Certificate | None = None

    @cached_property
    def certificate(self) -> Certificate:
        """Bounds on the optimum from this point and the data alone, in float64."""
        if self.precomputed is not None:
            return self.precomputed
        return certify(self.problem, self.point, target_gap=np.inf)


@dataclass(frozen=True, eq=False)
class Solution:
    """The answer of one solver to one problem.

    Attributes
    ----------
    problem : any `Problem`.
    point : the answer as the solver returned it, unprojected: a `Point`, or a `QPPoint` of a convex QP.
    status : how the process ended. claimed : the solver's claim about its answer.
    time_solve, time_setup : seconds inside the algorithm; seconds preparing (imports, compilation).
    cpu_time : CPU seconds inside the algorithm, of all threads of this process and of children that were
        waited for.
    iterations : as the solver counts them. trace : the evaluations made while it ran.
    counters : kernel evaluations and other counts of the solver.
    rigorous : whether `certificate` proves its bounds, see `certify`.
    parts : the answer to each of several binary problems.
    precomputed : the certificate, if already computed.
    version : of an external program, as it reports it.
    backward_error : for a convex QP, the largest change of the right-hand sides, relative to the terms
        of their rows, for which an optimum of the changed problem counts as solved.
    derived_tol : the solver's `tol` if it was derived from `target_gap`.
    alpha, w, b : the certified point, see `Certificate.point`.
    certificate, verdict : computed at first access, never on the solver's time.
    """

    problem: Any
    solver: Solver
    point: Any
    status: Status
    claimed: Claim = "none"
    note: str = ""
    target_gap: float = 1e-6
    time_solve: float = float("nan")
    time_setup: float = float("nan")
    cpu_time: float = float("nan")
    iterations: int = 0
    trace: tuple[Evaluation, ...] = ()
    counters: Mapping[str, float] = field(default_factory=dict[str, float])
    rigorous: bool = False
    parts: tuple[Solution, ...] = ()
    precomputed: Certificate | None = None
    version: str = ""
    backward_error: float = BACKWARD_ERROR
    derived_tol: float | None = None

    @cached_property
    def certificate(self) -> Certificate:
        """Bounds on the optimum from this answer and the data alone."""
        if self.precomputed is not None:
            return self.precomputed
        return certify(self.problem, self.point, self.rigorous, self.target_gap)

    @property
    def alpha(self) -> Vector | None:
        """The certified dual variables, shape (n,); None for a convex QP."""
        return getattr(self.certificate.point, "alpha", None)

    @property
    def x(self) -> Vector | None:
        """The certified variables of a `ConvexQP`, shape (n,); None for other problems."""
        return getattr(self.certificate.point, "x", None)

    @property
    def w(self) -> Vector | None:
        """The certified weights, shape (d,); None with a kernel, and for a convex QP."""
        return getattr(self.certificate.point, "w", None)

    @property
    def b(self) -> float | Vector | None:
        """The best intercept for these weights; the middle if a whole interval is optimal."""
        return getattr(self.certificate.point, "b", None)

    @property
    def objective(self) -> float:
        """The value in the formulation's sign and scale; of the nearby problem if that is solved."""
        c = self._solved_nearby or self.certificate
        return self.problem.objective(c.primal_objective, c.dual_objective)

    @property
    def verdict(self) -> Verdict:
        """The verdict of the certificate: solved, inaccurate, wrong, infeasible or uncertified.

        For several binary problems the worst one, of their sum or of any subproblem. A convex QP claimed
        to be optimal is never "wrong", only "inaccurate": its gap may be wide for lack of multipliers
        that are proven to be feasible.
        """
        c = self.certificate
        if self._solved_nearby:
            return "solved"
        verdicts = {_verdict(c, self.claimed, self.target_gap)}
        for part, solution in zip(c.parts, self.parts, strict=False):  # none without a point
            verdicts.add(_verdict(part, solution.claimed, self.target_gap))
        if isinstance(c, QPCertificate) and self.claimed == "optimal":
            verdicts = {"inaccurate" if verdict == "wrong" else verdict for verdict in verdicts}
        return next(verdict for verdict in get_args(Verdict) if verdict in verdicts)

    @property
    def _solved_nearby(self) -> QPCertificate | None:
        """The bounds nearby if x is optimal for sides within the allowed backward error, else None."""
        c = self.certificate
        nearby = c.nearby if isinstance(c, QPCertificate) else None
        if nearby is None or self.claimed in ("infeasible", "unbounded"):
            return None
        is_solved = nearby.relative_gap <= self.target_gap
        return nearby if is_solved and nearby.backward_error <= self.backward_error else None

    @property
    def reason(self) -> str:
        """Solvers tried, missing bounds, faults and remedies, as one text; empty if all went well."""
        if self.note and self.point.is_empty:
            return self.note
        reasons = [self.note, self._finding(), self.certificate.reason]
        gaps = [part.relative_gap for part in self.certificate.parts]
        if gaps and self.verdict != "solved":
            worst = int(np.argmax(gaps))  # NaN counts as the largest
            name = self.problem.parts[worst].name
            reasons.append(f"worst subproblem: {name}, relative gap {gaps[worst]:.2g}")
        facts, remedy = "; ".join(filter(None, reasons)), self._remedy()
        if self.verdict not in ("solved", "infeasible") and not (facts or remedy):
            return f"No bound on the optimum is known for this answer ({self.status})."
        return f"{facts}. {remedy}" if facts and remedy else facts or remedy

    @cached_property
    def diagnosis(self) -> Diagnosis | None:
        """The first condition that the answer violates beyond tolerances, else None.

        For several binary problems, that of the first subproblem with one.
        """
        if not isinstance(self.problem, SampleProblem):
            return None
        parts, points = self.problem.parts, split(self.problem, self.point)
        claims: list[Claim] = [answer.claimed for answer in self.parts] or [self.claimed] * len(
            parts
        )
        certificates = self.certificate.parts or (self.certificate,)
        for part, point, c, claimed in zip(parts, points, certificates, claims, strict=False):
            if first := diagnose(part.problem, point, c, claimed):
                prefix = f"in the subproblem {part.name}: " if part.name else ""
                return first._replace(finding=prefix + first.finding)
        return None

    def _finding(self) -> str:
        """Return the diagnosis if the answer is wrong or violates its constraints, else ""."""
        if self.verdict in ("solved", "infeasible") or self.diagnosis is None:
            return ""
        violated = self.diagnosis.condition in ("box", "equality")
        return self.diagnosis.finding if violated or self.verdict == "wrong" else ""

    def _remedy(self) -> str:
        """Return what to change if the target is missed, else ""."""
        gap, target, tol = self.certificate.relative_gap, self.target_gap, self.derived_tol
        if self.verdict not in ("inaccurate", "wrong") or not gap > target:
            return ""
        remedy = "scale the features, choose another solver"
        if self.status is Status.TIME_LIMIT:
            cause, remedy = " at the time limit", "raise time_limit"
        elif self.status is Status.MAX_ITER:
            cause, remedy = " at the iteration limit", "raise max_iter"
        else:
            cause = f" although the tolerance, {tol:.2g}, was derived from it" if tol else ""
            if self.claimed == "optimal":
                remedy = _advice_on_tol(self, target / gap) or remedy
            elif tol:
                remedy = "raise the solver's limit (max_iter or epochs)"
        return f"The gap {gap:.2g} is above the target {target:g}{cause}; {remedy}, or raise target_gap."

    @cached_property
    def geometry(self) -> Geometry:
        """Margin, distances, slacks and kinds of the samples."""
        return describe(self.problem, self.certificate)

    def decision_function(self, X: Matrix) -> Vector:
        """Return f(x) = wᵀφ(x) + b for the rows of `X` (m, d); ValueError if there is no answer.

        For K classes it returns their scores, shape (m, K).
        """
        return self.geometry.decision_function(X)

    def predict(self, X: Matrix) -> Vector:
        """Return the predicted label, target or class for each row of `X` (m, d)."""
        return self.problem.task.predict(self.decision_function(X))

    def ambiguous(self, X: Matrix) -> NDArray[np.bool_]:
        """Return whether the vote on the class is tied, for each row of `X` (m, d).

        Raises
        ------
        ValueError
            If the problem has no vote, or there is no answer.
        """
        if not isinstance(self.problem, Multiclass):
            raise ValueError("only the outputs of several binary problems vote")
        return self.problem.ambiguous(self.geometry.outputs(X))

    def _repr_html_(self) -> str:
        c = self.certificate
        rows = {
            "verdict": f"{self.verdict} (target {self.target_gap:g})",
            "objective": format_number(self.objective, ".10g"),
            "relative gap": format_number(c.relative_gap),
            "status": f"{self.status} after {self.iterations} iterations",
            "claimed": self.claimed,
            "seconds": format_number(self.time_solve, ".3g"),
            "reason": self.reason,
            "look at": self.diagnosis.step if self.diagnosis and self._finding() else "",
        }
        return html_table(f"{self.solver.name} on {type(self.problem).__name__}", rows.items())

    def __repr__(self) -> str:
        c = self.certificate
        return (
            f"Solution({self.solver.name} on {type(self.problem).__name__}: {self.verdict}, "
            f"objective {self.objective:.10g}, relative gap {c.relative_gap:.2g}, "
            f"{self.status} after {self.iterations} iterations, {self.time_solve:.3g} s)"
        )


def _advice_on_tol(solution: Solution, factor: float) -> str:
    """Return which `tol` to set if the solver resolves a smaller one than its own, else "".

    For a `tol` that was derived it names the one, smaller by `factor`, that may reach the target.
    """
    solver = solution.solver
    tol = solution.derived_tol or getattr(solver, "tol", None)
    # some solvers have none, as their gap stops them
    finest = max(solver.tol_for(0.0), Solver.finest_tol)
    if tol is None or tol <= finest:
        return ""
    if solution.derived_tol is None:
        return "set a smaller tol"
    if (next_tol := factor * tol) > finest:
        return f"set tol below {next_tol:.1g}"
    return f"set tol to {finest:g}, the finest that {solver.name} resolves"


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
