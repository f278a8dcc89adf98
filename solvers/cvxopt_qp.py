"""CVXOPT's primal-dual interior-point method for convex quadratic programs, as distributed.

    min ½xᵀPx + qᵀx  s.t. Gx + s = h, s ≥ 0, A x = b_eq

The plain reference: matrices are passed unchanged, finite bounds as rows of G, and CVXOPT factorises its
Newton systems. `dualgap.solvers.interior_point` is our own method for duals, whose Newton systems
exploit the structure of a support vector machine.

Vandenberghe 2010, "The CVXOPT linear and quadratic cone program solvers".
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy

from dualgap.problems.dataset import Vector
from dualgap.problems.forms import QP, FormPoint
from dualgap.solvers.numerics.quadratic import (
    MAX_CLAIMED_RESIDUAL,
    ConvexQPSolver,
    ScaledQP,
    scaled,
)


@dataclass(frozen=True)
class CvxoptQP(ConvexQPSolver):
    """CVXOPT on any convex QP.

    It detects optimality, but not that a problem has no optimum: then it stops without a claim.

    Attributes
    ----------
    tol : residuals and relative duality gap at which it stops.
    max_iter : interior-point iterations after which it stops without a claim.
    max_dense_size : variables and constraints up to which LDLᵀ factors, which are dense, are tried; one
        of this size takes less than a second.
    """

    tol: float | None = None
    max_iter: int = 100

    max_dense_size: ClassVar[int] = 2000
    source: ClassVar[str] = "Vandenberghe 2010"
    packages: ClassVar = (("cvxopt.solvers", "cvxopt"),)

    def iterates(self, form: QP) -> Iterator[FormPoint]:
        """Yield the answer with CVXOPT's default factors, and if it misses the tolerance with LDLᵀ."""
        qp = scaled(form)
        G, h = inequality_rows(qp)
        # the default, chol2, violates A x = b_eq where P is singular and nothing else constrains x
        point = self._point(qp, G, h, None if h.size else "ldl")
        yield point
        size = qp.q.size + h.size + (0 if qp.b_eq is None else qp.b_eq.size)
        if point.claim != "optimal" and h.size and size <= self.max_dense_size:
            point = self._point(qp, G, h, "ldl")
            if point.claim == "optimal":
                yield point

    def _point(self, qp: ScaledQP, G: Any, h: Vector, kkt_solver: str | None) -> FormPoint:
        from cvxopt import solvers  # noqa: PLC0415 - slow to import

        arguments = (to_cvxopt(M) for M in (qp.P, qp.q, G, h, qp.A, qp.b_eq))
        options = {
            "show_progress": False,
            "maxiters": int(self.max_iter),
            "abstol": 1e-6 * self.tolerance,  # matters only for optima of exactly 0
            "reltol": self.tolerance,
            "feastol": self.tolerance,
            "refinement": 1,  # without it the last digits are lost where P is singular
        }
        try:
            answer = solvers.qp(*arguments, kktsolver=kkt_solver, options=options)
        except (ArithmeticError, ValueError):  # singular matrix or overflow
            return FormPoint(None, claim="stopped")
        x, z, y = (np.asarray(answer[name]).ravel() for name in "xzy")
        # along a ray x grows until P x is only rounding, and every residual is small relative to it
        optimal = answer["status"] == "optimal" and qp.rounding(x) <= MAX_CLAIMED_RESIDUAL
        return FormPoint(
            qp.of_x * x,
            inequality=None if qp.G is None else qp.of_z * z[: qp.G.shape[0]],
            equality=None if qp.A is None else qp.of_z * y,
            iterations=answer["iterations"],
            claim="optimal" if optimal else "stopped",
        )


def inequality_rows(qp: ScaledQP) -> tuple[scipy.sparse.csc_array, Vector]:
    """Return G and h with rows −xᵢ ≤ −lbᵢ, then xᵢ ≤ ubᵢ, appended for every finite bound."""
    identity = scipy.sparse.eye_array(qp.q.size, format="csr")
    lower, upper = np.isfinite(qp.lb), np.isfinite(qp.ub)
    blocks, sides = [-identity[lower], identity[upper]], [-qp.lb[lower], qp.ub[upper]]
    if qp.G is not None and qp.h is not None:
        blocks, sides = [qp.G, *blocks], [qp.h, *sides]
    return scipy.sparse.csc_array(scipy.sparse.vstack(blocks)), np.concatenate(sides)


def to_cvxopt(M: Any) -> Any:
    """Convert a vector, dense or sparse matrix to CVXOPT's types; None stays None."""
    from cvxopt import matrix, spmatrix  # noqa: PLC0415 - slow to import

    if M is None:
        return None
    if not scipy.sparse.issparse(M):
        return matrix(M)
    entries = scipy.sparse.coo_array(M)
    rows, columns = (c.astype(np.int64) for c in entries.coords)
    return spmatrix(entries.data, rows, columns, entries.shape)
