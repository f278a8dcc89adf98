"""The primal of a piecewise linear loss as a quadratic program, for a linear kernel."""

import numpy as np
import scipy

from dualgap.problems.dataset import Indices, Matrix, Vector
from dualgap.problems.forms import QP
from dualgap.problems.losses import Piece


def primal_qp(
    X: Matrix, C: Vector, costs: Vector, groups: Indices | None, pieces: list[Piece]
) -> QP:
    """Return the QP in w, the offsets u, and one slack per sample and piece if weights are finite.

    min ½‖w‖² + cᵀu + Σ highᵢCᵢξᵢ   s.t.  −sign·(Xw + u) − ξ ≤ offset − sign·target,  ξ ≥ 0
    """
    d, rows, count = X.shape[1], scipy.sparse.csr_array(X), costs.size
    if count:  # one column per offset: 1 for its samples
        group = np.zeros(X.shape[0], np.intp) if groups is None else groups
        has = np.eye(count + 1)[group][:, :count]
        rows = scipy.sparse.csr_array(scipy.sparse.hstack([rows, has]))
    weights = np.concatenate([p.high * C for p in pieces])
    slacks = weights.size if np.isfinite(weights).all() else 0
    size = rows.shape[1] + slacks
    plane = scipy.sparse.vstack([-scipy.sparse.diags_array(p.sign) @ rows for p in pieces])
    G = scipy.sparse.hstack([plane, -scipy.sparse.eye_array(slacks)]) if slacks else plane
    P = scipy.sparse.diags_array(np.concatenate([np.ones(d), np.zeros(size - d)]))
    q, lb = np.zeros(size), np.full(size, -np.inf)
    q[d : rows.shape[1]] = costs
    if slacks:
        q[-slacks:], lb[-slacks:] = weights, 0.0
    return QP(
        scipy.sparse.csc_array(P),
        q,
        scipy.sparse.csc_array(G),
        np.concatenate([p.cost for p in pieces]),
        None,
        None,
        lb,
        np.full(size, np.inf),
    )
