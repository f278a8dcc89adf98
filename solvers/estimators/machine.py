"""What `SVC` and `SVR` share: samples, kernel, support vectors, and the decision values.

    f(x) = Σ βᵢk(xᵢ, x) + b   over the support vectors
A kernel that this package does not know by name (a function, or a Gram matrix) is given to the solver
as its Gram matrix.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy
from sklearn.utils import check_consistent_length, column_or_1d
from sklearn.utils.validation import _num_samples, check_is_fitted, validate_data

from problems import RBF, Gram, Kernel, Linear, Polynomial, Precomputed, Sigmoid
from problems.dataset import Indices, check_samples
from problems.gram.threads import Threads
from problems.kernels import Block, as_dense
from problems.kernels.base import stacked
from problems.validation import check_positive, check_switch
from solvers.dual_coordinate_descent import DualCoordinateDescent
from solvers.estimators.answers import (
    SMALL,
    Answer,
    Manner,
    Task,
    chosen_solver,
    dual_answer,
    small_answer,
)
from solvers.estimators.certified import CertifiedEstimator
from solvers.estimators.samples import (
    Weights,
    check_sample_weight,
    settings_of,
    subset,
    variance,
)
from solvers.smo import SMO

_CHUNK_VALUES = 2**23  # kernel values at a time in predictions
NO_TARGETS = "no_validation"  # scikit-learn's word for it
_NAMES = ("linear", "poly", "rbf", "sigmoid", "precomputed")


@dataclass(eq=False, repr=False, kw_only=True)
class KernelMachine(CertifiedEstimator):  # pyright: ignore[reportUntypedBaseClass]
    """Base of the estimators with a kernel; `SVC` describes the parameters."""

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
    refine: Any = True
    callback: Any = None

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

        Samples of weight 0 are left out of all. The text `NO_TARGETS` stands for no y.
        """
        options: dict[str, Any] = {"dtype": np.float64, "order": "C", "accept_sparse": "csr"}
        if self._by_function:
            if not isinstance(y, str):
                y = column_or_1d(y, warn=True)
                check_consistent_length(X, y)
            self._X_fit = X
            X = self._values_of_function(X, _num_samples(X))
        elif isinstance(y, str):
            X = validate_data(self, X, **options)
        else:
            X, y = validate_data(self, X, y, **options, **y_checks)
        if self._is_precomputed and scipy.sparse.issparse(X):
            raise TypeError("X: Sparse precomputed kernels are not supported; use X.toarray()")
        if self._gram_given and X.shape[0] != X.shape[1]:
            raise ValueError(
                f"X: a Gram matrix (precomputed kernel) must be a square matrix, got {X.shape}"
            )
        self.shape_fit_ = X.shape
        weights = check_sample_weight(sample_weight, X.shape[0])
        y = y if isinstance(y, str) else y[weights.kept]
        return subset(X, weights.kept, self._gram_given), y, weights

    def _values_of_function(self, X: Any, m: int) -> Block:
        """Return the values of a function given as kernel, of `X` (m samples) and those of `fit`."""
        n = _num_samples(self._X_fit)
        K = self.kernel(X, self._X_fit)
        try:
            K = as_dense(K)
        except (TypeError, ValueError):
            K = np.empty(0)
        if K.shape != (m, n):
            raise ValueError(
                f"kernel: the function must return an array of {m} × {n} numbers for {m} and {n} "
                f"samples, got shape {K.shape}"
            )
        if not np.isfinite(K).all():
            raise ValueError("kernel: the function returned NaN or infinite values")
        return K

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

    def _manner(self, task: Task, *, large: bool) -> Manner:
        """Return how a task is solved: a large one with a linear kernel by coordinate descent."""
        linear = isinstance(self._kernel, Linear) and not task.sums and large
        default = DualCoordinateDescent if linear else SMO
        solver = chosen_solver(self.solver, default, settings_of(self))
        refine = check_switch(self.refine, "refine")
        return Manner(solver, self.solver is None, refine, self.verbose, self.callback)

    def _solve(self, X: Any, tasks: list[Task], places: list[list[slice]]) -> list[Answer]:
        """Solve the tasks, each on the samples at its places in `X` (slices of rows).

        What `certificate_` needs is remembered.
        """
        gram = _SharedGram(X, self._kernel)
        answers: list[Answer] = []
        for task, place in zip(tasks, places, strict=True):
            large, answer = task.y.size > SMALL, None
            manner = self._manner(task, large=large)
            if task.is_small and manner.by_default and not manner.watched:
                with Threads().limited(1):  # several wait for each other longer than they work
                    answer = small_answer(task, gram.among(place), manner)
                manner = self._manner(task, large=True)  # what that cannot solve is not easy
            answers.append(answer or dual_answer(task, manner))
        self._answers = [(task.problem, a.point) for task, a in zip(tasks, answers, strict=True)]
        return answers

    def _solve_one(self, X: Any, task: Task) -> Answer:
        """Solve a task of all samples."""
        return self._solve(X, [task], [[slice(0, task.y.size)]])[0]

    def _last_beta(self, kept: Indices, scale: float) -> Block | None:
        """Return the β (machines, n) of the last fit for the samples `kept`, if it is to be begun from.

        What was at a bound stays there if `scale`, the weight of the samples, has changed.
        """
        last = vars(self).get("_fitted")
        self._fitted = float(scale), self.shape_fit_[0]
        wanted = check_switch(getattr(self, "warm_start", False), "warm_start")
        if not wanted or last is None:
            return None
        before, n = last
        if n != self.shape_fit_[0]:
            return None
        beta = np.zeros((len(self._beta), n))
        beta[:, self.support_] = self._beta
        return beta[:, kept] * (scale / before) if np.isfinite(scale / before) else None

    def _set_support(self, X: Any, beta: Block, duals: Block, weights: Weights) -> None:
        """Take the support vectors out of `beta` (machines, n).

        `duals` (k, n) holds the same β in scikit-learn's layout.
        """
        self._support = support = np.flatnonzero(duals.any(axis=0))
        self._beta = beta[:, support]
        self.support_ = weights.kept[support].astype(np.int32)
        self.support_vectors_ = np.empty((0, 0)) if self._gram_given else X[support]
        coefficients = duals[:, support]
        self.dual_coef_ = type(X)(coefficients) if scipy.sparse.issparse(X) else coefficients
        if not np.isfinite(self.intercept_).all() or not np.isfinite(coefficients).all():
            raise ValueError("X: its values are too large; scale the features, or check the kernel")

    def _values(self, X: Any) -> Block:
        """Return f for each row of `X` and machine, shape (m, machines)."""
        check_is_fitted(self)
        if self._by_function:
            X = self._values_of_function(X, _num_samples(X))
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


