"""Linear machines: weights on the features, and an intercept, regularised or not.

    min ½‖(w, v)‖² + Σ Cᵢ·ℓ(yᵢ, wᵀxᵢ + s·v),   intercept b = s·v,   s = intercept_scaling
The intercept is the weight v of one more feature with the constant value s, as in LIBLINEAR (Fan et al.
2008); in the limit s = inf, ½v² = ½b²/s² is 0. Absolute losses are solved in the dual, squared ones by
Newton's method on w; small problems in one compiled call.
"""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import scipy
from sklearn import svm
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from problems import Gram, Linear, Point, SoftMarginDual, SVRDual, Vector, losses
from problems.dataset import check_samples
from problems.formulations.erm import WeightedERM
from problems.losses import IntervalLoss
from solvers.dual_coordinate_descent import DualCoordinateDescent
from solvers.dual_coordinate_descent.small import minimise_linear
from solvers.estimators.certified import (
    SHARPER,
    SMALL,
    Answer,
    Certified,
    by_pairs,
    check_class_weights,
    positive_weights,
)
from solvers.finite_newton import MOST_FEATURES, FiniteNewton, minimise_squares
from solvers.numerics.rows import as_rows
from solvers.sdca import SDCA
from solvers.smooth_primal import NewtonCG

_SMALL_PRODUCT = 1e8  # multiplications for a Hessian, some milliseconds
_SMALL_FEATURES = 500


