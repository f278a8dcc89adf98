"""`SVR`: epsilon-insensitive support vector regression with any kernel."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import RegressorMixin

from problems import SVRDual, Vector
from problems.dataset import check_samples
from problems.validation import check_positive, check_switch
from solvers.estimators.answers import Answer, Task, warn_unless, within
from solvers.estimators.machine import KernelMachine


@dataclass(eq=False, repr=False, kw_only=True)
class KernelRegressor(RegressorMixin, KernelMachine):  # pyright: ignore[reportUntypedBaseClass]
    """Base of the regressors with a kernel."""

    def _fit(self, X: Any, y: Any, sample_weight: Any, scale: float) -> None:
        """Fit with `scale` times their weights for the samples."""
        samples, targets, weights = self._checked(X, y, sample_weight, y_numeric=True)
        targets = np.asarray(targets, dtype=np.float64)
        self._kernel = self._kernel_for(samples, weights)
        last = self._last_beta(weights.kept, scale)
        start = None if last is None else last[0]
        answer = self._answer(check_samples(samples), targets, scale * weights.values, start)
        self.intercept_ = np.array([answer.b])
        duals = answer.alpha[None, :]
        self._set_support(samples, duals, duals, weights)
        self.n_support_ = np.array([self.support_.size], dtype=np.int32)
        self.n_iter_ = max(1, answer.iterations)
        self.fit_status_ = int(not answer.converged)
        warn_unless(answer.converged, self.max_iter)

    @abstractmethod
    def _answer(self, X: Any, y: Vector, C: Vector, last: Vector | None) -> Answer:
        """Return the answer for weights C (n,) of the losses."""

    def predict(self, X: Any) -> Any:
        """Return f(x) for the rows of `X`, shape (m,)."""
        return self._values(X).ravel()


@dataclass(eq=False, repr=False, kw_only=True)
class SVR(KernelRegressor):
    """Support vector regression: scikit-learn's `SVR`, certified.

    min ½‖w‖² + Σ Cᵢ·max(0, |yᵢ − wᵀφ(xᵢ) − b| − epsilon) with Cᵢ = C·sample weight.

    Parameters
    ----------
    kernel, degree, gamma, coef0, tol, shrinking, cache_size, verbose, max_iter, solver, fit_intercept,
    refine, warm_start, callback : as of `SVC`.
    C : weight of the slacks, above 0; inf for a function that keeps within epsilon of all targets.
    epsilon : half-width of the tube, 0 or above.

    Attributes
    ----------
    support_, support_vectors_, n_support_, dual_coef_, coef_, intercept_, n_iter_, fit_status_,
    shape_fit_, n_features_in_, feature_names_in_ : as in scikit-learn.
    certificate_ : see `CertifiedEstimator`.
    """

    C: Any = 1.0
    epsilon: Any = 0.1
    fit_intercept: Any = True
    warm_start: Any = False

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> SVR:
        """Fit to samples `X` (n, d), dense or sparse (a Gram matrix (n, n)), and targets `y` (n,).

        Raises
        ------
        ValueError
            If an argument or a parameter is not usable, or the solver gives no answer.
        """
        if not np.array_equal(self.C, np.inf):
            check_positive(self.C, "C")
        check_positive(self.epsilon, "epsilon", zero=True)
        scale = self.C if np.isfinite(self.C) else 1.0
        self._fit(X, y, sample_weight, scale)
        return self

    def _answer(self, X: Any, y: Vector, C: Vector, last: Vector | None) -> Answer:
        return self._fit_to(X, y, C, last) if np.isfinite(self.C) else self._fit_in_tube(X, y)

    def _fit_to(self, X: Any, y: Vector, C: Vector, last: Vector | None) -> Answer:
        """Solve for weights C (n,) of the slacks."""
        intercept = check_switch(self.fit_intercept, "fit_intercept")
        problem = partial(SVRDual, X, y, C, self.epsilon, self._kernel, intercept)
        start = None if last is None else within(last, -C, C, intercept)
        task = Task(problem, y, np.ones(y.size), -C, C, self.epsilon, intercept, start)
        return self._solve_one(X, task)

    def _fit_in_tube(self, X: Any, y: Vector) -> Answer:
        """Solve with slacks at any price: with a C that no |βᵢ| reaches, which is as good as inf."""
        spread = float(np.abs(y - y.mean()).max()) or 1.0
        for C in spread * np.array([1e2, 1e5, 1e8]):
            answer = self._fit_to(X, y, np.full(y.size, C), None)
            if not answer.converged:
                break
            if np.abs(answer.alpha).max() < 0.99 * C:
                return answer
        raise ValueError(
            "C: is infinite, and no function was found that keeps within epsilon of all targets; use a "
            "finite C, or a larger epsilon"
        )
