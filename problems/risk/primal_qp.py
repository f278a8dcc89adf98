"""The primal of a piecewise linear loss as a quadratic program, for a linear kernel."""

import numpy as np
import scipy

from dualgap.problems.dataset import Matrix
from dualgap.problems.forms import QP, KernelQP


def primal_qp(X: Matrix, dual: KernelQP) -> QP:
    """Return the QP in w, the offsets u, and one slack per variable x of the split dual if bounded.

    min ½‖w‖² + cᵀu + Σ ubⱼξⱼ   s.t.  −sign·(Xw + u) − ξ ≤ p,  ξ ≥ 0
    """
    box, d, count = dual.split(), X.shape[1], dual.sums.size
    rows = scipy.sparse.csr_array(X)[box.Q.index]
    if count:  # one column per offset: 1 for its samples
        group = np.zeros(box.n, np.intp) if box.groups is None else box.groups
        has = np.eye(count + 1)[group][:, :count]
        rows = scipy.sparse.csr_array(scipy.sparse.hstack([rows, has]))
    slacks = box.n if np.isfinite(box.ub).all() else 0
    size = rows.shape[1] + slacks
    plane = -scipy.sparse.diags_array(box.Q.sign) @ rows
    G = scipy.sparse.hstack([plane, -scipy.sparse.eye_array(slacks)]) if slacks else plane
    P = scipy.sparse.diags_array(np.concatenate([np.ones(d), np.zeros(size - d)]))
    q, lb = np.zeros(size), np.full(size, -np.inf)
    q[d : rows.shape[1]] = dual.sums
    if slacks:
        q[-slacks:], lb[-slacks:] = box.ub, 0.0
    return QP(
        scipy.sparse.csc_array(P),
        q,
        scipy.sparse.csc_array(G),
        box.p,
        None,
        None,
        lb,
        np.full(size, np.inf),
    )
