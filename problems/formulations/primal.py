"""The primal of a loss with pieces as a quadratic program, where w has coordinates."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import scipy

from problems.forms import QP, FormPoint, Point
from problems.losses import Piece
from problems.reductions import Reduction

if TYPE_CHECKING:
    from problems.formulations.dual import DualProblem


def primal_qp(problem: DualProblem, pieces: list[Piece]) -> Reduction[QP]:
    """Return the QP in w, the offsets u, and one slack a sample and piece where its weight is finite.

    min ½‖w‖² + cᵀu + Σ highᵢCᵢξᵢ   s.t.  −sign·(Xw + u) − ξ ≤ offset − sign·target,  ξ ≥ 0
    """
    d, rows = problem.d, _with_offsets(problem)
    weights = np.concatenate([piece.high * problem.weight for piece in pieces])
    slacks = weights.size if np.isfinite(weights).all() else 0
    size = rows.shape[1] + slacks
    plane = scipy.sparse.vstack([-scipy.sparse.diags_array(p.sign) @ rows for p in pieces])
    G = scipy.sparse.hstack([plane, -scipy.sparse.eye_array(slacks)]) if slacks else plane
    P = scipy.sparse.diags_array(np.concatenate([np.ones(d), np.zeros(size - d)]))
    q, lb = np.zeros(size), np.full(size, -np.inf)
    q[d : rows.shape[1]] = problem.costs
    if slacks:
        q[-slacks:], lb[-slacks:] = weights, 0.0
    form = QP(
        scipy.sparse.csc_array(P),
        q,
        scipy.sparse.csc_array(G),
        np.concatenate([piece.cost for piece in pieces]),
        None,
        None,
        lb,
        np.full(size, np.inf),
    )

    def recover(point: FormPoint) -> Point:
        z, x = point.inequality, point.x
        alpha = None if z is None else problem.from_box_variables(z)
        if x is None:
            return Point(alpha)
        b = problem.decision_offset(x[d : rows.shape[1]]) if problem.costs.size else None
        return Point(alpha, x[:d], b)

    return Reduction(form, recover)


def _with_offsets(problem: DualProblem) -> scipy.sparse.csr_array:
    """Return X with a column for each offset: 1 for the samples that have it."""
    X, count = scipy.sparse.csr_array(problem.X), problem.costs.size
    if not count:
        return X
    group = np.zeros(problem.n, np.intp) if problem.groups is None else problem.groups
    return scipy.sparse.csr_array(scipy.sparse.hstack([X, np.eye(count + 1)[group][:, :count]]))
