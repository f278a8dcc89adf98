"""`SVC`: support vector classification with any kernel, one machine for each pair of classes."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin, clone
from sklearn.calibration import CalibratedClassifierCV
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
from problems.validation import check_choice, check_positive
from solvers.estimators.answers import warn_unless
from solvers.estimators.machine import KernelMachine
from solvers.estimators.samples import class_weights, encoded, subset


def _has_probabilities(estimator: Any) -> bool:
    return estimator.probability != "deprecated" and bool(estimator.probability)


@dataclass(eq=False, repr=False, kw_only=True)
class SVC(ClassifierMixin, KernelMachine):  # pyright: ignore[reportUntypedBaseClass]
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
    tol : maximal violating pair at which to stop. Up to 2000 samples a millionth of it is reached.
    cache_size : megabytes for kernel rows.
    class_weight : dict of weights, "balanced", or None.
    verbose : log each problem's solution (logger "solvers.estimators.answers", level INFO).
    max_iter : of each problem, in the solver's own count; -1 for the solver's own limit.
    decision_function_shape : "ovr" (m, K), or "ovo" (m, K(K − 1)/2), for more than two classes.
    break_ties : predict by the largest "ovr" value rather than by the votes alone.
    random_state : seed of solvers that draw; None is 0.
    solver : a `Solver`, used as it is; the name of one, which takes what it has of `tol`, `max_iter`,
        `cache_size`, `shrinking` and the seed; None for SMO, or dual coordinate descent where the
        kernel is linear.

    Attributes
    ----------
    support_, support_vectors_, n_support_, dual_coef_, coef_, intercept_ : in scikit-learn's layout.
    classes_, class_weight_, n_iter_, fit_status_, shape_fit_ : as in scikit-learn. Classes are those
        of samples with a positive weight.
    n_features_in_, feature_names_in_ : not for a function as kernel.
    certificate_ : see `CertifiedEstimator`.
    """

    probability: Any = "deprecated"
    class_weight: Any = None
    decision_function_shape: Any = "ovr"
    break_ties: Any = False
    random_state: Any = None

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> SVC:
        """Fit to samples `X` (n, d), dense or sparse (a Gram matrix (n, n)), and labels `y` (n,).

        Raises
        ------
        ValueError
            If an argument or a parameter is not usable, or the solver gives no answer.
        """
        if not np.array_equal(self.C, np.inf):
            check_positive(self.C, "C")
        check_choice(self.decision_function_shape, "decision_function_shape", ("ovr", "ovo"))
        check_choice(self.probability, "probability", (True, False, "deprecated"))
        samples, targets, weights = self._checked(X, y, sample_weight)
        check_classification_targets(targets)
        self.classes_, labels = encoded(targets)
        ones = np.ones(labels.size)
        self.class_weight_ = class_weights(self.class_weight, self.classes_, labels, ones)
        upper = self.C * self.class_weight_[labels] * weights.values
        self._kernel = self._kernel_for(samples, weights)
        beta, iterations = self._fit_pairs(check_samples(samples), labels, upper)
        order = np.argsort(labels, kind="stable")
        self._set_support(samples, beta, self._layout(beta, labels), order, weights)
        support_labels = np.sort(labels[np.searchsorted(weights.kept, self.support_)])
        self.n_support_ = np.bincount(support_labels, minlength=len(self.classes_)).astype(np.int32)
        self.n_iter_ = np.array(iterations, dtype=np.int32)
        warn_unless(self.fit_status_ == 0, self.max_iter)
        self._fit_probabilities(X, y, sample_weight)
        return self

    def _fit_pairs(self, X: Any, labels: Any, upper: Any) -> tuple[Block, list[int]]:
        """Solve the problem of each pair; return β of the machines (pairs, n), and iterations."""
        classes, solver = len(self.classes_), self._solver()
        # the pairs and the vote depend on the classes alone: one sample of each stands for them
        self._machines = OneVsOne(np.eye(classes), np.arange(classes, dtype=np.float64))
        # of two classes scikit-learn has the second on the positive side
        signs = self._machines.signs[labels] * (1.0 if classes > 2 else -1.0)
        beta, self.fit_status_ = np.zeros(signs.T.shape), 0
        self._forget()
        intercepts: list[float] = []
        iterations: list[int] = []
        for machine, sign in zip(beta, signs.T, strict=True):
            rows = np.flatnonzero(sign)
            problem = partial(_problem, X, rows, sign[rows], upper[rows], self._kernel)
            answer = self._answer(problem, solver)
            assert answer.point.alpha is not None
            assert answer.point.b is not None
            machine[rows] = sign[rows] * answer.point.alpha
            intercepts.append(float(answer.point.b))
            iterations.append(max(1, answer.iterations))
            self.fit_status_ |= not answer.converged
        self.intercept_ = np.array(intercepts)
        return beta, iterations

    def _layout(self, beta: Block, labels: Any) -> Block:
        """Return LIBSVM's layout (K − 1, n) of β (pairs, n) (Chang & Lin 2011, section 7).

        Row j − 1 holds the β of class i's samples against class j, row i those of class j's against i.
        """
        duals = np.zeros((len(self.classes_) - 1, labels.size))
        for machine, (i, j) in zip(beta, combinations(range(len(self.classes_)), 2), strict=True):
            duals[j - 1, labels == i] = machine[labels == i]
            duals[i, labels == j] = machine[labels == j]
        return duals

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
            raise ValueError("break_ties: must be False when decision_function_shape is 'ovo'")
        decisions = self._values(X)
        if count == 2:
            return self.classes_[(decisions.ravel() >= 0).astype(np.intp)]
        if self.break_ties:
            scores = self._machines.combine(decisions)
        else:  # a decision of exactly 0 is for the second class, as LIBSVM has it
            scores = self._machines.votes(np.where(decisions > 0, 1.0, -1.0))
        return self.classes_[np.argmax(scores, axis=1)]

    def _fit_probabilities(self, X: Any, y: Any, sample_weight: Any) -> None:
        if self.probability == "deprecated":
            return
        warnings.warn(
            "probability: is deprecated, as in scikit-learn 1.9; use "
            "CalibratedClassifierCV(SVC(), ensemble=False)",
            FutureWarning,
            stacklevel=3,
        )
        if self.probability:
            plain = clone(self).set_params(probability="deprecated")
            calibrated = CalibratedClassifierCV(plain, ensemble=False)
            self._calibrated = calibrated.fit(X, y, sample_weight=sample_weight)

    @available_if(_has_probabilities)
    def predict_proba(self, X: Any) -> Any:
        """Return the probability of each class, shape (m, K); only after probability=True."""
        check_is_fitted(self)
        return self._calibrated.predict_proba(X)

    @available_if(_has_probabilities)
    def predict_log_proba(self, X: Any) -> Any:
        """Return the logarithm of `predict_proba`."""
        return np.log(self.predict_proba(X))


def _problem(X: Matrix, rows: Indices, y: Vector, C: Vector, kernel: Kernel) -> Formulation:
    X = subset(X, rows, isinstance(kernel, Precomputed))
    if np.isinf(C).any():
        return HardMarginDual(X, y, kernel)
    return SoftMarginDual(X, y, C, kernel)