@dataclass(eq=False, repr=False, kw_only=True)
class LinearMachine(Certified):  # pyright: ignore[reportUntypedBaseClass]
    """Base of the linear estimators; `LinearSVC` describes the parameters."""

    dual: Any = "auto"
    tol: Any = 1e-4
    C: Any = 1.0
    fit_intercept: Any = True
    intercept_scaling: Any = 1.0
    verbose: Any = 0
    random_state: Any = None
    max_iter: Any = 1000
    warm_start: Any = False

    @property
    def _is_free(self) -> bool:
        """Whether there is an intercept that is not regularised."""
        return bool(self.fit_intercept) and np.array_equal(self.intercept_scaling, np.inf)

    def _checked(self, X: Any, y: Any, sample_weight: Any, **more: Any) -> tuple[Any, Any, Vector]:
        """Return samples, with the feature of a regularised intercept, y and C, of positive weight."""
        self._validate_params()
        X, y = validate_data(self, X, y, dtype=np.float64, order="C", accept_sparse="csr", **more)
        kept, weight = positive_weights(sample_weight, X.shape[0])
        X = X if kept.size == X.shape[0] else X[kept]
        if self.fit_intercept and not self._is_free:
            X = _with_feature(X, float(self.intercept_scaling))
        return check_samples(X), y[kept], self.C * weight

    def _fit_machines(self, X: Any, loss: IntervalLoss, ys: list[Vector], Cs: list[Vector]) -> Any:
        """Solve a problem for each y and C (n,); set all but `coef_`; return that (machines, d)."""
        (n, d), smooth, free, quick = X.shape, loss.is_smooth, self._is_free, self._is_quick
        solver = self._solver_for(smooth, d)
        fine = solver.tol * (SHARPER if self.refine and n <= SMALL else 1.0)
        dense = isinstance(X, np.ndarray) and d <= _SMALL_FEATURES and n * d * d <= _SMALL_PRODUCT
        in_pairs = quick and not smooth and (free or not dense) and n <= SMALL
        K = Gram(X, Linear()).dense() if in_pairs else None
        pose: Any = partial(WeightedERM, loss=loss)
        if not smooth:
            pose = partial(SVRDual, epsilon=self.epsilon) if loss.is_regression else SoftMarginDual
        problems = [partial(pose, X, y, C, intercept=free) for y, C in zip(ys, Cs, strict=True)]
        answers: list[Answer] = []
        for at, (problem, y, C) in enumerate(zip(problems, ys, Cs, strict=True)):
            start, answer = self._start(at, problem), None
            if K is not None:  # n steps are an epoch
                limits = solver.tol, fine, n * int(solver.max_iter)
                answer = by_pairs(problem(), K, start, *limits)
                answer = answer and answer._replace(iterations=1 + answer.iterations // n)
            elif quick and dense and smooth and self.dual is not True:
                answer = _by_newton(X, y, C, loss, free, start, solver)
            elif quick and dense and not smooth and not free:
                answer = _by_epochs(X, y, C, loss, start, solver, fine)
            answer = answer or self._by_solver(problem(), solver, start)
            if answer.point.w is None:
                w = X.T @ problem().beta(answer.point.alpha)
                answer = answer._replace(point=replace(answer.point, w=w))
            answers.append(answer)
        self._keep(problems, answers)
        self.n_iter_ = max(answer.iterations for answer in answers)
        if not all(answer.converged for answer in answers):
            warnings.warn(
                f"the solver ended without reaching its tolerance (max_iter={self.max_iter}); scale the "
                "features, raise max_iter, or read certificate_ for what the answer is worth",
                ConvergenceWarning,
                stacklevel=3,
            )
        w = np.array([answer.point.w for answer in answers])
        self.intercept_ = 0.0
        if free:
            self.intercept_ = np.array([float(answer.point.b or 0.0) for answer in answers])
        elif self.fit_intercept:
            w, self.intercept_ = w[:, :-1], self.intercept_scaling * w[:, -1]
        return w

    def _solver_for(self, smooth: bool, d: int) -> Any:
        """Return the solver; for squared losses `tol` is of gains or steps, so it is less by default.

        On the unscaled samples of breast_cancer Newton's method had a gap of 26% at 1e-6.
        """
        if smooth:
            primal = FiniteNewton if d <= MOST_FEATURES and not self._is_free else NewtonCG
            default = SDCA if self.dual is True and not self._is_free else primal
            return self._chosen(default, self.tol * (SHARPER if self.solver is None else 1.0))
        if self.dual is False:
            raise ValueError(
                "dual: Unsupported set of arguments: the loss has kinks, so no primal solver takes "
                f"penalty='l2', loss={self.loss!r}, dual=False; use dual='auto', or a squared loss"
            )
        return self._chosen(DualCoordinateDescent)


@dataclass(eq=False, repr=False)
class LinearSVC(LinearMachine, svm.LinearSVC):  # pyright: ignore[reportUntypedBaseClass]
    """Linear support vector classification, each class against all others: scikit-learn's `LinearSVC`.

    Parameters and attributes are scikit-learn's, with those of `SVC`, and `certificate_`.

    Parameters
    ----------
    penalty, multi_class : "l1" and "crammer_singer" are other problems, which no solver here takes: they
        are left to LIBLINEAR, and the answer has no certificate.
    dual : of squared losses: True is dual coordinate ascent, slow on features of very different sizes;
        False and "auto" Newton's method on w, as is True with an intercept that is not regularised. The
        hinge has dual methods only.
    tol : of the hinge, the maximal violation in the dual, see `refine`;
        of squared losses, a million times the relative gain of the last Newton step (above 2000
        features, the mean size of its entries), or the relative gap of dual coordinate ascent.
    intercept_scaling : also inf, for an intercept that is not regularised.
    class_weight : "balanced" counts samples with their weights.
    refine : whether with the hinge problems of up to 1000 samples are solved to a millionth of `tol`.
    warm_start : begin where the last fit ended: with the hinge if it was on as many samples.
    solver : None for the defaults above: up to 1000 samples, and with squared losses up to a Hessian of
        some milliseconds, in one compiled call.
    """

    penalty: Any = "l2"
    loss: Any = "squared_hinge"
    _: KW_ONLY
    multi_class: Any = "ovr"
    intercept_scaling: Any = 1
    class_weight: Any = None

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> LinearSVC:
        """Fit to samples `X` (n, d), dense or sparse, and labels `y` (n,)."""
        if self.penalty == "l1" or self.multi_class == "crammer_singer":
            self._keep([], [])
            return super().fit(X, y, sample_weight)
        samples, y, C = self._checked(X, y, sample_weight)
        check_classification_targets(y)
        self.classes_, labels = np.unique(y, return_inverse=True)
        K = self.classes_.size
        if K < 2:
            raise ValueError(
                "y: the number of classes has to be greater than one; got 1 class "
                "(among samples of positive weight)"
            )
        balance = np.ones(K)
        if isinstance(self.class_weight, str):  # "balanced"
            counts = np.bincount(labels, C)
            balance = counts.sum() / (K * counts)
        elif self.class_weight is not None:
            balance = compute_class_weight(self.class_weight, classes=self.classes_, y=y)
        check_class_weights(balance, self.class_weight)
        loss = losses.SquaredHinge() if self.loss == "squared_hinge" else losses.Hinge()
        machines = [1] if K == 2 else range(K)
        # the others have weight 1 if they are several, as in LIBLINEAR
        others = balance[0] if K == 2 else 1.0
        ys = [np.where(labels == k, 1.0, -1.0) for k in machines]
        Cs = [C * np.where(labels == k, balance[k], others) for k in machines]
        self.coef_ = self._fit_machines(samples, loss, ys, Cs)
        return self


@dataclass(eq=False, repr=False, kw_only=True)
class LinearSVR(LinearMachine, svm.LinearSVR):  # pyright: ignore[reportUntypedBaseClass]
    """Linear support vector regression: scikit-learn's `LinearSVR`, certified.

    Parameters and attributes are scikit-learn's, and those of `LinearSVC`.
    """

    epsilon: Any = 0.0
    loss: Any = "epsilon_insensitive"

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> LinearSVR:
        """Fit to samples `X` (n, d), dense or sparse, and targets `y` (n,)."""
        samples, y, C = self._checked(X, y, sample_weight, y_numeric=True)
        squared = self.loss == "squared_epsilon_insensitive"
        loss = losses.SquaredEpsilonInsensitive if squared else losses.EpsilonInsensitive
        [self.coef_] = self._fit_machines(samples, loss(self.epsilon), [y.astype(np.float64)], [C])
        return self


def _by_epochs(
    X: Any, y: Vector, C: Vector, loss: IntervalLoss, start: Any, solver: Any, fine: float
) -> Answer | None:
    """Solve with an absolute loss by coordinate descent."""
    signs = np.ones(y.size) if loss.is_regression else y
    limits = (-C, C) if loss.is_regression else (np.minimum(y * C, 0.0), np.maximum(y * C, 0.0))
    beta = np.zeros(y.size) if start is None else signs * start
    tube, accuracy = np.full(y.size, getattr(loss, "epsilon", 0.0)), (solver.tol, fine)
    most = int(solver.max_iter)
    w, epochs, violation = minimise_linear(X, beta, -y, tube, *limits, *accuracy, most)
    if violation > solver.tol and epochs < most:
        return None
    return Answer(Point(signs * beta, w), max(1, epochs), violation <= solver.tol)


def _by_newton(
    X: Any, y: Vector, C: Vector, loss: IntervalLoss, free: bool, start: Any, solver: Any
) -> Answer:
    """Solve with a squared loss by Newton's method."""
    regularised, of_losses = np.ones(X.shape[1]), (*loss.ends(y), C / loss.smoothing)
    if free:
        X, regularised = _with_feature(X, 1.0), np.append(regularised, 0.0)
    signs = 1.0 if loss.is_regression else y
    w = np.zeros(X.shape[1]) if start is None else X.T @ (signs * start)
    limits = solver.tol, int(solver.max_iter)
    w, steps, converged = minimise_squares(as_rows(X), *of_losses, regularised, w, *limits)
    point = Point(None, w[:-1], float(w[-1])) if free else Point(None, w)
    return Answer(point, steps, converged)


def _with_feature(X: Any, value: float) -> Any:
    """Return the samples with one more feature, which is constant."""
    columns = [X, np.full((X.shape[0], 1), value)]
    if scipy.sparse.issparse(X):
        return scipy.sparse.csr_array(scipy.sparse.hstack(columns))
    return np.hstack(columns)
