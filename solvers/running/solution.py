"""What `solve` returns: the answer, what the solver says of it, and what it is worth."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from dualgap.problems import (
    Certificate,
    Formulation,
    Geometry,
    Matrix,
    Point,
    Vector,
    certify,
    describe,
)
from dualgap.problems.answers.diagnosis import Diagnosis, diagnose
from dualgap.problems.certificates.certificate import WRONG_GAP
from dualgap.problems.forms import Claim
from dualgap.problems.html_table import html_table, shown
from dualgap.solvers.base import Solver, Status

BACKWARD_ERROR = 1e-12  # rounding of sides that are products of some thousand numbers

Verdict = Literal["wrong", "uncertified", "inaccurate", "infeasible", "solved"]  # worst first


@dataclass(frozen=True, eq=False)
class Evaluation:
    """What a running solver had reached: seconds and iterations so far, and its point.

    Attributes
    ----------
    known : the certificate of the point, where it is known already.
    certificate : computed at first access.
    """

    time: float
    iteration: int
    problem: Formulation
    point: Point
    known: Certificate | None = None

    @cached_property
    def certificate(self) -> Certificate:
        """Bounds on the optimum from this point and the data alone, in float64."""
        if self.known is not None:
            return self.known
        return certify(self.problem, self.point, target_gap=np.inf)


@dataclass(frozen=True, eq=False)
class Solution:
    """The answer of one solver to one problem.

    Attributes
    ----------
    point : the answer as the solver gave it, unprojected.
    status : how the process ended. claimed : what the solver says of its answer.
    time_solve, time_setup : seconds inside the algorithm; seconds preparing (imports, compilation).
    cpu_time : seconds of all threads inside the algorithm, of this process and of children that were
        waited for.
    iterations : the solver's own count. trace : the evaluations made while it ran.
    counters : kernel evaluations and whatever else the solver counts.
    rigorous : whether `certificate` proves its bounds, see `certify`.
    parts : of several binary problems the answer to each.
    known : the certificate, where it is known already.
    version : of a program, what it says of its version.
    backward_error : of a convex QP, the most that sides are moved by, relative to the terms of their
        rows, for the answer to count as one: where its exact constraints have no point near it.
    derived_tol : the solver's `tol` where it was given none, which followed from `target_gap`.
    alpha, w, b : the point that is certified, see `Certificate.point`.
    certificate, verdict : computed at first access, never on the solver's time.
    """

    problem: Formulation
    solver: Solver
    point: Point
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
    known: Certificate | None = None
    version: str = ""
    backward_error: float = BACKWARD_ERROR
    derived_tol: float | None = None

    @cached_property
    def certificate(self) -> Certificate:
        """Bounds on the optimum from this answer and the data alone."""
        if self.known is not None:
            return self.known
        return certify(self.problem, self.point, self.rigorous, self.target_gap)

    @property
    def alpha(self) -> Vector | None:
        """Dual variables that are certified, shape (n,)."""
        return self.certificate.point.alpha

    @property
    def x(self) -> Vector | None:
        """The variables of a `ConvexQP` that are certified, shape (n,): what `alpha` is there."""
        return self.alpha

    @property
    def w(self) -> Vector | None:
        """Weights that are certified, shape (d,); None with a kernel."""
        return self.certificate.point.w

    @property
    def b(self) -> float | Vector | None:
        """The best intercept for these weights; the middle where all of an interval are."""
        return self.certificate.point.b

    @property
    def objective(self) -> float:
        """The value in the formulation's own sign and scale; that of the nearby problem if it counts."""
        near = self.certificate.nearby if self._solves_nearby else None
        c = near or self.certificate
        return self.problem.objective(c.primal_objective, c.dual_objective)

    @property
    def verdict(self) -> Verdict:
        """What the certificate says: solved, inaccurate, wrong, infeasible or uncertified.

        Of several binary problems the worst: that of the sum, or of a subproblem that is small in it. A
        wide gap of a convex QP may be due to multipliers that are far from any that are proven to be
        feasible: no claim of an optimum is called wrong for that.
        """
        c = self.certificate
        if self._solves_nearby:
            return "solved"
        found = {_verdict(c, self.claimed, self.target_gap)}
        for part, own in zip(c.parts, self.parts, strict=False):  # none without a point
            found.add(_verdict(part, own.claimed, self.target_gap))
        if not self.problem.has_samples and self.claimed == "optimal":
            found = {"inaccurate" if own == "wrong" else own for own in found}
        return next(verdict for verdict in get_args(Verdict) if verdict in found)

    @property
    def _solves_nearby(self) -> bool:
        """Whether the point is optimal where sides are moved by a backward error that is allowed."""
        near = self.certificate.nearby
        if near is None or self.claimed in ("infeasible", "unbounded"):
            return False
        return near.relative_gap <= self.target_gap and near.backward_error <= self.backward_error

    @property
    def reason(self) -> str:
        """What was tried, why a bound is missing, what is wrong, what to set; empty if all went well."""
        if self.note and self.point.alpha is None and self.point.w is None:
            return self.note
        reasons = [self.note, self._finding(), self.certificate.reason]
        gaps = [part.relative_gap for part in self.certificate.parts]
        if gaps and self.verdict != "solved":
            worst = int(np.argmax(gaps))  # NaN counts as the largest
            name = self.problem.parts[worst].name
            reasons.append(f"worst subproblem: {name}, relative gap {gaps[worst]:.2g}")
        reasons.append(self._what_to_set())
        if self.verdict not in ("solved", "infeasible") and not any(reasons):
            reasons = [f"No bound on the optimum is known for this answer ({self.status})."]
        return "; ".join(filter(None, reasons))

    @cached_property
    def diagnosis(self) -> Diagnosis | None:
        """The first condition that the answer does not meet, None if it meets all but for tolerances.

        Of several binary problems that of the first which has one.
        """
        if not self.problem.has_samples:
            return None
        parts, points = self.problem.parts, self.problem.split(self.point)
        claims: list[Claim] = [own.claimed for own in self.parts] or [self.claimed] * len(parts)
        known = self.certificate.parts or (self.certificate,)
        for part, point, c, claimed in zip(parts, points, known, claims, strict=False):
            if found := diagnose(part.problem, point, c, claimed):
                place = f"in the subproblem {part.name}: " if part.name else ""
                return found._replace(finding=place + found.finding)
        return None

    def _finding(self) -> str:
        """Return what is wrong, if it is wrong, or that the answer keeps to no constraints."""
        if self.verdict in ("solved", "infeasible") or self.diagnosis is None:
            return ""
        violated = self.diagnosis.condition in ("box", "equality")
        return self.diagnosis.finding if violated or self.verdict == "wrong" else ""

    def _what_to_set(self) -> str:
        """Return what to set where the target is missed; else ""."""
        gap, target, tol = self.certificate.relative_gap, self.target_gap, self.derived_tol
        if self.verdict not in ("inaccurate", "wrong") or not gap > target:
            return ""
        remedy = "scale the features, name another solver"
        if self.status is Status.TIME_LIMIT:
            where, remedy = " at the time limit", "raise time_limit"
        elif self.status is Status.MAX_ITER:
            where, remedy = " at the limit of iterations", "raise max_iter"
        else:
            where = f" although the tolerance, {tol:.2g}, followed it" if tol else ""
            if self.claimed == "optimal":
                remedy = f"set tol below {tol * target / gap:.1g}" if tol else "set a smaller tol"
            elif tol:
                remedy = "raise the solver's limit (max_iter or epochs)"
        return f"The gap {gap:.2g} is above the target {target:g}{where}; {remedy}, or raise target_gap."

    @cached_property
    def geometry(self) -> Geometry:
        """Margin, distances, slacks and kinds of the samples."""
        return describe(self.problem, self.certificate)

    def decision_function(self, X: Matrix) -> Vector:
        """Return f(x) = wᵀφ(x) + b for the rows of `X` (m, d); ValueError if there is no answer.

        Of K classes the scores, shape (m, K).
        """
        return self.geometry.decision_function(X)

    def predict(self, X: Matrix) -> Vector:
        """Return the label, target or class that is predicted for each row of `X` (m, d)."""
        return self.problem.task.predict(self.decision_function(X))

    def ambiguous(self, X: Matrix) -> NDArray[np.bool_]:
        """Return for each row of `X` (m, d) whether the vote on its class is tied.

        Raises
        ------
        ValueError
            If nothing is voted on, or there is no answer.
        """
        return self.problem.ambiguous(self.geometry.outputs(X))

    def _repr_html_(self) -> str:
        c = self.certificate
        rows = {
            "verdict": f"{self.verdict} (target {self.target_gap:g})",
            "objective": shown(self.objective, ".10g"),
            "relative gap": shown(c.relative_gap),
            "status": f"{self.status} after {self.iterations} iterations",
            "claimed": self.claimed,
            "seconds": shown(self.time_solve, ".3g"),
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


def _verdict(c: Certificate, claimed: Claim, target_gap: float) -> Verdict:
    if c.infeasible:
        return "infeasible"
    # a feasible point refutes that there is none, a bound below that the objective has none
    refuting = {"infeasible": c.primal_objective, "unbounded": c.dual_objective}
    if np.isfinite(refuting.get(claimed, np.nan)):
        return "wrong"
    if not np.isfinite(c.relative_gap):
        return "uncertified"
    if c.relative_gap <= target_gap:
        return "solved"
    if c.is_undecided(target_gap):
        return "uncertified"
    # weights alone may be optimal though no good dual point was found for them
    shown = claimed == "optimal" and not c.bound_source.endswith("recovered from w")
    proven = c.relative_gap > WRONG_GAP and not c.is_undecided(WRONG_GAP)
    return "wrong" if shown and proven else "inaccurate"
