"""Kernel machines: those of scikit-learn with LIBSVM's training replaced.

Parameters, validation, class weights, decision functions, `coef_` and tags are inherited. The hooks that
pass arrays to LIBSVM are overridden (`_dense_fit` and `_sparse_fit`; for predictions those for dense
samples, as matrix products are faster), and `_compute_kernel`, as scikit-learn treats a kernel of this
package as a function.
"""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import combinations, pairwise
from typing import Any, Self

import numpy as np
import scipy.sparse
from sklearn import svm
from sklearn.svm._base import BaseLibSVM
from sklearn.utils.validation import _num_samples, validate_data

from dualgap.problems import (
    RBF,
    Formulation,
    Gram,
    Kernel,
    Linear,
    Matrix,
    Polynomial,
    Precomputed,
    Sigmoid,
    Vector,
)
from dualgap.problems.dataset import Indices, check_samples
from dualgap.problems.kernels import Block, as_dense
from dualgap.problems.kernels.base import check_values
from dualgap.solvers.estimators.certified import (
    Certified,
    ProblemFactory,
    problem_factory,
)
from dualgap.solvers.estimators.direct import Fit
from dualgap.solvers.estimators.inputs import (
    as_canonical,
    as_integers,
    balanced_weights,
    encode_labels,
    positive_weights,
)

SAMPLES: Any = {"dtype": np.float64, "order": "C", "accept_sparse": "csr"}


