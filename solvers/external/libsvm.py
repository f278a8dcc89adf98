"""LIBSVM through scikit-learn: second-order SMO with shrinking and a cache of kernel rows.

    min ½xᵀQx + pᵀx  s.t. aᵀx = 0, 0 ≤ x ≤ ub

Chang & Lin 2011, "LIBSVM: a library for support vector machines"; working pairs by Fan, Chen & Lin
2005. The duals of C-SVC (p = −1, a = y) and epsilon-SVR (every sample twice, with signs +1 and −1)
are recognised from the form and given to scikit-learn's SVC and SVR.
"""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from problems.dataset import Vector
from problems.forms import BoxQP, FormPoint
from problems.kernels import as_dense
from problems.validation import check_positive
from solvers.base import Solver, optional
from solvers.external.svm_form import (
    NATIVE_KERNELS,
    both_signs,
    is_classification,
    is_regression,
    kernel_settings,
    regression_targets,
)


@dataclass(frozen=True)
class LibSVM(Solver):
    """LIBSVM's solvers of C-SVC and epsilon-SVR, as scikit-learn ships them.

    Attributes
    ----------
    tol : LIBSVM's stopping tolerance, the maximal violating pair. It keeps kernel values in single
        precision: below about 1e-7·maxᵢ Σⱼ|Qᵢⱼ|αⱼ it stops at its tol without being there.
    max_iter : its limit on iterations, by default LIBSVM's own, which scikit-learn leaves out; on
        features of 1e8 it would go on for ever. None for none.
    cache_size : megabytes for kernel rows.
    shrinking : whether it sets variables aside that seem to stay at a bound.
    """

    tol: float = 1e-3
    max_iter: int | None = 10_000_000
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
        if not is_classification(form) and not is_regression(form):
            return "LIBSVM solves only the duals of C-SVC and epsilon-SVR"
        if is_classification(form) and np.unique(form.a).size < 2:
            return "LIBSVM needs samples of both classes"
        if not isinstance(form.gram.kernel, NATIVE_KERNELS) and not form.gram.fits:
            return "LIBSVM needs the whole matrix of this kernel, and it does not fit in memory"
        return None

    def prepare(self, form: BoxQP) -> BoxQP:
        """Import scikit-learn."""
        optional("sklearn.svm", "LIBSVM", "scikit-learn")
        return form

    def iterates(self, form: BoxQP) -> Iterator[FormPoint]:
        """Yield once, at the end."""
        estimator, targets, weights = self._estimator(form)
        samples = form.gram.X if isinstance(form.gram.kernel, NATIVE_KERNELS) else form.gram.dense()
        estimator.random_state = 0  # else `fit` draws a seed, never used, from the global state
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            estimator.fit(samples, targets, sample_weight=weights)
        beta = np.zeros(form.gram.n)
        beta[estimator.support_] = as_dense(estimator.dual_coef_).ravel()
        at_limit = any(w.category.__name__ == "ConvergenceWarning" for w in caught)
        yield FormPoint(
            form.Q.sign * beta if is_classification(form) else both_signs(beta),
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
            **kernel_settings(form.gram.kernel),
        }
        if is_classification(form):
            assert form.a is not None
            return svm.SVC(**settings), form.a, form.ub
        targets, epsilon = regression_targets(form)
        return svm.SVR(epsilon=epsilon, **settings), targets, form.ub[: form.gram.n]
