"""`SVC`: support vector classification with any kernel, one machine for each pair of classes."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from dataclasses import dataclass
from functools import partial
from itertools import combinations, pairwise
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.exceptions import NotFittedError
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from problems import (
    Formulation,
    HardMarginDual,
    Kernel,
    Matrix,
    OneVsOne,
    Precomputed,
    SoftMarginDual,
    Vector,
)
from problems.dataset import Indices, check_samples
from problems.kernels import Block
from problems.validation import check_choice, check_positive, check_switch
from solvers.estimators.answers import Answer, Task, warn_unless, within
from solvers.estimators.machine import KernelMachine
from solvers.estimators.samples import Weights, class_weights, encoded, subset, taken

_FOLDS = 5  # of the calibration, where each class has as many samples


def _has_probabilities(estimator: Any) -> bool:
    return estimator.probability != "deprecated" and bool(estimator.probability)


@dataclass(eq=False, repr=False, kw_only=True)
class PairClassifier(ClassifierMixin, KernelMachine):  # pyright: ignore[reportUntypedBaseClass]
    """Base of the classifiers with a kernel: a machine for each pair of classes, which vote."""

    probability: Any = "deprecated"
    class_weight: Any = None
    decision_function_shape: Any = "ovr"
    break_ties: Any = False
    random_state: Any = None

    def _fit(self, X: Any, y: Any, sample_weight: Any, scale: float) -> None:
        """Fit the machines of all pairs, with `scale` times their weights for the samples."""
        check_choice(self.decision_function_shape, "decision_function_shape", ("ovr", "ovo"))
        check_choice(self.probability, "probability", (True, False, "deprecated"))
        samples, targets, weights = self._checked(X, y, sample_weight)
        check_classification_targets(targets)
        self.classes_, labels = encoded(targets)
        ones = np.ones(labels.size)
        self.class_weight_ = class_weights(self.class_weight, self.classes_, labels, ones)
        self._kernel = self._kernel_for(samples, weights)
        order = np.argsort(labels, kind="stable")  # from here on the samples are class by class
        labels, weights = labels[order], Weights(weights.kept[order], weights.values[order])
        samples = taken(samples, order, self._gram_given)
        upper = scale * self.class_weight_[labels] * weights.values
        beta, answers = self._fit_pairs(
            check_samples(samples), labels, upper, self._last_beta(weights.kept, scale)
        )
        self.intercept_ = np.array([answer.scale * answer.b for answer in answers])
        self._set_support(samples, beta, self._layout(beta, labels), weights)
        self.n_support_ = np.bincount(labels[self._support], minlength=self.classes_.size).astype(
            np.int32
        )
        self.n_iter_ = np.array([max(1, answer.iterations) for answer in answers], dtype=np.int32)
        self.fit_status_ = int(not all(answer.converged for answer in answers))
        warn_unless(self.fit_status_ == 0, self.max_iter)
        self._fit_probabilities(X, y, sample_weight)

    @abstractmethod
    def _task(self, X: Matrix, rows: Indices, y: Vector, C: Vector, last: Vector | None) -> Task:
        """Return the problem of one pair: samples `rows` of `X`, labels `y` and weights `C`."""

    def _fit_pairs(
        self, X: Any, labels: Any, upper: Any, last: Block | None
    ) -> tuple[Block, list[Answer]]:
        """Solve the problem of each pair of classes; return β (pairs, n), and the answers."""
        ends = np.searchsorted(labels, np.arange(self.classes_.size + 1))
        of_class = [slice(int(start), int(end)) for start, end in pairwise(ends)]
        places = [list(pair) for pair in combinations(of_class, 2)]
        # of two classes scikit-learn has the second on the positive side
        signs = (-1.0, 1.0) if len(places) == 1 else (1.0, -1.0)
        tasks: list[Task] = []
        for machine, (first, second) in enumerate(places):
            rows = np.r_[first, second]
            y = np.repeat(signs, [first.stop - first.start, second.stop - second.start])
            own = None if last is None or machine >= len(last) else last[machine, rows]
            tasks.append(self._task(X, rows, y, upper[rows], own))
        answers = self._solve(X, tasks, places)
        beta = np.zeros((len(places), labels.size))
        for machine, place, task, answer in zip(beta, places, tasks, answers, strict=True):
            machine[np.r_[*place]] = answer.scale * task.signs * answer.alpha
        return beta, answers

    def _layout(self, beta: Block, labels: Any) -> Block:
        """Return LIBSVM's layout (K − 1, n) of β (pairs, n) (Chang & Lin 2011, section 7).

        Row j − 1 holds the β of class i's samples against class j, row i those of class j's against i.
        """
        if len(beta) == 1:
            return beta
        duals = np.zeros((self.classes_.size - 1, labels.size))
        for machine, (i, j) in zip(beta, combinations(range(self.classes_.size), 2), strict=True):
            duals[j - 1, labels == i] = machine[labels == i]
            duals[i, labels == j] = machine[labels == j]
        return duals

    @property
    def _machines(self) -> OneVsOne:
        """How the pairs vote, which the classes alone decide: one sample of each stands for them."""
        classes = self.classes_.size
        return OneVsOne(np.eye(classes), np.arange(classes, dtype=np.float64))

    def decision_function(self, X: Any) -> Any:
        """Return f (m,) for two classes, above 0 for the second; else (m, K) or (m, K(K − 1)/2)."""
        decisions = self._values(X)
        if len(self.classes_) == 2:
            return decisions.ravel()
        if self.decision_function_shape == "ovo":
            return decisions
        return self._machines.combine(decisions)

    def predict(self, X: Any) -> Any:
        """Return the class (m,) that wins most votes, the first of several."""
        check_is_fitted(self)
        count = len(self.classes_)
        if self.break_ties and self.decision_function_shape == "ovo":
            raise ValueError("break_ties must be False when decision_function_shape is 'ovo'")
        decisions = self._values(X)
        if count == 2:
            return self.classes_[(decisions.ravel() >= 0).astype(np.intp)]
        if self.break_ties:
            scores = self._machines.combine(decisions)
        else:  # a decision of exactly 0 is for the second class, as LIBSVM has it
            scores = self._machines.votes(np.where(decisions > 0, 1.0, -1.0))
        return self.classes_[np.argmax(scores, axis=1)]

    def _fit_probabilities(self, X: Any, y: Any, sample_weight: Any) -> None:
        self.__dict__.pop("_calibrated", None)
        if self.probability == "deprecated":
            return
        warnings.warn(
            "probability: the parameter is deprecated, as in scikit-learn 1.9; use "
            "CalibratedClassifierCV(SVC(), ensemble=False)",
            FutureWarning,
            stacklevel=3,
        )
        if self.probability:
            plain = clone(self).set_params(probability="deprecated")
            folds: Any = min(_FOLDS, int(np.unique(y, return_counts=True)[1].min()))
            if folds < 2:  # a class with one sample can be left out of no fit
                folds = [(every := np.arange(len(y)), every)]
            calibrated = CalibratedClassifierCV(plain, ensemble=False, cv=folds)
            self._calibrated = calibrated.fit(X, y, sample_weight=sample_weight)

    @available_if(_has_probabilities)
    def predict_proba(self, X: Any) -> Any:
        """Return the probability of each class, shape (m, K); only after probability=True."""
        check_is_fitted(self)
        if not hasattr(self, "_calibrated"):
            raise NotFittedError(
                "predict_proba is not available when fitted with probability=False; fit again with "
                "probability=True"
            )
        return self._calibrated.predict_proba(X)

    @available_if(_has_probabilities)
    def predict_log_proba(self, X: Any) -> Any:
        """Return the logarithm of `predict_proba`."""
        return np.log(self.predict_proba(X))


@dataclass(eq=False, repr=False, kw_only=True)
class SVC(PairClassifier):
    """Soft-margin support vector classification: scikit-learn's `SVC`, certified.

    Each pair of classes has its machine, min ½‖w‖² + Σ Cᵢ·max(0, 1 − yᵢ(wᵀφ(xᵢ) + b)) with
    Cᵢ = C·class weight·sample weight; they vote.

    Parameters
    ----------
    C : weight of the slacks, above 0; inf is the hard margin.
    kernel : "linear", "poly", "rbf", "sigmoid", "precomputed", a function of two matrices, or a
        kernel of `problems`, such as `RBF(0.1) + Linear()`.
    degree, gamma, coef0 : of the kernel, see `problems.kernels`. gamma="scale" is 1/(d·Var(X)),
        where a sample counts as often as its weight says; "auto" is 1/d.
    shrinking : for solvers that have it as a setting ("libsvm"); SMO always shrinks.
    probability : deprecated, as in scikit-learn: True fits `predict_proba` by `CalibratedClassifierCV`
        (ensemble=False), as its documentation recommends to do directly.
    tol : maximal violating pair at which to stop.
    refine : whether problems of up to 1000 samples are solved to a millionth of `tol`. That takes little
        longer, and weights of samples do exactly what repeating the samples does.
    cache_size : megabytes for kernel rows.
    class_weight : dict of weights, "balanced", or None.
    verbose : log the certified progress of each problem (logger "solvers.estimators.answers", level
        INFO): `logging.basicConfig(level=logging.INFO)` shows it.
    callback : called with each `solvers.Evaluation` while a problem is solved; its `certificate` says
        what the point is worth. With it or `verbose` small problems take some milliseconds more.
    fit_intercept : False for f(x) = wᵀφ(x), without b.
    warm_start : begin where the last fit ended, if it was on as many samples.
    max_iter : of each problem, in the solver's own count; -1 for the solver's own limit.
    decision_function_shape : "ovr" (m, K), or "ovo" (m, K(K − 1)/2), for more than two classes.
    break_ties : predict by the largest "ovr" value rather than by the votes alone.
    random_state : seed of solvers that draw; None is 0.
    solver : a `Solver`, used as it is; the name of one, which takes what it has of `tol`, `max_iter`,
        `cache_size`, `shrinking` and the seed; None for dual coordinate descent where the kernel is
        linear and there are more than 1000 samples, semismooth Newton where some rows of a larger
        K say that it is nearly its diagonal (and `max_iter` is -1), SMO for all others.

    Attributes
    ----------
    support_, support_vectors_, n_support_, dual_coef_, coef_, intercept_ : in scikit-learn's layout.
    classes_, class_weight_, n_iter_, fit_status_, shape_fit_ : as in scikit-learn. Classes are those
        of samples with a positive weight.
    n_features_in_, feature_names_in_ : not for a function as kernel.
    certificate_ : see `CertifiedEstimator`.
    """

    C: Any = 1.0
    fit_intercept: Any = True
    warm_start: Any = False

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> SVC:
        """Fit to samples `X` (n, d), dense or sparse (a Gram matrix (n, n)), and labels `y` (n,).

        Raises
        ------
        ValueError
            If an argument or a parameter is not usable, or the solver gives no answer.
        """
        if not np.array_equal(self.C, np.inf):
            check_positive(self.C, "C")
        self._fit(X, y, sample_weight, self.C)
        return self

    def _task(self, X: Matrix, rows: Indices, y: Vector, C: Vector, last: Vector | None) -> Task:
        intercept = check_switch(self.fit_intercept, "fit_intercept")
        problem = partial(_problem, X, rows, y, C, self._kernel, intercept)
        limits = np.minimum(y * C, 0.0), np.maximum(y * C, 0.0)
        start = None if last is None else within(last, *limits, intercept)
        return Task(problem, y, y, *limits, intercept=intercept, start=start)


def _problem(
    X: Matrix, rows: Indices, y: Vector, C: Vector, kernel: Kernel, intercept: bool
) -> Formulation:
    X = subset(X, rows, isinstance(kernel, Precomputed))
    if np.isinf(C).any():
        return HardMarginDual(X, y, kernel, intercept)
    return SoftMarginDual(X, y, C, kernel, intercept)
