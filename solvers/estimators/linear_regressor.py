"""`LinearSVR`: linear support vector regression."""

from __future__ import annotations

from typing import Any

from sklearn.base import RegressorMixin

from problems import SVRDual
from problems.formulations.erm import WeightedERM
from problems.losses import SquaredEpsilonInsensitive
from problems.validation import check_choice
from solvers.estimators.answers import warn_unless
from solvers.estimators.linear_machine import LinearMachine
from solvers.estimators.samples import check_number


class LinearSVR(RegressorMixin, LinearMachine):  # pyright: ignore[reportUntypedBaseClass]
    """Linear support vector regression: scikit-learn's `LinearSVR`, certified.

    Parameters
    ----------
    epsilon : half-width of the tube, 0 or above.
    loss : "epsilon_insensitive" or "squared_epsilon_insensitive".
    tol, C, fit_intercept, intercept_scaling, dual, verbose, random_state, max_iter, solver : as of
        `LinearSVC`.

    Attributes
    ----------
    coef_ (d,), intercept_ (1,), n_iter_, n_features_in_, feature_names_in_ : as in scikit-learn.
    certificate_ : see `CertifiedEstimator`.
    """

    def __init__(
        self,
        *,
        epsilon: Any = 0.0,
        tol: Any = 1e-4,
        C: Any = 1.0,
        loss: Any = "epsilon_insensitive",
        fit_intercept: Any = True,
        intercept_scaling: Any = 1.0,
        dual: Any = "auto",
        verbose: Any = 0,
        random_state: Any = None,
        max_iter: Any = 1000,
        solver: Any = None,
    ) -> None:
        self.epsilon = epsilon
        self.tol = tol
        self.C = C
        self.loss = loss
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.dual = dual
        self.verbose = verbose
        self.random_state = random_state
        self.max_iter = max_iter
        self.solver = solver

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> LinearSVR:
        """Fit to samples `X` (n, d), dense or sparse, and targets `y` (n,).

        Raises
        ------
        ValueError
            If an argument or a parameter is not usable, or the solver gives no answer.
        """
        epsilon = check_number(self.epsilon, "epsilon", zero=True)
        check_choice(self.loss, "loss", ("epsilon_insensitive", "squared_epsilon_insensitive"))
        samples, targets, weights = self._checked(X, y, sample_weight, y_numeric=True)
        C, squared = self.C * weights.values, self.loss == "squared_epsilon_insensitive"
        problem = (
            WeightedERM(samples, targets, C, SquaredEpsilonInsensitive(epsilon))
            if squared
            else SVRDual(samples, targets, C, epsilon, intercept=False)
        )
        self._forget()
        machine = self._solved(problem, self._solver(squared, samples.shape[1]))
        coef, self.intercept_ = self._split(machine.w[None, :])
        self.coef_ = coef[0]
        self.n_iter_ = machine.iterations
        warn_unless(machine.converged, self.max_iter)
        return self

    def predict(self, X: Any) -> Any:
        """Return wᵀx + b for the rows of `X`, shape (m,)."""
        return self._scores(X)
