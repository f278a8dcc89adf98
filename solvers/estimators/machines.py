"""Kernel machines: scikit-learn's own, with LIBSVM's training replaced.

Parameters, validation, class weights, decision functions, `coef_` and tags are inherited; overridden
are the hooks in which scikit-learn hands arrays to LIBSVM (`_dense_fit` and `_sparse_fit`; of
predictions those for dense samples, as products of matrices take less time), and `_compute_kernel`, as
a kernel of this package is a function to scikit-learn.
"""

from __future__ import annotations

from abc import abstractmethod
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
from problems.dataset import check_samples
from problems.gram.threads import Threads
from problems.kernels import Block, as_dense
from solvers.estimators.certified import (
    SHARPER,
    SMALL,
    Answer,
    Certified,
    Posed,
    by_pairs,
    check_class_weights,
    positive_weights,
)
from solvers.running.defaults import default_solver
from solvers.smo import SMO

_WHOLE = 5000  # samples of all classes, whose Gram matrix takes 200 MB
_PREDICTED = 2**23  # kernel values at a time in predictions
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
    def _posed(self, y: Vector, weight: Vector) -> tuple[type[Formulation], dict[str, Any]]:
        """Return the class of the problem, and its fields besides the samples, y and the kernel."""

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
        self._warn_from_fit_status()

    def _sparse_fit(self, X: Any, y: Any, sample_weight: Any, solver_type: int, kernel: str,
                    random_seed: int) -> None:  # fmt: skip
        X.sort_indices()
        self._probA = self._probB = np.empty(0)
        if self._calibrates:
            super()._sparse_fit(X, y, sample_weight, solver_type, kernel, random_seed)
        self._train(X, y, sample_weight, kernel)
        self._warn_from_fit_status()
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
            K[:, self.support_] = self._kernel.bind(self._samples).cross(X, slice(None))
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
        """Solve the problem of each machine, and set what LIBSVM sets."""
        if not isinstance(self.kernel, Kernel):
            self._kernel = self._named_kernel(kernel, X, sample_weight)
        kept, weight = positive_weights(sample_weight, X.shape[0])
        order, y, weight, classes = self._by_class(y[kept], weight, X.shape[0])
        kept = kept[order]
        gram = isinstance(self._kernel, Precomputed)
        samples, problems = check_samples(X[kept][:, kept] if gram else X[kept]), list[Posed]()
        machines = self._machines(len(classes))
        places = [[classes[k] for k in machine] for machine in machines]
        for place in places:
            rows, target = slice(None), y
            if place[1:]:  # the second class is on the positive side, as in decisions on two
                rows = np.concatenate([np.arange(part.start, part.stop) for part in place])
                target = np.repeat([-1.0, 1.0], [part.stop - part.start for part in place])
            formulation, how = self._posed(target, weight[rows])
            how = {"y": target, "kernel": self._kernel, **how}
            problems.append(partial(_problem, formulation, how, samples, rows, gram))
        self._kernel.check(samples)
        answers = self._answered(samples, problems, places)
        if not all(answer.margin > 0 for answer in answers):
            raise ValueError("nu: leaves no margin between the classes; use a smaller nu")
        self._keep(problems, answers)
        duals = np.zeros((max(1, len(classes) - 1), kept.size))
        for machine, place, answer in zip(machines, places, answers, strict=True):
            alpha = answer.point.alpha / answer.margin
            if place[1:]:  # LIBSVM has the first class on the positive side
                size = place[0].stop - place[0].start
                duals[machine[1] - 1, place[0]] = alpha[:size]
                duals[machine[0], place[1]] = -alpha[size:]
            else:
                duals[0] = alpha
        support = np.flatnonzero(duals.any(axis=0))
        self.support_, self.dual_coef_ = kept[support].astype(np.int32), duals.take(support, axis=1)
        ends = [0, *(part.stop for part in classes), kept.size][: max(3, len(classes) + 1)]
        self._n_support = np.diff(np.searchsorted(support, ends)).astype(np.int32)
        self._samples = self.support_vectors_ = np.empty((0, 0))
        if not gram:
            self._samples = X[self.support_]
            if self._sparse or isinstance(X, np.ndarray):
                self.support_vectors_ = self._samples
        sign = -1.0 if classes[1:] else 1.0
        self.intercept_ = np.array([sign * (a.point.b or 0.0) / a.margin for a in answers])
        self._num_iter = np.array([answer.iterations for answer in answers], np.int32)
        self.fit_status_ = int(not all(answer.converged for answer in answers))

    def _by_class(
        self, y: Vector, weight: Vector, n: int
    ) -> tuple[Any, Vector, Vector, list[slice]]:
        """Return the order of the samples, y, weights of losses and classes in that order."""
        return slice(None), y, weight, [slice(0, y.size)]

    def _machines(self, classes: int) -> list[tuple[int, ...]]:
        """Return the classes of each machine: of a pair, or the one class of all samples."""
        return list(combinations(range(classes), 2)) or [(0,)]

    def _answered(
        self, X: Matrix, problems: list[Posed], places: list[list[slice]]
    ) -> list[Answer]:
        """Solve the problems, each on the samples at its places in `X`: if small, by its part of K."""
        found: list[Answer | None] = [None] * len(problems)
        sizes = [sum(part.stop - part.start for part in place) for place in places]
        starts = [self._start(at, problem) for at, problem in enumerate(problems)]
        if self._is_quick and min(sizes) <= SMALL:
            solver = self._chosen(SMO)
            with Threads().limited(1):  # several wait for each other longer than they work
                K = Gram(X, self._kernel).dense() if X.shape[0] <= _WHOLE else None
                for at, place in enumerate(places):
                    problem = problems[at]() if sizes[at] <= SMALL else None
                    if problem is not None and problem.is_bounded:
                        own = problem.gram().dense() if K is None else K
                        if K is not None and place[1:]:  # np.block takes longer
                            rows = [np.concatenate([K[p, q] for q in place], 1) for p in place]
                            own = np.concatenate(rows)
                        fine = solver.tol * (SHARPER if self.refine else 1.0)
                        limits = solver.tol, fine, solver.max_iter
                        found[at] = by_pairs(problem, own, starts[at], *limits)
        for at, problem in enumerate(problems):
            if found[at] is None:
                posed, tried = problem(), self._is_quick and sizes[at] <= SMALL
                solver = self._solver_for(posed, starts[at], tried or sizes[at] > SMALL)
                found[at] = self._by_solver(posed, solver, starts[at])
        return [answer for answer in found if answer is not None]

    def _solver_for(self, problem: Formulation, start: Any, hard: bool) -> Any:
        """Return SMO, or what `solve` picks where a problem is not easy."""
        look = problem.is_linear or (start is None and self.max_iter == -1)
        look &= hard and self.solver is None and not problem.costs.any()
        return self._chosen(type(default_solver(problem)) if look else SMO)

    def _dense_decision_function(self, X: Any) -> Any:
        """Return f (m, machines) of samples, or of values of a kernel that is no name."""
        beta, values = self._coefficients(), callable(self.kernel) or self.kernel == "precomputed"
        if self.kernel == "linear":
            return X @ (self._samples.T @ beta) + self._intercept_
        bound = None if values else self._kernel.bind(self._samples)
        f = np.empty((X.shape[0], beta.shape[1]))
        for start in range(0, len(f), step := max(1, _PREDICTED // max(1, len(beta)))):
            rows = X[start : start + step]
            K = rows[:, self.support_] if bound is None else bound.cross(rows, slice(None))
            f[start : start + step] = K @ beta + self._intercept_
        return f

    def _coefficients(self) -> Block:
        """Return LIBSVM's β of the support vectors, shape (support vectors, machines)."""
        return self._dual_coef_.T

    def _dense_predict(self, X: Any) -> Any:
        return self._dense_decision_function(self._compute_kernel(X)).ravel()


@dataclass(eq=False, repr=False, kw_only=True)
class PairMachine(KernelMachine):  # pyright: ignore[reportUntypedBaseClass]
    """Base of the classifiers with a kernel: a machine for each pair of classes, which vote."""

    probability: Any = svm.SVC().probability  # "deprecated" from scikit-learn 1.9 on
    class_weight: Any = None
    decision_function_shape: Any = "ovr"
    break_ties: Any = False
    random_state: Any = None

    def _by_class(
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

    def _coefficients(self) -> Block:
        dual, ends = self._dual_coef_, np.cumsum([0, *self._n_support]).tolist()
        pairs = self._machines(self.classes_.size)
        beta = np.zeros((dual.shape[1], len(pairs)))
        of_class = [slice(*ends) for ends in pairwise(ends)]
        for at, (i, j) in enumerate(pairs):
            beta[of_class[i], at] = dual[j - 1, of_class[i]]
            beta[of_class[j], at] = dual[i, of_class[j]]
        return beta

    def _dense_predict(self, X: Any) -> Any:
        first = self._dense_decision_function(self._compute_kernel(X)) > 0
        votes = np.zeros((len(first), self.classes_.size))
        for at, (i, j) in enumerate(self._machines(self.classes_.size)):
            votes[:, i] += first[:, at]
            votes[:, j] += ~first[:, at]
        return votes.argmax(axis=1)


def _problem(
    formulation: type[Formulation], how: Any, X: Any, rows: Any, gram: bool
) -> Formulation:
    """Return the problem of some of the samples; a Gram matrix has them as columns too.

    All that it is made of was checked, which would take as long again as solving a small problem.
    """
    made = object.__new__(formulation)
    vars(made).update(how, X=X[rows][:, rows] if gram else X[rows])
    return made


def _variance(X: Any, weight: Vector) -> float:
    """Return the variance of all entries of `X`, with weighted rows, as gamma="scale" wants it."""
    share = weight / (weight.sum() * X.shape[1])
    mean = float(share @ np.ravel(X.sum(axis=1)))
    if scipy.sparse.issparse(X):
        return float(share @ np.ravel(X.multiply(X).sum(axis=1))) - mean**2
    return float(share @ ((X - mean) ** 2).sum(axis=1))
