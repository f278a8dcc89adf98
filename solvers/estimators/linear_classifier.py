"""`LinearSVC`: linear support vector classification, each class against all others."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets

from problems import Formulation, SoftMarginDual, Vector
from problems.formulations.erm import WeightedERM
from problems.losses import Hinge, SquaredHinge
from problems.validation import check_choice
from solvers.estimators.linear_machine import LinearMachine
from solvers.estimators.samples import class_weights, encoded


@dataclass(eq=False, repr=False)
class LinearSVC(ClassifierMixin, LinearMachine):  # pyright: ignore[reportUntypedBaseClass]
    """Linear support vector classification, each class against all others: scikit-learn's `LinearSVC`.

    Parameters
    ----------
    penalty : "l2"; LIBLINEAR's "l1" is another problem, which no solver here takes.
    loss : "squared_hinge" or "hinge".
    dual : of squared losses: True is dual coordinate ascent, slow on features of very different sizes;
        False and "auto" Newton's method on w, as is True with an intercept that is not regularised. The
        hinge has dual methods only.
    tol : of the hinge, the maximal violation in the dual, see `refine`;
        of squared losses, a million times the relative gain of the last Newton step (above 2000
        features, the mean size of its entries), or the relative gap of dual coordinate ascent.
    C : weight of the losses, above 0.
    multi_class : "ovr"; the joint objective of Crammer and Singer is another problem.
    fit_intercept, intercept_scaling : whether there is an intercept, and the value of its feature, by
        whose weight it is regularised; inf for an intercept that is not.
    class_weight : dict of weights, "balanced" (which counts samples with their weights), or None. Of
        more than two classes a class's weight counts in its own problem, as in LIBLINEAR.
    verbose, callback : as of `SVC`.
    refine : whether with the hinge problems of up to 1000 samples are solved to a millionth of `tol`.
    warm_start : begin where the last fit ended: with the hinge if it was on as many samples.
    random_state : seed of solvers that draw; None is 0.
    max_iter : of each problem, in the solver's own count: epochs or Newton steps.
    solver : a `Solver`, used as it is; the name of one, which takes what it has of `tol`, `max_iter`
        and the seed; None for the defaults above: up to 1000 samples,
        and with squared losses up to a Hessian of some milliseconds, in one compiled call.

    Attributes
    ----------
    coef_ (1 or K, d), intercept_ (1 or K,), classes_, n_iter_, n_features_in_, feature_names_in_ :
        as in scikit-learn.
    certificate_ : see `CertifiedEstimator`.
    """

    penalty: Any = "l2"
    loss: Any = "squared_hinge"
    _: KW_ONLY
    multi_class: Any = "ovr"
    class_weight: Any = None

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> LinearSVC:
        """Fit to samples `X` (n, d), dense or sparse, and labels `y` (n,).

        Raises
        ------
        ValueError
            If an argument or a parameter is not usable, or the solver gives no answer.
        """
        self._refuse_other_problems()
        check_choice(self.loss, "loss", ("squared_hinge", "hinge"))
        squared = self.loss == "squared_hinge"
        samples, targets, weights = self._checked(X, y, sample_weight)
        check_classification_targets(targets)
        self.classes_, labels = encoded(targets)
        balance = class_weights(self.class_weight, self.classes_, labels, weights.values)
        C, loss = self.C * weights.values, SquaredHinge() if squared else Hinge()
        ys: list[Vector] = []
        Cs: list[Vector] = []
        for k in [1] if self.classes_.size == 2 else range(self.classes_.size):
            is_class = labels == k
            # the others have weight 1 if they are several, as in LIBLINEAR
            others = balance[0] if balance.size == 2 else 1.0
            ys.append(np.where(is_class, 1.0, -1.0))
            Cs.append(C * np.where(is_class, balance[k], others))
        self.coef_ = self._fit_machines(samples, loss, ys, Cs)
        return self

    def _refuse_other_problems(self) -> None:
        if self.penalty != "l2":
            raise ValueError(
                f"penalty: must be 'l2', got {self.penalty!r}; with the l1 norm it is no support "
                "vector machine with a kernel, and no solver here takes it: use scikit-learn's "
                "LinearSVC(penalty='l1')"
            )
        if self.multi_class != "ovr":
            raise ValueError(
                f"multi_class: must be 'ovr', got {self.multi_class!r}; for 'crammer_singer' use "
                "scikit-learn's LinearSVC"
            )

    def _problem(self, X: Any, y: Vector, C: Vector, loss: Any) -> Formulation:
        if loss.is_smooth:
            return WeightedERM(X, y, C, loss, intercept=self._is_free)
        return SoftMarginDual(X, y, C, intercept=self._is_free)

    def decision_function(self, X: Any) -> Any:
        """Return wᵀx + b, shape (m,) for two classes (above 0 for the second), else (m, K)."""
        scores = self._scores(X)
        return scores.ravel() if self.classes_.size == 2 else scores

    def predict(self, X: Any) -> Any:
        """Return the class of each row of `X`, shape (m,)."""
        scores = self.decision_function(X)
        winners = (scores > 0).astype(np.intp) if scores.ndim == 1 else scores.argmax(axis=1)
        return self.classes_[winners]
