"""The result of `solve`: the answer of a solver, and what its certificate shows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from dualgap.problems import Certificate, Geometry, Matrix, Vector, certify, describe
from dualgap.problems.answers.diagnosis import Diagnosis
from dualgap.problems.html_table import format_number, html_table
from dualgap.solvers.running.output import SolverOutput, Target
from dualgap.solvers.running.verdicts import (
    Verdict,
    diagnosis_of,
    explanation,
    solved_nearby,
    verdict_on,
)


@dataclass(frozen=True, eq=False)
class Solution(SolverOutput):
    """The answer of one solver to one problem, and what follows from it and the data.

    Attributes
    ----------
    target : what the certificate has to show for the verdict "solved".
    alpha, w, b : the certified point, see `Certificate.point`.
    certificate, verdict : computed at first access, never on the solver's time.
    """

    target: Target = Target()  # noqa: RUF009 - frozen

    @cached_property
    def certificate(self) -> Certificate:
        """Bounds on the optimum from this answer and the data alone."""
        return certify(self.problem, self.point, self.target.rigorous, self.target.gap)

    @property
    def alpha(self) -> Vector | None:
        """The certified dual variables, shape (n,); None for a convex QP."""
        return getattr(self.certificate.point, "alpha", None)

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
        c = solved_nearby(self, self.certificate, self.target) or self.certificate
        return self.problem.objective(c.primal_objective, c.dual_objective)

    @property
    def verdict(self) -> Verdict:
        """The verdict of the certificate: solved, inaccurate, wrong, infeasible or uncertified.

        For several binary problems the worst one, of their sum or of any subproblem. A convex QP claimed
        to be optimal is never "wrong", only "inaccurate": its gap may be wide for lack of multipliers
        that are proven to be feasible.
        """
        return verdict_on(self, self.certificate, self.target)

    @property
    def reason(self) -> str:
        """Solvers tried, missing bounds, faults and remedies, as one text; empty if all went well."""
        if self.note and self.point.is_empty:
            return self.note
        return explanation(self, self.certificate, self.target, self._fault("finding"))

    @cached_property
    def diagnosis(self) -> Diagnosis | None:
        """The first condition that the answer violates beyond tolerances, else None.

        For several binary problems, that of the first subproblem with one.
        """
        return diagnosis_of(self, self.certificate)

    def _fault(self, field: str) -> str:
        """Return a field of the diagnosis, "" unless the answer is wrong or violates its constraints."""
        if self.verdict in ("solved", "infeasible") or self.diagnosis is None:
            return ""
        is_shown = self.verdict == "wrong" or self.diagnosis.condition in ("box", "equality")
        return getattr(self.diagnosis, field) if is_shown else ""

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

    def _repr_html_(self) -> str:
        rows = {
            "verdict": f"{self.verdict} (target {self.target.gap:g})",
            "objective": format_number(self.objective, ".10g"),
            "relative gap": format_number(self.certificate.relative_gap),
            "status": f"{self.status} after {self.iterations} iterations",
            "claimed": self.claimed,
            "seconds": format_number(self.time_solve, ".3g"),
            "reason": self.reason,
            "look at": self._fault("step"),
        }
        return html_table(f"{self.solver.name} on {type(self.problem).__name__}", rows.items())

    def __repr__(self) -> str:
        return (
            f"Solution({self.solver.name} on {type(self.problem).__name__}: {self.verdict}, objective "
            f"{self.objective:.10g}, relative gap {self.certificate.relative_gap:.2g}, "
            f"{self.status} after {self.iterations} iterations, {self.time_solve:.3g} s)"
        )


def with_certificate(solution: Solution, certificate: Certificate) -> Solution:
    """Return the solution with its certificate, which is not computed again."""
    vars(solution)["certificate"] = certificate
    return solution
