"""What `LinearSVC` and `LinearSVR` share: weights on the features, and an intercept, regularised or not.

    min ½‖(w, v)‖² + Σ Cᵢ·ℓ(yᵢ, wᵀxᵢ + s·v),   intercept b = s·v,   s = intercept_scaling
The intercept is the weight v of one more feature with the constant value s, as in LIBLINEAR (Fan et al.
2008); in the limit s = inf, ½v² = ½b²/s² is 0. Absolute losses are solved in the dual, squared ones by
Newton's method on w.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any, cast

import numpy as np
import scipy
from sklearn.utils.validation import check_is_fitted, validate_data

from problems import Formulation, Gram, Linear, Point, Vector
from problems.dataset import check_samples
from problems.kernels import Block, as_dense
from problems.losses import IntervalLoss
from problems.validation import check_choice, check_positive, check_switch
from solvers.dual_coordinate_descent import DualCoordinateDescent
from solvers.estimators.answers import (
    SHARPER,
    SMALL,
    Answer,
    Manner,
    Problem,
    Task,
    certified_alpha,
    chosen_solver,
    is_converged,
    offset,
    small_answer,
    solved,
    warn_unless,
    within,
)
from solvers.estimators.certified import CertifiedEstimator
from solvers.estimators.samples import Weights, check_sample_weight, settings_of, subset
from solvers.finite_newton import MOST_FEATURES, FiniteNewton
from solvers.sdca import SDCA
from solvers.smooth_primal import NewtonCG

_SMALL_PRODUCT = 1e8  # multiplications for a Hessian, some milliseconds
_SMALL_FEATURES = 500


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
    refine: Any = True
    warm_start: Any = False
    callback: Any = None

    def __sklearn_tags__(self) -> Any:
        """State that sparse samples are accepted."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def sparsify(self) -> Any:
        """Store `coef_` as a sparse matrix, which pays where most weights are 0."""
        check_is_fitted(self)
        self.coef_ = scipy.sparse.csr_matrix(self.coef_)
        return self

    def densify(self) -> Any:
        """Store `coef_` as an array again."""
        check_is_fitted(self)
        if scipy.sparse.issparse(self.coef_):
            self.coef_ = self.coef_.toarray()
        return self

    @property
    def _is_free(self) -> bool:
        """Whether there is an intercept that is not regularised."""
        return bool(self.fit_intercept) and np.array_equal(self.intercept_scaling, np.inf)

    def _checked(
        self, X: Any, y: Any, sample_weight: Any, **y_checks: Any
    ) -> tuple[Any, Any, Weights]:
        """Return the samples, with the feature of a regularised intercept, y, and the weights.

        Samples of weight 0 are left out.
        """
        check_positive(self.C, "C")
        check_switch(self.fit_intercept, "fit_intercept")
        if not self._is_free:
            check_positive(self.intercept_scaling, "intercept_scaling")
        check_choice(self.dual, "dual", ("auto", True, False))
        X, y = validate_data(
            self, X, y, dtype=np.float64, order="C", accept_sparse="csr", **y_checks
        )
        weights = check_sample_weight(sample_weight, X.shape[0])
        X = subset(X, weights.kept)
        if self.fit_intercept and not self._is_free:
            X = _with_feature(X, float(self.intercept_scaling))
        return X, y[weights.kept], weights

    def _manner(self, squared: bool, d: int) -> Manner:
        """Return how problems are solved; for squared losses `tol` is of gains or steps, so it is less.

        On the unscaled samples of breast_cancer Newton's method had a gap of 26% at 1e-6.
        """
        settings = settings_of(self)
        if not squared:
            if self.dual is False:
                raise ValueError(
                    "dual: the loss has kinks, so there is no primal solver for it; "
                    "use dual='auto', or a squared loss"
                )
            solver = chosen_solver(self.solver, DualCoordinateDescent, settings)
        else:
            if self.solver is None:
                settings["tol"] *= SHARPER
            primal = FiniteNewton if d <= MOST_FEATURES and not self._is_free else NewtonCG
            default = SDCA if self.dual is True and not self._is_free else primal
            solver = chosen_solver(self.solver, default, settings)
        refine = check_switch(self.refine, "refine") and not squared
        return Manner(solver, self.solver is None, refine, self.verbose, self.callback)

    def _fit_machines(self, X: Any, loss: IntervalLoss, ys: list[Vector], Cs: list[Vector]) -> Any:
        """Solve a problem for each y and C (n,); set `intercept_` and `n_iter_`.

        Returns the weights, shape (machines, d). What `certificate_` needs is remembered.
        """
        X, manner = check_samples(X), self._manner(loss.is_smooth, X.shape[1])
        starts = [
            self._start(X, loss, k, y, C) for k, (y, C) in enumerate(zip(ys, Cs, strict=True))
        ]
        self._forget()
        small = manner.by_default and not manner.watched
        newton = small and loss.is_smooth and self.dual is not True and _is_small(X)
        epochs = small and not loss.is_smooth and not self._is_free and _is_small(X)
        K = None
        if small and not loss.is_smooth and not epochs and X.shape[0] <= SMALL:
            K = Gram(X, Linear()).dense()
        answers: list[Answer] = []
        for y, C, start in zip(ys, Cs, starts, strict=True):
            problem, answer = partial(self._problem, X, y, C, loss), None
            if newton:
                answer = self._by_newton(X, y, C, loss, manner, start)
            elif epochs:
                answer = self._by_epochs(X, self._task(problem, y, C, loss, start), manner)
            elif K is not None:
                answer = self._by_pairs(X, K, self._task(problem, y, C, loss, start), manner)
            answers.append(answer or self._by_solver(problem(), manner, start))
            self._answers.append((problem, answers[-1].point))
        return self._split(answers)

    def _split(self, answers: list[Answer]) -> Any:
        """Return the features' weights (machines, d), and set what else the answers say."""
        self._points = [answer.point for answer in answers]
        self.n_iter_ = max(answer.iterations for answer in answers)
        warn_unless(all(answer.converged for answer in answers), self.max_iter)
        w = np.array([point.w for point in self._points])
        self.intercept_ = 0.0
        if self._is_free:
            self.intercept_ = np.array([answer.b for answer in answers])
        elif self.fit_intercept:
            w, self.intercept_ = w[:, :-1], self.intercept_scaling * w[:, -1]
        return w

    def _start(
        self, X: Any, loss: IntervalLoss, machine: int, y: Vector, C: Vector
    ) -> Vector | None:
        """Return a β to begin from: that of the last fit, or with a squared loss that of its weights."""
        points: list[Point] = vars(self).get("_points", [])
        if not check_switch(self.warm_start, "warm_start") or machine >= len(points):
            return None
        last = points[machine]
        if loss.is_smooth and last.w is not None and last.w.size == X.shape[1]:
            return -C * loss.subgradient(y, X @ last.w + float(last.b or 0.0))
        if loss.is_smooth or last.alpha is None or last.alpha.size != y.size:
            return None
        signs = y if not loss.is_regression else 1.0
        return within(signs * last.alpha, *_limits(loss, y, C), self._is_free)

    def _task(
        self, problem: Problem, y: Vector, C: Vector, loss: IntervalLoss, start: Vector | None
    ) -> Task:
        signs = np.ones(y.size) if loss.is_regression else y
        epsilon = getattr(loss, "epsilon", 0.0)
        return Task(problem, y, signs, *_limits(loss, y, C), epsilon, self._is_free, start)

    def _by_pairs(self, X: Any, K: Block, task: Task, manner: Manner) -> Answer | None:
        """Solve with an absolute loss by the Gram matrix; a count of n steps is an epoch."""
        n, solver = task.y.size, cast("DualCoordinateDescent", manner.solver)
        steps = replace(manner, solver=replace(solver, max_iter=n * int(solver.max_iter)))
        found = small_answer(task, K, steps)
        if found is None:
            return None
        w = X.T @ (task.signs * found.alpha)
        return Answer(replace(found.point, w=w), 1 + found.iterations // n, found.converged)

    def _by_epochs(self, X: Any, task: Task, manner: Manner) -> Answer | None:
        """Solve with an absolute loss by coordinate descent."""
        from solvers.dual_coordinate_descent.small import minimise_linear  # noqa: PLC0415 - compiled

        solver = cast("DualCoordinateDescent", manner.solver)
        beta = np.zeros(task.y.size) if task.start is None else task.start
        tube = np.full(task.y.size, float(task.epsilon))
        fine = SHARPER * solver.tol if manner.refine and task.y.size <= SMALL else solver.tol
        limits = task.lower, task.upper, solver.tol, fine, int(solver.max_iter)
        w, epochs, violation = minimise_linear(X, beta, -task.y, tube, *limits)
        if violation > solver.tol and epochs < solver.max_iter:
            return None
        return Answer(Point(task.signs * beta, w), max(1, epochs), violation <= solver.tol)

    def _by_newton(
        self, X: Any, y: Vector, C: Vector, loss: IntervalLoss, manner: Manner, start: Vector | None
    ) -> Answer | None:
        """Solve with a squared loss by Newton's method."""
        from solvers.estimators.newton import minimise_squares  # noqa: PLC0415 - compiled

        solver = cast("FiniteNewton", manner.solver)
        regularised = np.ones(X.shape[1])
        if self._is_free:
            X, regularised = _with_feature(X, 1.0), np.append(regularised, 0.0)
        w = np.zeros(X.shape[1]) if start is None else X.T @ start
        of_losses = *loss.ends(y), C / loss.smoothing
        limits = solver.tol, int(solver.max_iter)
        w, steps, converged = minimise_squares(X, *of_losses, regularised, w, *limits)
        point = Point(None, w[:-1], float(w[-1])) if self._is_free else Point(None, w)
        return Answer(point, steps, converged)

    def _by_solver(self, problem: Formulation, manner: Manner, start: Vector | None) -> Answer:
        """Solve through `solve`; points of the default solvers are feasible, and need no certificate."""
        begin = None if start is None else Point(alpha=problem.alpha(start))
        solution = solved(problem, manner, begin)
        point = solution.point
        alpha, w, b = point.alpha, point.w, None
        if manner.by_default and w is None and alpha is not None:
            w = problem.X.T @ problem.beta(alpha)
        if not manner.by_default or w is None or not np.isfinite(w).all():
            certified_alpha(solution)
            w = solution.w
        if self._is_free:
            exact = manner.by_default and alpha is not None and not problem.loss.is_smooth
            b = offset(problem, alpha) if exact and alpha is not None else float(solution.b or 0.0)
        converged = is_converged(solution, getattr(manner.solver, "tol", 0.0))
        return Answer(Point(alpha, w, b), max(1, solution.iterations), converged)

    def _scores(self, X: Any) -> Any:
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, accept_sparse="csr", reset=False)
        return X @ as_dense(self.coef_).T + self.intercept_


def _limits(loss: IntervalLoss, y: Vector, C: Vector) -> tuple[Vector, Vector]:
    """Return the smallest and the largest β of an absolute loss."""
    return (-C, C) if loss.is_regression else (np.minimum(y * C, 0.0), np.maximum(y * C, 0.0))


def _is_small(X: Any) -> bool:
    """Whether a Hessian is formed in milliseconds."""
    n, d = X.shape
    return isinstance(X, np.ndarray) and d <= _SMALL_FEATURES and n * d * d <= _SMALL_PRODUCT


def _with_feature(X: Any, value: float) -> Any:
    """Return the samples with one more feature, which is constant."""
    columns = [X, np.full((X.shape[0], 1), value)]
    if scipy.sparse.issparse(X):
        return scipy.sparse.csr_array(scipy.sparse.hstack(columns))
    return np.hstack(columns)
