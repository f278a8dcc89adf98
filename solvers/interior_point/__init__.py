"""An interior-point method that knows the structure of a support vector machine.

    min ½xᵀPx + qᵀx  s.t. Gx + s = h, s ≥ 0, A x = b_eq

The iteration is CVXOPT's primal-dual method, called once for every step; the Newton systems are ours.

Each iteration scales by the current s and z (Nesterov & Todd), and solves one Newton system twice
(Mehrotra's predictor and corrector): Vandenberghe 2010, "The CVXOPT linear and quadratic cone program
solvers", section 7. Finite bounds become rows of G.

The Newton system is all the work. Where the problem is the dual or the primal of a support vector
machine it is reduced to a small dense core first (`kkt`, `dual`, `primal`); else, and where such a
factor breaks down, it is CVXOPT's own (`program`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from problems.forms import QP, Claim, FormPoint
from problems.gram.threads import Threads
from solvers.cvxopt_qp import CvxoptQP
from solvers.interior_point.divergence import is_farkas, is_ray
from solvers.interior_point.kkt import view
from solvers.interior_point.program import Program, programs
from solvers.numerics.quadratic import COARSEST, ScaledQP, scaled

_ABSOLUTE = 1e-6
_PATIENCE = 10  # iterations without an improvement, after which a program is given up
# On two busy cores OpenBLAS took 57 ms for a Cholesky factor of 2000 in one thread, 180 in two.
_THREADS = 1

Answer = dict[str, Any]  # what `coneqp` returns


@dataclass(frozen=True)
class InteriorPoint(CvxoptQP):
    """CVXOPT's iteration on any convex QP, with Newton systems that know the problem's structure.

    Against `CvxoptQP`, CVXOPT with its own Newton systems, in one run: half the time on an RBF dual of
    2000 samples, a seventh on a regression of 1000 (its matrix is (n, n), not (2n, 2n)), a sixtieth on
    a primal of 1500×50. Of the RBF dual's 0.48 s, 0.3 are eleven Cholesky factors in single precision
    and 0.1 the Gram matrix: what is left to gain is a second thread.

    Attributes
    ----------
    tol, max_iter : as of `CvxoptQP`, whose refusals are the same too.
    """

    needs: ClassVar = (*CvxoptQP.needs, ("scipy.linalg", "scipy"))

    def iterates(self, form: QP) -> Iterator[FormPoint]:
        """Yield the best point so far after each interior-point iteration."""
        qp, threads = scaled(form), Threads()
        best: Answer | None = None
        iterations = 0
        for program in programs(qp):
            answer, stalled = best or program.start, 0
            while iterations < self.max_iter and stalled < _PATIENCE:
                options = self._options_for(program, self._reachable(qp, answer))
                with threads.limited(_THREADS):
                    answer = _advance(program, answer, options)
                if answer is None:
                    break
                iterations += answer["iterations"]
                if best is None or _merit(answer) < _merit(best):
                    best, stalled = answer, 0
                else:
                    stalled += 1
                claim = self._claim(qp, answer)
                yield _point(qp, best if claim == "stopped" else answer, iterations, claim)
                if claim != "stopped":
                    return

    def _claim(self, qp: ScaledQP, answer: Answer) -> Claim:
        if answer["status"] == "optimal":
            return "optimal"
        x, y, z = (view(answer[name]) for name in "xyz")
        diverges = is_ray(qp, x, self.tol) or is_farkas(qp, z, y, self.tol)
        return "infeasible" if diverges else "stopped"

    def _reachable(self, qp: ScaledQP, answer: Answer | None) -> float:
        """Return tol, or the rounding error of P x where that is larger.

        At C = 1e6 and n = 1500 no dual residual came below 1e-7.
        """
        if answer is None:
            return self.tol
        return max(self.tol, min(qp.rounding(view(answer["x"])), COARSEST))

    def _options_for(self, program: Program, feastol: float) -> dict[str, Any]:
        return {
            "show_progress": False,
            "maxiters": 1,
            "abstol": _ABSOLUTE * self.tol,  # for optima of exactly 0
            "reltol": self.tol,
            "feastol": feastol,
            "refinement": program.refinement,
        }


def _advance(program: Program, answer: Answer | None, options: dict[str, Any]) -> Answer | None:
    """Make one interior-point iteration from `answer`; None where its factors break down."""
    from cvxopt.solvers import coneqp  # noqa: PLC0415 - slow to import

    p = program
    arguments = (p.P, p.q, p.G, p.h, None, p.A, p.b, answer, p.kktsolver)
    try:
        return coneqp(*arguments, options=options)
    except (ArithmeticError, ValueError):  # of a matrix singular, or numbers overflowing
        return None


def _point(qp: ScaledQP, answer: Answer, iterations: int, claim: Claim) -> FormPoint:
    x, z = qp.of_x * view(answer["x"]), qp.of_z * view(answer["z"])
    rows = None if qp.G is None else z[: qp.G.shape[0]]
    return FormPoint(x, inequality=rows, iterations=iterations, claim=claim)


def _merit(answer: Answer) -> float:
    """Return the largest of the residuals and the gap; infinite for numbers that are not."""
    gap = answer["gap"] / (1 + abs(answer["primal objective"]))
    merit = max(gap, answer["primal infeasibility"], answer["dual infeasibility"])
    return merit if np.isfinite(merit) else np.inf