class _SharedGram:
    """The Gram matrices of some machines, each on several slices of the same samples.

    Two machines share what they have in common: digits have 45 pairs of classes, but 55 blocks.
    """

    def __init__(self, X: Any, kernel: Kernel) -> None:
        self.X, self.kernel = X, kernel
        self._blocks: dict[tuple[int, int], Block] = {}

    @cached_property
    def _gram(self) -> Gram:
        self.kernel.check(self.X)
        return Gram(self.X, self.kernel)

    def among(self, place: list[slice]) -> Block:
        """Return the matrix of the samples at some slices, in their order."""
        size = sum(p.stop - p.start for p in place)
        if size == self.X.shape[0]:
            return self._gram.dense()
        K, row = np.empty((size, size)), 0
        for number, p in enumerate(place):
            end = column = row + p.stop - p.start
            K[row:end, row:end] = self._block(p, p)
            for q in place[number + 1 :]:
                after = column + q.stop - q.start
                K[row:end, column:after] = block = self._block(p, q)
                K[column:after, row:end] = block.T
                column = after
            row = end
        return K

    def _block(self, rows: slice, cols: slice) -> Block:
        key = rows.start, cols.start
        if key not in self._blocks:
            self._blocks[key] = self._gram.block(rows, cols)
        return self._blocks[key]
