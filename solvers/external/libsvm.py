"""LIBSVM through scikit-learn: second-order SMO with shrinking and a cache of kernel rows.

    min ½xᵀQx + pᵀx  s.t. aᵀx = 0, 0 ≤ x ≤ ub

Chang & Lin 2011, "LIBSVM: a library for support vector machines"; working pairs by Fan, Chen & Lin
2005. The duals of C-SVC (p = −1, a = y) and epsilon-SVR (every sample twice, with signs +1 and −1)
are recognised from the form and told to scikit-learn's SVC and SVR.
"""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from problems.dataset import Vector, check_positive
from problems.forms import BoxQP, FormPoint
from problems.kernels import RBF, Linear, Polynomial, Sigmoid, as_dense
from solvers.base import NotInstalled, Solver


@dataclass(frozen=True)
class LibSVM(Solver):
    """LIBSVM's solvers of C-SVC and epsilon-SVR, as scikit-learn ships them.

    Attributes
    ----------
    tol : LIBSVM's stopping tolerance, the maximal violating pair. It keeps kernel values in single
        precision: below about 1e-7·maxᵢ Σⱼ|Qᵢⱼ|αⱼ it stops at its tol without being there.
    max_iter : its limit on iterations; None for none.
    cache_size : megabytes for kernel rows.
    shrinking : whether it sets variables aside that seem to stay at a bound.
    """

    tol: float = 1e-3
    max_iter: int | None = None
    cache_size: float = 1000.0
    shrinking: bool = True

    form: ClassVar = BoxQP
    source: ClassVar[str] = "Chang & Lin 2011; Fan, Chen & Lin 2005"
    name: ClassVar[str] = "libsvm"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive(self.cache_size, "cache_size")

    def refuses(self, form: BoxQP) -> str | None:
        """LIBSVM knows its two problems only."""
        if form.a is None:
            return "LIBSVM always has an intercept"
        if not np.isfinite(form.ub).all():
            return "LIBSVM has no hard margin: C must be finite"
        if not _is_classification(form) and not _is_regression(form):
            return "LIBSVM solves only the duals of C-SVC and epsilon-SVR"
        if _is_classification(form) and np.unique(form.a).size < 2:
            return "LIBSVM needs samples of both classes"
        if not isinstance(form.gram.kernel, _NATIVE) and not form.gram.fits:
            return "LIBSVM needs the whole matrix of this kernel, and it does not fit in memory"
        return None

    def prepare(self, form: BoxQP) -> BoxQP:
        """Import scikit-learn."""
        try:
            importlib.import_module("sklearn.svm")
        except ImportError:
            raise NotInstalled("LIBSVM needs scikit-learn: pip install scikit-learn") from None
        return form

    def iterates(self, form: BoxQP) -> Iterator[FormPoint]:
        """Yield once, at the end."""
        estimator, targets, weights = self._estimator(form)
        samples = form.gram.X if isinstance(form.gram.kernel, _NATIVE) else form.gram.dense()
        estimator.random_state = 0  # else `fit` draws a seed, never used, from the global state
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            estimator.fit(samples, targets, sample_weight=weights)
        beta = np.zeros(form.gram.n)
        beta[estimator.support_] = as_dense(estimator.dual_coef_).ravel()
        at_limit = any(w.category.__name__ == "ConvergenceWarning" for w in caught)
        yield FormPoint(
            form.Q.sign * beta if _is_classification(form) else _both_signs(beta),
            iterations=int(np.sum(estimator.n_iter_)),
            claim="stopped" if at_limit else "optimal",
        )

    def _estimator(self, form: BoxQP) -> tuple[Any, Vector, Vector]:
        """Return SVC or SVR, its targets, and Cᵢ as the weights of samples with C = 1."""
        svm = importlib.import_module("sklearn.svm")
        settings: dict[str, Any] = {
            "C": 1.0,
            "tol": self.tol,
            "cache_size": self.cache_size,
            "shrinking": self.shrinking,
            "max_iter": -1 if self.max_iter is None else int(self.max_iter),
            **_kernel_settings(form.gram.kernel),
        }
        if _is_classification(form):
            assert form.a is not None
            return svm.SVC(**settings), form.a, form.ub
        n = form.gram.n
        below, above = form.p[:n], form.p[n:]  # epsilon − y and epsilon + y
        epsilon = max(0.0, float(np.median(below + above)) / 2)
        return svm.SVR(epsilon=epsilon, **settings), (above - below) / 2, form.ub[:n]


_NATIVE = (Linear, RBF, Polynomial, Sigmoid)


def _kernel_settings(kernel: Any) -> dict[str, Any]:
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


def _is_classification(form: BoxQP) -> bool:
    labelled = form.a is not None and bool((np.abs(form.a) == 1).all()) and form.n == form.gram.n
    return (
        labelled
        and _has_plain_box(form)
        and bool((form.p == -1).all() and (form.Q.sign == form.a).all())
        and bool((form.Q.index == np.arange(form.n)).all())
    )


def _is_regression(form: BoxQP) -> bool:
    n = form.gram.n
    if form.n != 2 * n or form.a is None or not _has_plain_box(form):
        return False
    sign = np.repeat([1.0, -1.0], n)
    same_box = bool((form.ub[:n] == form.ub[n:]).all())
    signs = bool((form.a == sign).all() and (form.Q.sign == sign).all())
    return same_box and signs and bool((form.Q.index == np.tile(np.arange(n), 2)).all())


def _has_plain_box(form: BoxQP) -> bool:
    return form.delta == 0 and bool((form.lb == 0).all())


def _both_signs(beta: Vector) -> Vector:
    return np.concatenate([np.maximum(beta, 0.0), np.maximum(-beta, 0.0)])
