"""CVXOPT's primal-dual interior-point method for convex quadratic programs.

    min ½xᵀPx + qᵀx  s.t. Gx + s = h, s ≥ 0, A x = b_eq

Each iteration scales by the current s and z (Nesterov & Todd), and solves one Newton system twice
(Mehrotra's predictor and corrector): Vandenberghe 2010, "The CVXOPT linear and quadratic cone program
solvers", section 7. Finite bounds become rows of G.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from problems.dataset import Vector
from problems.forms import QP, Claim, FormPoint
from problems.gram import SignedGram
from solvers.base import Solver
from solvers.quadratic import ScaledQP, refuse_indefinite, scaled

_ABSOLUTE = 1e-6
_PIVOTING_LIMIT = 3000  # rows and columns of G up to which a dense pivoted factor is affordable


@dataclass(frozen=True)
class CvxoptQP(Solver):
    """CVXOPT on any convex QP: a dual's matrix is dense, a primal's is sparse.

    Attributes
    ----------
    tol : stop when the residuals and the relative duality gap are at or below it.
    max_iter : interior-point iterations after which it stops without a claim.
    """

    tol: float = 1e-9
    max_iter: int = 100

    form: ClassVar = QP
    source: ClassVar[str] = "Vandenberghe 2010"

    def refuses(self, form: QP) -> str | None:
        """A QP must be convex."""
        return refuse_indefinite(form)

    def prepare(self, form: QP) -> QP:
        """Import CVXOPT."""
        importlib.import_module("cvxopt.solvers")

        return form

    def iterates(self, form: QP) -> Iterator[FormPoint]:
        """Yield once, at the end."""
        qp = scaled(form)
        arguments = _cvxopt_arguments(qp)
        answer = self._optimise(arguments)
        claim: Claim = "optimal" if answer["status"] == "optimal" else "stopped"
        x, z = _vector(answer["x"], qp.of_x), _vector(answer["z"], qp.of_z)
        if claim == "stopped":
            farkas = self._infeasible_rows(arguments) if form.G is not None else None
            if farkas is not None:
                x, z = None, farkas
            if farkas is not None or (x is not None and _is_ray(form, x, self.tol)):
                claim = "infeasible"
        rows = None if z is None or form.G is None else z[: form.G.shape[0]]
        yield FormPoint(x, inequality=rows, iterations=answer["iterations"], claim=claim)

    def _optimise(self, arguments: tuple[Any, ...]) -> dict[str, Any]:
        """Run `coneqp`; where its Cholesky factors break down, again with factors that pivot."""
        from cvxopt.solvers import coneqp  # noqa: PLC0415 - slow to import

        P, q, G, h, A, b = arguments
        answer: dict[str, Any] = {"x": None, "z": None, "iterations": 0, "status": "unknown"}
        pivoting = ("ldl",) if sum(G.size) <= _PIVOTING_LIMIT else ()
        for kktsolver in ("chol2", *pivoting):
            remaining = self.max_iter - answer["iterations"]
            if remaining <= 0 or answer["status"] == "optimal":
                break
            try:
                latest = coneqp(
                    P, q, G, h, None, A, b, kktsolver=kktsolver, options=self._options(remaining)
                )
            except (ArithmeticError, ValueError):  # of a matrix singular, or numbers overflowing
                continue
            latest["iterations"] += answer["iterations"]
            answer = latest
        return answer

    def _infeasible_rows(self, arguments: tuple[Any, ...]) -> Vector | None:
        """Return z ≥ 0 with Gᵀz + Aᵀy = 0 and hᵀz + b_eqᵀy < 0 (Farkas) if `conelp` finds one.

        `coneqp` itself has no test of infeasibility.
        """
        from cvxopt import matrix  # noqa: PLC0415 - slow to import
        from cvxopt.solvers import conelp  # noqa: PLC0415

        _, q, G, h, A, b = arguments
        try:
            answer = conelp(
                matrix(0.0, q.size), G, h, None, A, b, options=self._options(self.max_iter)
            )
        except (ArithmeticError, ValueError):
            return None
        return _vector(answer["z"], 1.0) if answer["status"] == "primal infeasible" else None

    def _options(self, max_iter: int) -> dict[str, Any]:
        return {
            "show_progress": False,
            "maxiters": int(max_iter),
            "abstol": _ABSOLUTE * self.tol,  # for optima of exactly 0
            "reltol": self.tol,
            "feastol": self.tol,
            "refinement": 1,  # without, the last digits are lost where P is singular
        }


def _is_ray(form: QP, x: Vector, tol: float) -> bool:
    """Whether the objective falls without end along x: P x = 0, A x = 0, and no bound is met."""
    descent = -float(form.q @ x)
    if not descent > 0:
        return False
    u = x / descent
    product = form.P.matvec(u) if isinstance(form.P, SignedGram) else form.P @ u
    scale = float(form.P.diagonal().max())
    bounded = u[np.isfinite(form.lb) & (u < 0) | np.isfinite(form.ub) & (u > 0)]
    parts = [product / max(scale, np.finfo(float).tiny), bounded]
    if form.A is not None:
        parts.append(form.A @ u)
    if form.G is not None:
        parts.append(np.maximum(form.G @ u, 0.0))
    return all(float(np.abs(part).max(initial=0.0)) <= tol for part in parts)


def _vector(values: Any, scale: float) -> Vector | None:
    return None if values is None else scale * np.array(values).ravel()


def _cvxopt_arguments(qp: ScaledQP) -> tuple[Any, ...]:
    """Return P, q, G, h, A, b as CVXOPT's matrices, the finite bounds as rows of G."""
    from cvxopt import matrix  # noqa: PLC0415 - slow to import

    G, h = _inequality_rows(qp)
    P = _sparse(qp.P) if sp.issparse(qp.P) else matrix(qp.P)
    A = None if qp.A is None else _sparse(qp.A)
    b = None if qp.b_eq is None else matrix(qp.b_eq)
    return P, matrix(qp.q), _sparse(G), matrix(h), A, b


def _inequality_rows(qp: ScaledQP) -> tuple[sp.csc_array, Vector]:
    """Return G and h with a row −xᵢ ≤ −lbᵢ and a row xᵢ ≤ ubᵢ for every finite bound."""
    identity = sp.eye_array(qp.q.size, format="csr")
    lower, upper = np.isfinite(qp.lb), np.isfinite(qp.ub)
    blocks = [-identity[lower], identity[upper]]
    sides = [-qp.lb[lower], qp.ub[upper]]
    if qp.G is not None and qp.h is not None:
        blocks, sides = [qp.G, *blocks], [qp.h, *sides]
    return sp.csc_array(sp.vstack(blocks)), np.concatenate(sides)


def _sparse(M: sp.csc_array) -> Any:
    from cvxopt import spmatrix  # noqa: PLC0415 - slow to import

    entries = sp.coo_array(M)
    rows, cols = (c.astype(np.int64) for c in entries.coords)
    return spmatrix(entries.data, rows, cols, entries.shape)
