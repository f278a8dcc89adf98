"""What `LinearSVC` and `LinearSVR` share: weights on the features, and an intercept regularised too.

    min ½‖(w, v)‖² + Σ Cᵢ·ℓ(yᵢ, wᵀxᵢ + s·v),   intercept b = s·v,   s = intercept_scaling
The intercept is the weight v of one more feature with the constant value s, as in LIBLINEAR (Fan et al.
2008). Absolute losses are solved by dual coordinate descent, squared ones by Newton's method on w.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy
from sklearn.utils.validation import check_is_fitted, validate_data

from problems import Formulation, Point, Vector
from problems.validation import check_choice, check_positive
from solvers import Solution, Solver, solve
from solvers.dual_coordinate_descent import DualCoordinateDescent
from solvers.estimators.answers import (
    SHARPER,
    Answer,
    certified_alpha,
    chosen_solver,
    is_converged,
    log,
    refined,
)
from solvers.estimators.certified import CertifiedEstimator
from solvers.estimators.samples import Weights, check_sample_weight, settings_of, subset
from solvers.finite_newton import MOST_FEATURES, FiniteNewton
from solvers.sdca import SDCA
from solvers.smooth_primal import NewtonCG


@dataclass(eq=False, repr=False, kw_only=True)
class LinearMachine(CertifiedEstimator):  # pyright: ignore[reportUntypedBaseClass]
    """Base of the linear estimators; `LinearSVC` describes the parameters."""

    dual: Any = "auto"
    tol: Any = 1e-4
    C: Any = 1.0
    fit_intercept: Any = True
    intercept_scaling: Any = 1
    verbose: Any = 0
    random_state: Any = None
    max_iter: Any = 1000
    solver: Any = None

    def __sklearn_tags__(self) -> Any:
        """State that sparse samples are accepted."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _checked(
        self, X: Any, y: Any, sample_weight: Any, **y_checks: Any
    ) -> tuple[Any, Any, Weights]:
        """Return the samples with the intercept's feature, y, and the weights, without weights of 0."""
        check_positive(self.C, "C")
        check_positive(self.intercept_scaling, "intercept_scaling")
        check_choice(self.dual, "dual", ("auto", True, False))
        X, y = validate_data(
            self, X, y, dtype=np.float64, order="C", accept_sparse="csr", **y_checks
        )
        weights = check_sample_weight(sample_weight, X.shape[0])
        X = subset(X, weights.kept)
        if self.fit_intercept:
            columns = [X, np.full((X.shape[0], 1), float(self.intercept_scaling))]
            sparse = scipy.sparse.issparse(X)
            X = (
                scipy.sparse.csr_array(scipy.sparse.hstack(columns))
                if sparse
                else np.hstack(columns)
            )
        return X, y[weights.kept], weights

    def _solver(self, squared: bool, d: int) -> Solver:
        """Return the solver; for squared losses `tol` is of gains or steps, so it is made smaller.

        On the unscaled samples of breast_cancer Newton's method had a gap of 26% at 1e-6.
        """
        settings = settings_of(self)
        if not squared:
            if self.dual is False:
                raise ValueError(
                    "dual: the loss has kinks, so there is no primal method for it; "
                    "use dual='auto', or a squared loss"
                )
            return chosen_solver(self.solver, DualCoordinateDescent, settings)
        if self.solver is None:
            settings["tol"] *= SHARPER
        primal = FiniteNewton if d <= MOST_FEATURES else NewtonCG
        return chosen_solver(self.solver, SDCA if self.dual is True else primal, settings)

    def _solved(self, problem: Formulation, solver: Solver) -> Answer:
        sharpened = isinstance(solver, DualCoordinateDescent) and self.solver is None
        solution = refined(problem, solver) if sharpened else solve(problem, solver)
        log(solution, self.verbose)
        point = Point(solution.point.alpha, self._weights(solution))
        self._answers.append((lambda: problem, point))
        converged = is_converged(solution, getattr(solver, "tol", 0.0))
        return Answer(point, max(1, solution.iterations), converged)

    def _weights(self, solution: Solution) -> Vector:
        """Return w; points of the default solvers are feasible, and need no certificate for it."""
        point, problem, w = solution.point, solution.problem, None
        if self.solver is None:
            w = point.w
            if w is None and point.alpha is not None:
                w = problem.X.T @ problem.beta(point.alpha)
        if w is None or not np.isfinite(w).all():
            certified_alpha(solution)
            w = solution.w
        assert w is not None
        return w

    def _split(self, w: Any) -> tuple[Any, Any]:
        """Return the features' weights and the intercepts of weights (machines, d or d + 1)."""
        if not self.fit_intercept:
            return w, 0.0
        return w[:, :-1], self.intercept_scaling * w[:, -1]

    def _scores(self, X: Any) -> Any:
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, accept_sparse="csr", reset=False)
        return X @ self.coef_.T + self.intercept_
