"""`SVR`: epsilon-insensitive support vector regression with any kernel."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import RegressorMixin

from problems import SVRDual
from problems.dataset import check_samples
from problems.validation import check_positive
from solvers.estimators.answers import warn_unless
from solvers.estimators.machine import KernelMachine


@dataclass(eq=False, repr=False, kw_only=True)
class SVR(RegressorMixin, KernelMachine):  # pyright: ignore[reportUntypedBaseClass]
    """Support vector regression: scikit-learn's `SVR`, certified.

    min ½‖w‖² + Σ Cᵢ·max(0, |yᵢ − wᵀφ(xᵢ) − b| − epsilon) with Cᵢ = C·sample weight.

    Parameters
    ----------
    kernel, degree, gamma, coef0, tol, shrinking, cache_size, verbose, max_iter, solver : as of `SVC`.
    C : weight of the slacks, finite and above 0.
    epsilon : half-width of the tube, 0 or above.

    Attributes
    ----------
    support_, support_vectors_, n_support_, dual_coef_, coef_, intercept_, n_iter_, fit_status_,
    shape_fit_, n_features_in_, feature_names_in_ : as in scikit-learn.
    certificate_ : see `CertifiedEstimator`.
    """

    epsilon: Any = 0.1

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> SVR:
        """Fit to samples `X` (n, d), dense or sparse (a Gram matrix (n, n)), and targets `y` (n,).

        Raises
        ------
        ValueError
            If an argument or a parameter is not usable, or the solver gives no answer.
        """
        check_positive(self.C, "C")
        check_positive(self.epsilon, "epsilon", zero=True)
        samples, targets, weights = self._checked(X, y, sample_weight, y_numeric=True)
        targets = np.asarray(targets, dtype=np.float64)
        self._kernel = self._kernel_for(samples, weights)
        self._forget()
        upper = self.C * weights.values
        X_fit = check_samples(samples)
        problem = partial(SVRDual, X_fit, targets, upper, self.epsilon, self._kernel)
        answer = self._answer(problem, self._solver())
        assert answer.point.alpha is not None
        self.intercept_ = np.array([answer.point.b])
        duals = answer.point.alpha[None, :]
        self._set_support(samples, duals, duals, np.arange(targets.size), weights)
        self.n_support_ = np.array([self.support_.size], dtype=np.int32)
        self.n_iter_ = max(1, answer.iterations)
        self.fit_status_ = int(not answer.converged)
        warn_unless(answer.converged, self.max_iter)
        return self

    def predict(self, X: Any) -> Any:
        """Return f(x) for the rows of `X`, shape (m,)."""
        return self._values(X).ravel()
