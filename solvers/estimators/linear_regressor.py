"""`LinearSVR`: linear support vector regression."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import RegressorMixin

from problems import Formulation, SVRDual, Vector
from problems.formulations.erm import WeightedERM
from problems.losses import EpsilonInsensitive, SquaredEpsilonInsensitive
from problems.validation import check_choice, check_positive
from solvers.estimators.linear_machine import LinearMachine


@dataclass(eq=False, repr=False, kw_only=True)
class LinearSVR(RegressorMixin, LinearMachine):  # pyright: ignore[reportUntypedBaseClass]
    """Linear support vector regression: scikit-learn's `LinearSVR`, certified.

    Parameters
    ----------
    epsilon : half-width of the tube, 0 or above.
    loss : "epsilon_insensitive" or "squared_epsilon_insensitive".
    tol, C, fit_intercept, intercept_scaling, dual, verbose, random_state, max_iter, solver, refine,
    warm_start, callback : as of `LinearSVC`.

    Attributes
    ----------
    coef_ (d,), intercept_ (1,), n_iter_, n_features_in_, feature_names_in_ : as in scikit-learn.
    certificate_ : see `CertifiedEstimator`.
    """

    epsilon: Any = 0.0
    loss: Any = "epsilon_insensitive"

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> LinearSVR:
        """Fit to samples `X` (n, d), dense or sparse, and targets `y` (n,).

        Raises
        ------
        ValueError
            If an argument or a parameter is not usable, or the solver gives no answer.
        """
        epsilon = check_positive(self.epsilon, "epsilon", zero=True)
        check_choice(self.loss, "loss", ("epsilon_insensitive", "squared_epsilon_insensitive"))
        samples, targets, weights = self._checked(X, y, sample_weight, y_numeric=True)
        C, squared = self.C * weights.values, self.loss == "squared_epsilon_insensitive"
        loss = SquaredEpsilonInsensitive(epsilon) if squared else EpsilonInsensitive(epsilon)
        targets = np.asarray(targets, dtype=np.float64)
        self.coef_ = self._fit_machines(samples, loss, [targets], [C])[0]
        return self

    def _problem(self, X: Any, y: Vector, C: Vector, loss: Any) -> Formulation:
        if loss.is_smooth:
            return WeightedERM(X, y, C, loss, intercept=self._is_free)
        return SVRDual(X, y, C, loss.epsilon, intercept=self._is_free)

    def predict(self, X: Any) -> Any:
        """Return wᵀx + b for the rows of `X`, shape (m,)."""
        return self._scores(X).ravel()
