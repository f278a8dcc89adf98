"""The duals of C-SVC and epsilon-SVR, recognised in a box QP and expressed in scikit-learn's parameters.

C-SVC        p = −1, a = y, 0 ≤ x ≤ C
epsilon-SVR  every sample twice, with signs +1 and −1: p = [epsilon − y, epsilon + y]
"""

from __future__ import annotations

import importlib
import warnings
from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from problems.dataset import Vector
from problems.forms import BoxQP, FormPoint
from problems.kernels import RBF, Linear, Polynomial, Sigmoid, as_dense
from solvers.warm_up import WarmedUpSolver

NATIVE_KERNELS = (Linear, RBF, Polynomial, Sigmoid)


@dataclass(frozen=True)
class SupportVectorBaseline(WarmedUpSolver):
    """Base of LIBSVM and oneDAL, which are reached through scikit-learn's `SVC` and `SVR`."""

    tol: float = 1e-3
    max_iter: int | None = None
    cache_size: float = 1000.0

    form: ClassVar = BoxQP

    def iterates(self, form: BoxQP) -> Iterator[FormPoint]:
        """Yield once, at the end."""
        svm, kernel = importlib.import_module(self.needs[0][0]), form.gram.kernel
        settings = {"C": 1.0, "tol": self.tol, "cache_size": self.cache_size}
        settings |= self._settings() | kernel_settings(kernel)
        if is_classification(form):
            estimator, targets = svm.SVC(**settings), form.a
        else:
            targets, epsilon = regression_targets(form)
            estimator = svm.SVR(epsilon=epsilon, **settings)
        estimator.random_state = 0  # else `fit` draws a seed, never used, from the global state
        samples = form.gram.X if isinstance(kernel, NATIVE_KERNELS) else form.gram.dense()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of its limit, which the claim states
            # with C = 1 each Cᵢ is the weight of its sample
            estimator.fit(samples, targets, sample_weight=form.ub[: form.gram.n])
        stopped = self._is_stopped(estimator)
        beta = np.zeros(form.gram.n)
        beta[estimator.support_] = as_dense(estimator.dual_coef_).ravel()
        yield FormPoint(
            recovered(form, beta),
            iterations=int(np.sum(estimator.n_iter_)),
            claim="stopped" if stopped else "optimal",
        )

    @abstractmethod
    def _settings(self) -> dict[str, Any]:
        """Return the settings of `SVC` and `SVR` that are its own."""

    @abstractmethod
    def _is_stopped(self, estimator: Any) -> bool:
        """Return whether it ended at its limit."""


def refuse_other_duals(form: BoxQP, solver: str) -> str | None:
    """Return why a form is not one of the two duals that `solver` solves, or None if it is."""
    if form.a is None:
        return f"{solver} always has an intercept"
    if not np.isfinite(form.ub).all():
        return f"{solver} has no hard margin: C must be finite"
    if not is_classification(form) and not is_regression(form):
        return f"{solver} solves only the duals of C-SVC and epsilon-SVR"
    if is_classification(form) and np.unique(form.a).size < 2:
        return f"{solver} needs samples of both classes"
    return None


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


def recovered(form: BoxQP, beta: Vector) -> Vector:
    """Return the variables of a form, from the coefficients β (n,) of f(x) = Σ βᵢk(xᵢ, x) + b."""
    if form.n == beta.size:
        return form.Q.sign * beta
    return np.concatenate([np.maximum(beta, 0.0), np.maximum(-beta, 0.0)])


def _has_plain_box(form: BoxQP) -> bool:
    return form.groups is None and not form.delta.any() and bool((form.lb == 0).all())


def regression_targets(form: BoxQP) -> tuple[Vector, float]:
    """Return y and epsilon of an epsilon-SVR from p = [epsilon − y, epsilon + y]."""
    below, above = form.p[: form.gram.n], form.p[form.gram.n :]
    return (above - below) / 2, max(0.0, float(np.median(below + above)) / 2)
