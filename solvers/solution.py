"""What `solve` returns: the answer, what the solver says of it, and what it is worth."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import numpy as np

from problems import Certificate, Formulation, Geometry, Matrix, Point, Vector, certify, describe
from problems.forms import Claim
from solvers.base import Solver, Status

Verdict = Literal["solved", "inaccurate", "wrong", "infeasible", "uncertified"]
_WRONG = 1e-2  # relative gap above which a claim of optimality is called wrong


@dataclass(frozen=True)
class Look:
    """One look at a running solver: seconds and iterations so far, and the certificate."""

    time: float
    iteration: int
    certificate: Certificate


@dataclass(frozen=True, eq=False)
class Solution:
    """The answer of one solver to one problem.

    Attributes
    ----------
    point : the answer as the solver gave it, unprojected.
    status : how the process ended. claimed : what the solver says of its answer.
    time_solve, time_setup : seconds inside the algorithm; seconds preparing (imports, compilation).
    iterations : the solver's own count. trace : the looks taken while it ran.
    counters : kernel evaluations and whatever else the solver counts.
    alpha, w, b : the point that is certified, see `Certificate.point`.
    certificate, verdict : computed at first access, never inside the timed part.
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
    iterations: int = 0
    trace: tuple[Look, ...] = ()
    counters: Mapping[str, float] = field(default_factory=dict[str, float])

    @cached_property
    def certificate(self) -> Certificate:
        """Bounds on the optimum from this answer and the data alone."""
        return certify(self.problem, self.point)

    @property
    def alpha(self) -> Vector | None:
        """Dual variables that are certified, shape (n,)."""
        return self.certificate.point.alpha

    @property
    def w(self) -> Vector | None:
        """Weights that are certified, shape (d,); None with a kernel."""
        return self.certificate.point.w

    @property
    def b(self) -> float | None:
        """The best intercept for these weights; the middle where all of an interval are."""
        return self.certificate.point.b

    @property
    def objective(self) -> float:
        """The value in the formulation's own sign and scale."""
        c = self.certificate
        return self.problem.objective(c.primal_objective, c.dual_objective)

    @property
    def verdict(self) -> Verdict:
        """What the certificate says: solved, inaccurate, wrong, infeasible or uncertified."""
        c = self.certificate
        if c.infeasible:
            return "infeasible"
        if self.claimed == "infeasible" and np.isfinite(c.primal_objective):
            return "wrong"
        if not np.isfinite(c.relative_gap):
            return "uncertified"
        if c.relative_gap <= self.target_gap:
            return "solved"
        # weights alone may be optimal though no good dual point was found for them
        shown = self.claimed == "optimal" and c.bound_source != "recovered from w"
        return "wrong" if shown and c.relative_gap > _WRONG else "inaccurate"

    @property
    def reason(self) -> str:
        """Why it ended as it did, or why a bound is missing; empty if all went well."""
        if self.note and self.point.alpha is None and self.point.w is None:
            return self.note
        return "; ".join(part for part in (self.note, self.certificate.reason) if part)

    @cached_property
    def geometry(self) -> Geometry:
        """Margin, distances, slacks and kinds of the samples."""
        return describe(self.problem, self.certificate)

    def decision_function(self, X: Matrix) -> Vector:
        """Return f(x) = wᵀφ(x) + b for the rows of `X` (m, d); ValueError if there is no answer."""
        return self.geometry.decision_function(X)

    def __repr__(self) -> str:
        c = self.certificate
        return (
            f"Solution({self.solver.name} on {type(self.problem).__name__}: {self.verdict}, "
            f"objective {self.objective:.10g}, relative gap {c.relative_gap:.2g}, "
            f"{self.status} after {self.iterations} iterations, {self.time_solve:.3g} s)"
        )