@dataclass(eq=False, repr=False, kw_only=True)
class KernelMachine(Certified, BaseLibSVM):
    """Base of the machines with a kernel; `SVC` describes the parameters."""

    kernel: Any = "rbf"
    degree: Any = 3
    gamma: Any = "scale"
    coef0: Any = 0.0
    tol: Any = 1e-3
    shrinking: Any = True
    cache_size: Any = 200
    verbose: Any = False
    max_iter: Any = -1

    # attributes that scikit-learn reads for all machines, but that some do not have as parameters
    C = nu = epsilon = 0.0
    class_weight = random_state = None
    probability = warm_start = False
    fit_intercept = True

    @abstractmethod
    def _problem(self, y: Vector, weight: Vector) -> tuple[type[Formulation], dict[str, Any]]:
        """Return the formulation, and its fields except for the samples, y and the kernel."""

    def __sklearn_tags__(self) -> Any:
        """Declare that a Gram matrix is split along both axes."""
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise |= isinstance(self.kernel, Precomputed)
        return tags

    def _dense_fit(self, X: Any, *arguments: Any, random_seed: int) -> None:
        if isinstance(self.kernel, Kernel):
            X = self._X_fit = validate_data(self, X, **SAMPLES)
            self._kernel = self.kernel.fit(check_samples(X))
        elif callable(self.kernel):
            self._X_fit = X
        self._train(super()._dense_fit, X, *arguments, random_seed)

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to samples `X` (n, d), dense or sparse, labels or targets `y` (n,), and weights (n,)."""
        return super().fit(as_canonical(X), as_integers(y), sample_weight)

    def _validate_for_predict(self, X: Any) -> Any:
        return super()._validate_for_predict(as_canonical(X))

    def _sparse_fit(self, X: Any, *arguments: Any, random_seed: int) -> None:
        self._train(super()._sparse_fit, X, *arguments, random_seed)
        dual = self.dual_coef_
        self.dual_coef_ = type(X)(np.ones(dual.shape))  # with zeros: LIBSVM reads only the data
        self.dual_coef_.data[:] = dual.ravel()

    def _compute_kernel(self, X: Any) -> Any:
        """Return `X`, or the values of a kernel without a name between `X` and the training samples."""
        if isinstance(self.kernel, Kernel):
            X = validate_data(self, X, reset=False, **SAMPLES)
            return self._kernel.bind(self._X_fit).cross(X, slice(None))
        if not callable(self.kernel):
            return X
        m, n = _num_samples(X), _num_samples(self._X_fit)
        K = as_dense(self.kernel(X, self._X_fit))
        if K.shape != (m, n):
            raise ValueError(
                f"kernel: the function must return an array of {m} × {n} numbers for {m} and {n} "
                f"samples, got shape {K.shape}"
            )
        return np.ascontiguousarray(K, dtype=np.float64)

    def _train(self, calibrate: Any, X: Any, *arguments: Any) -> None:
        """Solve the problem of each machine instead of LIBSVM."""
        y, sample_weight, _, kernel, _ = arguments
        self._probA = self._probB = np.empty(0)
        if self.probability not in (False, "deprecated"):  # LIBSVM fits Platt's sigmoids
            calibrate(X, *arguments)
        positive, weight = positive_weights(sample_weight, _num_samples(X))
        if not isinstance(self.kernel, Kernel):
            X = self._compute_kernel(X)
            weighted = check_samples(X[positive]) if sample_weight.size else None
            self._kernel = self._named_kernel(kernel, weighted, weight)
        y, has_gram = y[positive], isinstance(self._kernel, Precomputed)
        if self._pairs[0]:  # sort samples by the remaining classes
            if y.size < X.shape[0]:
                if np.unique(y).size == 1:
                    raise ValueError(
                        "sample_weight: Invalid input - all samples with positive weights belong to "
                        "the same class"
                    )
                y = self._validate_targets(self.classes_[y.astype(np.intp)])
            order = np.argsort(y, kind="stable")
            positive, y, weight = positive[order], y[order], weight[order]
            if isinstance(self.class_weight, str):  # scikit-learn ignores sample weights here
                self.class_weight_ = balanced_weights(np.bincount(y.astype(np.intp), weight))
            weight = weight * self.class_weight_[y.astype(np.intp)]
        samples = check_samples(X[positive][:, positive] if has_gram else X[positive])
        self._kernel.check(samples)
        check_values(self._kernel, samples)
        problems, rows_of = list[ProblemFactory](), list[Indices]()
        pairs = self._pairs
        for pair in pairs:
            rows, target = np.arange(y.size), y
            if pair:  # the second class is positive, as in binary decisions
                rows = np.flatnonzero((y == pair[0]) | (y == pair[1]))
                target = np.where(y[rows] == pair[1], 1.0, -1.0)
            formulation, fields = self._problem(target, weight[rows])
            fields = {"y": target, "kernel": self._kernel, **fields}
            problems.append(problem_factory(formulation, samples, rows if pair else None, **fields))
            rows_of.append(rows)
        matrices = None
        if len(problems) > 1 and y.size <= 25_000:  # values within classes take at most 200 MB
            matrices = _matrices_of_pairs(Gram(samples, self._kernel), y, pairs)
        answers = self._solve_all(problems, matrices)
        if not all(answer.margin > 0 for answer in answers):
            raise ValueError("nu: leaves no margin between the classes; use a smaller nu")
        self._set_attributes(X, y, positive, rows_of, answers)

    def _set_attributes(
        self, X: Any, y: Vector, positive: Indices, rows_of: list[Indices], answers: list[Fit]
    ) -> None:
        """Set LIBSVM's attributes from answers for the samples at `rows_of` among `positive` ones."""
        pairs, values = self._pairs, callable(self.kernel) or self.kernel == "precomputed"
        classes = len(self.classes_) if pairs[0] else 2
        duals = np.zeros((classes - 1, positive.size))
        for pair, rows, answer in zip(pairs, rows_of, answers, strict=True):
            alpha = np.asarray(answer.point.alpha) / answer.margin
            if not pair:
                duals[0] = alpha
            else:  # in LIBSVM the first class is positive
                first = y[rows] == pair[0]
                duals[pair[1] - 1, rows[first]] = alpha[first]
                duals[pair[0], rows[~first]] = -alpha[~first]
        support = np.flatnonzero(duals.any(axis=0))
        self.support_ = positive[support].astype(np.int32)
        self.dual_coef_ = duals.take(support, axis=1)
        of_class = y[support].astype(np.intp) if pairs[0] else np.zeros(support.size, np.intp)
        self._n_support = np.bincount(of_class, minlength=classes).astype(np.int32)
        self.support_vectors_ = np.empty((0, 0)) if values else X[self.support_]
        sign = -1.0 if pairs[0] else 1.0
        self.intercept_ = np.array([sign * (a.point.b or 0.0) / a.margin for a in answers])
        self._num_iter = np.array([answer.iterations for answer in answers], np.int32)

    @property
    def _pairs(self) -> list[tuple[int, ...]]:
        """The classes of each machine; () for a machine on all samples."""
        return [*combinations(range(len(getattr(self, "classes_", ()))), 2)] or [()]

    def kernel_for(self, X: Matrix) -> Kernel:
        """Return the kernel of a machine trained on the samples `X`, dense or CSR, without weights."""
        if isinstance(self.kernel, Kernel):
            return self.kernel.fit(X)
        self._gamma = 1.0 / X.shape[1] if isinstance(self.gamma, str) else self.gamma
        return self._named_kernel(self.kernel, X, np.ones(X.shape[0]))

    def _named_kernel(self, name: str, X: Any, weight: Vector) -> Kernel:
        """Return the kernel with this name; gamma="scale" uses the weighted variance."""
        if self.gamma == "scale" and X is not None:
            fraction, d = weight / weight.sum(), X.shape[1]
            mean = (X.T @ fraction).sum() / d
            if scipy.sparse.issparse(X):  # centring would make it dense
                variance = ((X * X).T @ fraction).sum() / d - mean**2
            else:
                variance = (((X - mean) ** 2).T @ fraction).sum() / d
            self._gamma = 1.0 / (d * variance) if variance > 0 else 1.0
        match name:
            case "precomputed":
                return Precomputed()
            case "linear":
                return Linear()
            case "rbf":
                return RBF(self._gamma)
            case "sigmoid":
                return Sigmoid(self._gamma, self.coef0)
            case _:
                return Polynomial(self.degree, self._gamma, self.coef0)

    def _dense_decision_function(self, X: Any) -> Any:
        """Return f (m, machines) for samples, or for values of a kernel without a name."""
        beta, values = self._dual_coef_.T, callable(self.kernel) or self.kernel == "precomputed"
        if self._pairs[0]:  # LIBSVM stores each pair in the rows of both classes
            of_class = np.repeat(np.arange(len(self._n_support)), self._n_support)
            pairs = [
                beta[:, j - 1] * (of_class == i) + beta[:, i] * (of_class == j)
                for i, j in self._pairs
            ]
            beta = np.column_stack(pairs)
        if self.kernel == "linear":
            return X @ (self.support_vectors_.T @ beta) + self._intercept_
        bound = None if values else self._kernel.bind(self.support_vectors_)
        f = np.empty((X.shape[0], beta.shape[1]))
        # kernel values computed at a time in predictions
        for start in range(0, len(f), step := max(1, 2**23 // max(1, len(beta)))):
            rows = X[start : start + step]
            K = rows[:, self.support_] if bound is None else bound.cross(rows, slice(None))
            f[start : start + step] = K @ beta + self._intercept_
        return f

    def _dense_predict(self, X: Any) -> Any:
        f = self._dense_decision_function(self._compute_kernel(X))
        if not self._pairs[0]:
            return f.ravel()
        votes = np.zeros((len(f), len(self.classes_)))
        for machine, (i, j) in enumerate(self._pairs):
            votes[:, i] += f[:, machine] > 0
            votes[:, j] += f[:, machine] <= 0
        return votes.argmax(axis=1)


@dataclass(eq=False, repr=False, kw_only=True)
class PairMachine(KernelMachine):
    """Base of the kernel classifiers: one machine per pair of classes, which vote."""

    probability: Any = svm.SVC().probability  # "deprecated" from scikit-learn 1.9 on
    class_weight: Any = None
    decision_function_shape: Any = "ovr"
    break_ties: Any = False
    random_state: Any = None

    def _validate_targets(self, y: Any) -> Any:
        """Return the index of each label's class as a float; scikit-learn raises the errors."""
        if type(y) is np.ndarray and y.ndim == 1 and y.size and self.class_weight is None:
            classes, indices = encode_labels(y)
            if classes.size > 1:
                self.classes_, self.class_weight_ = classes, np.ones(classes.size)
                return indices.astype(np.float64)
        return super()._validate_targets(y)  # type: ignore[misc]


def _matrices_of_pairs(
    gram: Gram, y: Vector, pairs: list[tuple[int, ...]]
) -> Callable[[int], Block]:
    """Return a function that computes the Gram matrix of the samples of the k-th pair of classes.

    Samples are sorted by their classes `y`. Values within a class, which are part of several matrices,
    are computed once.
    """
    ends = np.searchsorted(y, np.arange(y[-1] + 2))
    members = [slice(*pair) for pair in pairwise(ends)]

    @cache
    def within(i: int) -> Block:
        return gram.block(members[i], members[i])

    def matrix(k: int) -> Block:
        i, j = pairs[k]
        between = gram.block(members[i], members[j])
        size = len(between)
        K = np.empty((sum(between.shape),) * 2)
        K[:size, :size], K[:size, size:] = within(i), between
        K[size:, :size], K[size:, size:] = between.T, within(j)
        return K

    return matrix
