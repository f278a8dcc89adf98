"""What `SVC` and `SVR` share: samples, kernel, support vectors, and the decision values.

    f(x) = Σ βᵢk(xᵢ, x) + b   over the support vectors
A kernel that this package does not know by name (a function, or a Gram matrix) is given to the solver
as its Gram matrix.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy
from sklearn.utils import check_consistent_length, column_or_1d
from sklearn.utils.validation import check_is_fitted, validate_data

from problems import RBF, Gram, Kernel, Linear, Polynomial, Precomputed, Sigmoid
from problems.dataset import check_samples
from problems.kernels import Block, as_dense
from problems.kernels.base import stacked
from problems.validation import check_positive
from solvers import Solver
from solvers.dual_coordinate_descent import DualCoordinateDescent
from solvers.estimators.answers import Answer, chosen_solver, dual_answer
from solvers.estimators.certified import CertifiedEstimator, Problem
from solvers.estimators.samples import (
    Weights,
    check_sample_weight,
    settings_of,
    subset,
    variance,
)
from solvers.smo import SMO

_CHUNK_VALUES = 2**23  # kernel values at a time in predictions
_NAMES = ("linear", "poly", "rbf", "sigmoid", "precomputed")


@dataclass(eq=False, repr=False, kw_only=True)
class KernelMachine(CertifiedEstimator):  # pyright: ignore[reportUntypedBaseClass]
    """Base of the estimators with a kernel; `SVC` describes the parameters."""

    C: Any = 1.0
    kernel: Any = "rbf"
    degree: Any = 3
    gamma: Any = "scale"
    coef0: Any = 0.0
    tol: Any = 1e-3
    shrinking: Any = True
    cache_size: Any = 200
    verbose: Any = False
    max_iter: Any = -1
    solver: Any = None

    def __sklearn_tags__(self) -> Any:
        """State that a Gram matrix is split along both axes."""
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._is_precomputed
        tags.input_tags.sparse = not tags.input_tags.pairwise
        return tags

    @property
    def coef_(self) -> Any:
        """Weights of the features, (1, d) or (pairs of classes, d); only for the linear kernel."""
        check_is_fitted(self)
        if not isinstance(self._kernel, Linear):
            raise AttributeError("coef_ is only available when using a linear kernel")
        coefficients = self._beta
        if not scipy.sparse.issparse(self.support_vectors_):
            coef = coefficients @ self.support_vectors_
            coef.flags.writeable = False
            return coef
        return type(self.support_vectors_)(
            scipy.sparse.csr_array(coefficients) @ self.support_vectors_
        )

    @property
    def _by_function(self) -> bool:
        return callable(self.kernel) and not isinstance(self.kernel, Kernel)

    @property
    def _is_precomputed(self) -> bool:
        named = isinstance(self.kernel, str) and self.kernel == "precomputed"
        return named or isinstance(self.kernel, Precomputed)

    @property
    def _gram_given(self) -> bool:
        return self._by_function or self._is_precomputed

    def _checked(
        self, X: Any, y: Any, sample_weight: Any, **y_checks: Any
    ) -> tuple[Any, Any, Weights]:
        """Return samples (for a function as kernel their Gram matrix), y, and the weights.

        Samples of weight 0 are left out of all.
        """
        if self._by_function:
            y = column_or_1d(y, warn=True)
            check_consistent_length(X, y)
            self._X_fit = X
            X = as_dense(self.kernel(X, X))
        else:
            X, y = validate_data(
                self, X, y, dtype=np.float64, order="C", accept_sparse="csr", **y_checks
            )
        if self._is_precomputed and scipy.sparse.issparse(X):
            raise TypeError("kernel: a sparse precomputed kernel is not supported; use X.toarray()")
        if self._gram_given and X.shape[0] != X.shape[1]:
            raise ValueError(
                f"X: a Gram matrix (precomputed kernel) must be a square matrix, got {X.shape}"
            )
        self.shape_fit_ = X.shape
        weights = check_sample_weight(sample_weight, X.shape[0])
        return subset(X, weights.kept, self._gram_given), y[weights.kept], weights

    def _kernel_for(self, X: Any, weights: Weights) -> Kernel:
        """Return the kernel; gamma="scale" is 1/(d·variance of X), with 1 for a variance of 0."""
        if self._gram_given:
            return Precomputed()
        if isinstance(self.kernel, Kernel):
            return self.kernel.fit(check_samples(X))
        if not isinstance(self.kernel, str) or self.kernel not in _NAMES:
            raise ValueError(
                f"kernel: must be one of {_NAMES}, a kernel of this package, or a function, "
                f"got {self.kernel!r}"
            )
        if self.kernel == "linear":
            return Linear()
        gamma = self._gamma_for(X, weights)
        if self.kernel == "rbf":
            return RBF(gamma)
        if self.kernel == "sigmoid":
            return Sigmoid(gamma, self.coef0)
        return Polynomial(self.degree, gamma, self.coef0)

    def _gamma_for(self, X: Any, weights: Weights) -> float:
        if not isinstance(self.gamma, str):
            return check_positive(self.gamma, "gamma")
        if self.gamma not in ("scale", "auto"):
            raise ValueError(f"gamma: must be 'scale', 'auto' or a number, got {self.gamma!r}")
        spread = variance(X, weights.values) if self.gamma == "scale" else 1.0
        return 1.0 / (X.shape[1] * spread) if spread > 0 else 1.0

    def _solver(self) -> Solver:
        default = DualCoordinateDescent if isinstance(self._kernel, Linear) else SMO
        return chosen_solver(self.solver, default, settings_of(self))

    def _answer(self, problem: Problem, solver: Solver) -> Answer:
        """Solve one problem, and remember what `certificate_` needs."""
        answer = dual_answer(problem(), solver, self.solver is None, self.verbose)
        self._answers.append((problem, answer.point))
        return answer

    def _set_support(self, X: Any, beta: Block, duals: Block, order: Any, weights: Weights) -> None:
        """Take the support vectors out of `beta` (machines, n), in the order given.

        `duals` (k, n) holds the same β in scikit-learn's layout.
        """
        support = order[(duals[:, order] != 0).any(axis=0)]
        self._beta = beta[:, support]
        self.support_ = weights.kept[support].astype(np.int32)
        self.support_vectors_ = np.empty((0, 0)) if self._gram_given else X[support]
        coefficients = duals[:, support]
        self.dual_coef_ = type(X)(coefficients) if scipy.sparse.issparse(X) else coefficients
        if not np.isfinite(self.intercept_).all() or not np.isfinite(duals).all():
            raise ValueError("X: its values are too large; scale the features, or check the kernel")

    def _values(self, X: Any) -> Block:
        """Return f for each row of `X` and machine, shape (m, machines)."""
        check_is_fitted(self)
        if self._by_function:
            X = as_dense(self.kernel(X, self._X_fit))
        else:
            X = validate_data(
                self, X, dtype=np.float64, order="C", accept_sparse="csr", reset=False
            )
        if self._gram_given and X.shape[1] != self.shape_fit_[0]:
            raise ValueError(
                f"X: must have a column for each of the {self.shape_fit_[0]} training samples, "
                f"got {X.shape[1]}"
            )
        if isinstance(self._kernel, Linear):
            return as_dense(X @ self.coef_.T) + self.intercept_
        if self._gram_given:
            return X[:, self.support_] @ self._beta.T + self.intercept_
        return self._sums(X) + self.intercept_

    def _sums(self, X: Any) -> Block:
        """Return Σ βᵢk(xᵢ, x) for each row x of `X` and machine, some rows at a time."""
        m, coefficients = X.shape[0], self._beta.T
        gram = Gram(stacked(X, self.support_vectors_), self._kernel)
        values = np.empty((m, coefficients.shape[1]))
        step = max(1, _CHUNK_VALUES // max(1, self.support_.size))
        for start in range(0, m, step):
            rows = slice(start, min(start + step, m))
            values[rows] = gram.block(rows, slice(m, None)) @ coefficients
        return values
