"""The duals of C-SVC and epsilon-SVR, recognised in a box QP and expressed in scikit-learn's parameters.

C-SVC        p = −1, a = y, 0 ≤ x ≤ C
epsilon-SVR  every sample twice, with signs +1 and −1: p = [epsilon − y, epsilon + y]
"""

from __future__ import annotations

from typing import Any

import numpy as np

from problems.dataset import Vector
from problems.forms import BoxQP
from problems.kernels import RBF, Linear, Polynomial, Sigmoid

NATIVE_KERNELS = (Linear, RBF, Polynomial, Sigmoid)


def kernel_settings(kernel: Any) -> dict[str, Any]:
    """Return what scikit-learn's SVC and SVR call a kernel."""
    match kernel:
        case Linear():
            return {"kernel": "linear"}
        case RBF(gamma):
            return {"kernel": "rbf", "gamma": gamma}
        case Polynomial(degree, gamma, coef0):
            return {"kernel": "poly", "degree": int(degree), "gamma": gamma, "coef0": coef0}
        case Sigmoid(gamma, coef0):
            return {"kernel": "sigmoid", "gamma": gamma, "coef0": coef0}
        case _:
            return {"kernel": "precomputed"}


def is_classification(form: BoxQP) -> bool:
    """Return whether a form is the dual of C-SVC: p = −1, a = y."""
    labelled = form.a is not None and bool((np.abs(form.a) == 1).all()) and form.n == form.gram.n
    return (
        labelled
        and _has_plain_box(form)
        and bool((form.p == -1).all() and (form.Q.sign == form.a).all())
        and bool((form.Q.index == np.arange(form.n)).all())
    )


def is_regression(form: BoxQP) -> bool:
    """Return whether a form is the dual of epsilon-SVR: every sample twice, signs +1 and −1."""
    n = form.gram.n
    if form.n != 2 * n or form.a is None or not _has_plain_box(form):
        return False
    sign = np.repeat([1.0, -1.0], n)
    same_box = bool((form.ub[:n] == form.ub[n:]).all())
    signs = bool((form.a == sign).all() and (form.Q.sign == sign).all())
    return same_box and signs and bool((form.Q.index == np.tile(np.arange(n), 2)).all())


def _has_plain_box(form: BoxQP) -> bool:
    return form.groups is None and not form.delta.any() and bool((form.lb == 0).all())


def regression_targets(form: BoxQP) -> tuple[Vector, float]:
    """Return y and epsilon of an epsilon-SVR from p = [epsilon − y, epsilon + y]."""
    below, above = form.p[: form.gram.n], form.p[form.gram.n :]
    return (above - below) / 2, max(0.0, float(np.median(below + above)) / 2)


def both_signs(beta: Vector) -> Vector:
    """Return the positive parts of β, then the negative ones: the variables of the doubled form."""
    return np.concatenate([np.maximum(beta, 0.0), np.maximum(-beta, 0.0)])
