"""Kernel machines: scikit-learn's own, with LIBSVM's training replaced.

Parameters, validation, class weights, prediction, decision functions, `coef_` and tags are inherited;
overridden the two hooks in which scikit-learn hands arrays to LIBSVM, `_dense_fit` and `_sparse_fit`,
and `_compute_kernel`, as a kernel of this package is a function to scikit-learn.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations, pairwise
from typing import Any

import numpy as np
import scipy
from sklearn import svm
from sklearn.svm._base import BaseLibSVM
from sklearn.utils.validation import _num_samples, validate_data

from problems import (
    RBF,
    BoxQP,
    Kernel,
    Linear,
    Matrix,
    Polynomial,
    Precomputed,
    Sigmoid,
    Vector,
    reduce,
)
from problems.dataset import check_samples
from problems.gram.threads import Threads
from problems.kernels import as_dense
from solvers.dual_coordinate_descent import DualCoordinateDescent
from solvers.estimators.certified import Certified, check_class_weights, positive_weights
from solvers.estimators.small import SHARPER, SMALL, Answer, Task, shared_gram, small_answer
from solvers.semismooth_newton import SemismoothNewton
from solvers.smo import SMO

# samples of one machine: rows of LIBSVM's matrix of β, and the part of the samples in each
Place = Sequence[tuple[int, slice]]
_SAMPLES: Any = {"dtype": np.float64, "order": "C", "accept_sparse": "csr"}


@dataclass(eq=False, repr=False, kw_only=True)
class KernelMachine(Certified, BaseLibSVM):  # pyright: ignore[reportUntypedBaseClass]
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

    # what scikit-learn reads of all machines, and is no parameter of some
    C = nu = epsilon = 0.0
    class_weight = random_state = None
    probability = warm_start = False
    fit_intercept = True

    @abstractmethod
    def _task(self, samples: Callable[[], Matrix], y: Vector, weight: Vector, last: Any) -> Task:
        """Return the problem of some samples with their weights; `last` is β of the last fit."""

    def __sklearn_tags__(self) -> Any:
        """State that a Gram matrix is split along both axes."""
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise |= isinstance(self.kernel, Precomputed)
        return tags

    def _dense_fit(self, X: Any, y: Any, sample_weight: Any, solver_type: int, kernel: str,
                   random_seed: int) -> None:  # fmt: skip
        given = X
        if isinstance(self.kernel, Kernel):
            X = validate_data(self, X, **_SAMPLES)
            self._kernel = self.kernel.fit(check_samples(X))
        elif callable(self.kernel):
            self._X_fit = X
            X = self._compute_kernel(X)
        self._probA = self._probB = np.empty(0)
        if self._calibrates:
            self._samples, self.support_, self.shape_fit_ = X, np.arange(X.shape[0]), X.shape
            super()._dense_fit(given, y, sample_weight, solver_type, kernel, random_seed)
        self._train(X, y, sample_weight, kernel)

    def _sparse_fit(self, X: Any, y: Any, sample_weight: Any, solver_type: int, kernel: str,
                    random_seed: int) -> None:  # fmt: skip
        X.sort_indices()
        self._probA = self._probB = np.empty(0)
        if self._calibrates:
            super()._sparse_fit(X, y, sample_weight, solver_type, kernel, random_seed)
        self._train(X, y, sample_weight, kernel)
        data, (rows, columns) = self.dual_coef_.ravel(), self.dual_coef_.shape
        order = np.tile(np.arange(columns, dtype=np.int32), rows)  # LIBSVM reads the data alone
        ends = columns * np.arange(rows + 1, dtype=np.int32)
        self.dual_coef_ = type(X)((data, order, ends), shape=(rows, columns))

    @property
    def _calibrates(self) -> bool:
        """Whether Platt's sigmoids are wanted, which are LIBSVM's."""
        return self.probability not in (False, "deprecated")

    def _compute_kernel(self, X: Any) -> Any:
        """Return `X`, or values of a kernel that is no name between `X` and the training samples."""
        if isinstance(self.kernel, Kernel):
            X = validate_data(self, X, reset=False, **_SAMPLES)
            if isinstance(self.kernel, Precomputed):
                return X
            K = np.zeros((X.shape[0], self.shape_fit_[0]))
            K[:, self.support_] = self._kernel.cross(X, self._samples, slice(None))
            return K
        if not callable(self.kernel):
            return X
        m, n = _num_samples(X), _num_samples(self._X_fit)
        K = as_dense(self.kernel(X, self._X_fit))
        if K.shape != (m, n):
            raise ValueError(
                f"kernel: the function must return an array of {m} × {n} numbers for {m} and {n} "
                f"samples, got shape {K.shape}"
            )
        if not np.isfinite(K).all():
            raise ValueError("kernel: the function returned NaN or infinite values")
        return np.ascontiguousarray(K, dtype=np.float64)

    def _named_kernel(self, name: str, X: Any, sample_weight: Any) -> Kernel:
        """Return the kernel of a name; for "scale" a sample counts as often as its weight says."""
        if name == "precomputed":
            return Precomputed()
        if name == "linear":
            return Linear()
        if self.gamma == "scale" and np.size(sample_weight):
            kept, weight = positive_weights(sample_weight, X.shape[0])
            spread = X.shape[1] * _variance(X[kept], weight)
            self._gamma = 1.0 / spread if spread > 0 else 1.0
        if name == "rbf":
            return RBF(self._gamma)
        if name == "sigmoid":
            return Sigmoid(self._gamma, self.coef0)
        return Polynomial(self.degree, self._gamma, self.coef0)

    def _train(self, X: Any, y: Vector, sample_weight: Any, kernel: str) -> None:
        """Solve each problem, and set what LIBSVM sets."""
        if not isinstance(self.kernel, Kernel):
            self._kernel = self._named_kernel(kernel, X, sample_weight)
        gram = isinstance(self._kernel, Precomputed)
        kept, weight = positive_weights(sample_weight, X.shape[0])
        order, y, weight, parts = self._arranged(y[kept], weight, X.shape[0])
        kept = kept[order]
        samples = check_samples(_subset(X, kept, gram))
        places: list[Place] = [[(0, parts[0])]]
        if isinstance(self, PairMachine):
            pairs = combinations(range(len(parts)), 2)
            places = [[(j - 1, parts[i]), (i, parts[j])] for i, j in pairs]
        # of two classes scikit-learn has the second on the positive side, and turns LIBSVM's signs
        flip = -1.0 if isinstance(self, PairMachine) and len(parts) == 2 else 1.0
        tasks: list[Task] = []
        for at, place in enumerate(places):
            rows = np.concatenate([np.arange(part.start, part.stop) for _, part in place])
            target = flip * np.where(y[rows] == y[rows[0]], 1.0, -1.0) if place[1:] else y[rows]
            own = partial(_subset, samples, rows, gram)
            tasks.append(self._task(own, target, weight[rows], self._last(at, rows.size)))
        answers = self._answered(samples, tasks, [[part for _, part in place] for place in places])
        self._keep(tasks, answers)
        duals = np.zeros((max(1, len(parts) - 1), kept.size))
        for place, task, answer in zip(places, tasks, answers, strict=True):
            beta = flip / answer.margin * task.signs * answer.point.alpha
            for row, part in place:
                size = part.stop - part.start
                duals[row, part], beta = beta[:size], beta[size:]
        support = np.flatnonzero(duals.any(axis=0))
        self.support_, self.dual_coef_ = kept[support].astype(np.int32), duals.take(support, axis=1)
        ends = [0, *(part.stop for part in parts), kept.size][: max(3, len(parts) + 1)]
        self._n_support = np.diff(np.searchsorted(support, ends)).astype(np.int32)
        self._samples = self.support_vectors_ = np.empty((0, 0))
        if not gram:
            self._samples = X[self.support_]
            if self._sparse or isinstance(X, np.ndarray):
                self.support_vectors_ = self._samples
        self.intercept_ = np.array([flip * float(a.point.b or 0.0) / a.margin for a in answers])
        self._num_iter = np.array([answer.iterations for answer in answers], np.int32)
        self.fit_status_ = int(not all(answer.converged for answer in answers))
        self._warn_from_fit_status()

    def _arranged(
        self, y: Vector, weight: Vector, n: int
    ) -> tuple[Any, Vector, Vector, list[slice]]:
        """Return the order of the samples, then y, weights of losses and classes in that order."""
        return slice(None), y, weight, [slice(0, y.size)]

    def _answered(self, X: Matrix, tasks: list[Task], places: list[list[slice]]) -> list[Answer]:
        """Solve the tasks, each on the samples at its places in `X`."""
        found: list[Answer | None] = [None] * len(tasks)
        if self._is_quick and any(task.is_small for task in tasks):
            solver = self._chosen(SMO)
            limits = solver.tol, solver.tol * (SHARPER if self.refine else 1.0), solver.max_iter
            with Threads().limited(1):  # several wait for each other longer than they work
                among = shared_gram(X, self._kernel)
                for at, (task, place) in enumerate(zip(tasks, places, strict=True)):
                    if task.is_small:
                        found[at] = small_answer(task, among(place), *limits)
        return [
            answer or self._by_solver(task, self._solver_for(task))
            for answer, task in zip(found, tasks, strict=True)
        ]

    def _solver_for(self, task: Task) -> Any:
        """Return the solver: with a linear kernel coordinate descent where a problem is not easy."""
        hard = task.y.size > SMALL or (self._is_quick and task.is_small)  # was tried in one call
        if isinstance(self._kernel, Linear) and not task.sums and hard:
            return self._chosen(DualCoordinateDescent)
        solver = self._chosen(SMO)
        if self.solver is not None or self.max_iter != -1 or task.sums or task.start is not None:
            return solver
        problem = task.problem()
        newton = SemismoothNewton(tol=solver.tol, cache_size=solver.cache_size)
        suits = not problem.is_linear and newton.suits(reduce(problem, BoxQP).form)
        return newton if suits else solver


@dataclass(eq=False, repr=False, kw_only=True)
class PairMachine(KernelMachine):  # pyright: ignore[reportUntypedBaseClass]
    """Base of the classifiers with a kernel: a machine for each pair of classes, which vote."""

    probability: Any = svm.SVC().probability  # "deprecated" from scikit-learn 1.9 on
    class_weight: Any = None
    decision_function_shape: Any = "ovr"
    break_ties: Any = False
    random_state: Any = None

    def _arranged(
        self, y: Vector, weight: Vector, n: int
    ) -> tuple[Any, Vector, Vector, list[slice]]:
        """Sort the samples by their classes, and weight them; classes are those of samples kept."""
        if y.size < n:
            if np.unique(y).size == 1:
                raise ValueError(
                    "sample_weight: Invalid input - all samples with positive weights belong to the "
                    "same class"
                )
            y = self._validate_targets(self.classes_[y.astype(np.intp)])
        check_class_weights(self.class_weight_, self.class_weight)
        order = np.argsort(y, kind="stable")
        y, weight = y[order], weight[order]
        ends = np.searchsorted(y, np.arange(self.classes_.size + 1)).tolist()
        of_class = [slice(*ends) for ends in pairwise(ends)]
        return order, y, weight * self.class_weight_[y.astype(np.intp)], of_class


def _subset(X: Any, rows: Any, gram: bool = False) -> Any:
    """Return some rows of the samples, of a Gram matrix the same columns too."""
    return X[rows][:, rows] if gram else X[rows]


def _variance(X: Any, weight: Vector) -> float:
    """Return the variance of all entries of `X`, with weighted rows, as gamma="scale" wants it."""
    share = weight / (weight.sum() * X.shape[1])
    mean = float(share @ np.ravel(X.sum(axis=1)))
    if scipy.sparse.issparse(X):
        return float(share @ np.ravel(X.multiply(X).sum(axis=1))) - mean**2
    return float(share @ ((X - mean) ** 2).sum(axis=1))
