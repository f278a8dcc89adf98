"""Linear machines: weights on the features, and an intercept, regularised or not.

    min ½‖(w, v)‖² + Σ Cᵢ·ℓ(yᵢ, wᵀxᵢ + s·v),   intercept b = s·v,   s = intercept_scaling
The intercept is the weight v of one more feature with the constant value s, as in LIBLINEAR (Fan et al.
2008); in the limit s = inf, ½v² = ½b²/s² is 0. Absolute losses are solved in the dual, for small
problems in one compiled call; squared losses by Newton's method on w.
"""

from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from sklearn import svm
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.validation import validate_data

from dualgap.problems import Formulation, Linear, Point, SoftMarginDual, SVRDual, Vector, losses
from dualgap.problems.dataset import check_samples
from dualgap.problems.formulations.erm import WeightedERM
from dualgap.problems.kernels.base import check_values
from dualgap.problems.losses import IntervalLoss
from dualgap.solvers.estimators.certified import (
    MAX_DIRECT_SAMPLES,
    REFINED_TOL_FACTOR,
    Certified,
    GramValues,
    ProblemFactory,
    problem_factory,
)
from dualgap.solvers.estimators.direct import Accuracy, Fit, fit_small
from dualgap.solvers.estimators.in_blocks import (
    as_arrays,
    as_blocks,
    find_labels,
    is_in_blocks,
    predict_in_blocks,
    with_feature,
)
from dualgap.solvers.estimators.inputs import (
    as_canonical,
    as_integers,
    balanced_weights,
    encode_labels,
    positive_weights,
)
from dualgap.solvers.finite_newton import MAX_FEATURES, FiniteNewton, minimise_squares
from dualgap.solvers.near_rows import NearRows
from dualgap.solvers.smooth_primal import NewtonCG


@dataclass(eq=False, repr=False, kw_only=True)
class LinearMachine(Certified):
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

    _counts_epochs = True

    @property
    def _is_free(self) -> bool:
        """Whether there is an unregularised intercept."""
        return bool(self.fit_intercept) and np.array_equal(self.intercept_scaling, np.inf)

    def _check_data(self, X: Any, y: Any, weight: Any, **more: Any) -> tuple[Any, Any, Vector]:
        """Return samples of positive weight, with the intercept's feature if regularised, y and C."""
        self._validate_params()
        y = as_integers(y)
        X, y = validate_data(self, X, y, dtype=np.float64, order="C", accept_sparse="csr", **more)
        indices, weight = positive_weights(weight, X.shape[0])
        X = X if indices.size == X.shape[0] else X[indices]
        if self.fit_intercept and not self._is_free:
            X = with_feature(X, float(self.intercept_scaling))
        X = check_samples(X)
        check_values(Linear(), X)
        return X, y[indices], self.C * weight

    def _check_blocks(self, X: Any, y: Any, weight: Any) -> list[Any]:
        """Check the parameters, set the features' attributes, and convert frames to arrays."""
        self._validate_params()
        self.n_features_in_ = X.shape[1]
        names = getattr(X, "columns", [])
        if len(names) and all(isinstance(name, str) for name in names):
            self.feature_names_in_ = np.asarray(names, dtype=object)
        elif hasattr(self, "feature_names_in_"):  # from an earlier fit
            del self.feature_names_in_
        return as_arrays(X, y, weight)

    def _formulation_for(self, loss: IntervalLoss) -> tuple[type[Formulation], dict[str, Any]]:
        """Return the formulation for a loss, and those of its fields that all machines share."""
        formulation: type[Formulation] = SVRDual if loss.is_regression else SoftMarginDual
        options: dict[str, Any] = {"epsilon": self.epsilon} if loss.is_regression else {}
        if loss.is_smooth:
            formulation, options = WeightedERM, {"loss": loss}
        elif self.dual is False:
            raise ValueError(
                "dual: Unsupported set of arguments: the loss has kinks, so no primal solver supports "
                f"penalty='l2', loss={self.loss!r}, dual=False; use dual='auto', or a squared loss"
            )
        return formulation, options | {"kernel": Linear(), "intercept": self._is_free}

    def _fit_machines(self, X: Any, loss: IntervalLoss, ys: list[Vector], Cs: list[Vector]) -> Any:
        """Solve a problem for each y and C (n,); return `coef_` (machines, d), and set the rest."""
        formulation, options = self._formulation_for(loss)
        machines = zip(ys, Cs, strict=True)
        problems = [problem_factory(formulation, X, y=y, C=C, **options) for y, C in machines]
        return self._fit_problems(problems)

    def _fit_blocks(
        self, X: Any, y: Any, weight: Any, loss: IntervalLoss, positives: Iterable[Any]
    ) -> Any:
        """Do the same on samples in blocks, for each label as +1, or None for targets."""
        formulation, options = self._formulation_for(loss)
        constant = self.intercept_scaling if self.fit_intercept and not self._is_free else None
        problems = list[ProblemFactory]()
        for positive in positives:
            blocks = as_blocks(X, y, weight, positive, constant)
            problem = formulation(**{"X": blocks, "y": None, "C": self.C, **options})
            problems.append(lambda problem=problem: problem)
        return self._fit_problems(problems)

    def _fit_problems(self, problems: list[ProblemFactory]) -> Any:
        answers = self._solve_all(problems)
        self.n_iter_ = max(answer.iterations for answer in answers)
        w = np.array([answer.point.w for answer in answers])
        self.intercept_ = 0.0
        if self._is_free:
            self.intercept_ = np.array([float(answer.point.b or 0.0) for answer in answers])
        elif self.fit_intercept:
            w, self.intercept_ = w[:, :-1], self.intercept_scaling * w[:, -1]
        return w

    def predict(self, X: Any) -> Any:
        """Predict the classes or targets of `X` (m, d); lazily, in blocks, for a Dask collection."""
        if is_in_blocks(X):
            dtype = self.classes_.dtype if hasattr(self, "classes_") else np.float64
            return predict_in_blocks(self.predict, X, dtype)
        return super().predict(X)

    def _solve_directly(self, problem: Formulation, start: Point, values: GramValues) -> Fit | None:
        """Solve by epochs or Newton steps if X is dense and small, else with K."""
        (n, d), squared = problem.X.shape, problem.risk.loss.is_smooth
        # multiplications to form or factorise a Hessian: a few milliseconds
        is_direct = isinstance(problem.X, np.ndarray) and max(n, d) * d * d <= 1e8
        if is_direct and squared:
            return self._solve_by_newton(problem, start)
        if not is_direct or problem.intercept:
            unsupported = squared or problem.in_blocks
            return None if unsupported else super()._solve_directly(problem, start, values)
        accuracy, limit = self._accuracy(n), self._iteration_limit
        fine = self.tol if n > MAX_DIRECT_SAMPLES else accuracy.fine
        return fit_small(problem, start, Accuracy(self.tol, fine, limit, limit))

    def _solve_by_newton(self, problem: Formulation, start: Point) -> Fit:
        X, regularised = problem.X, np.ones(problem.d)
        w = regularised * 0.0 if start.w is None else start.w
        if problem.intercept:
            X, regularised = with_feature(X, 1.0), np.append(regularised, 0.0)
            w = np.append(w, start.b or 0.0)
        loss: Any = problem.risk.loss
        low, high = loss.ends(problem.y)
        of_losses = low, high, problem.risk.C / loss.smoothing
        limits = REFINED_TOL_FACTOR * self.tol, self._iteration_limit
        w, steps, converged = minimise_squares(X, *of_losses, regularised, w, *limits)
        point = Point(None, w[:-1], float(w[-1])) if problem.intercept else Point(None, w)
        return Fit(point, steps, converged)

    def _default_solvers(self, problem: Formulation) -> list[Any]:
        if problem.in_blocks:
            return [NearRows(tol=self.tol)]
        if not problem.risk.loss.is_smooth:
            return super()._default_solvers(problem)
        newton = NewtonCG if problem.intercept or problem.d > MAX_FEATURES else FiniteNewton
        return [newton(tol=REFINED_TOL_FACTOR * self.tol)]  # relative to gains or steps


@dataclass(eq=False, repr=False)
class LinearSVC(LinearMachine, svm.LinearSVC):
    """Linear support vector classification, one against the rest: scikit-learn's `LinearSVC`.

    Parameters and attributes are scikit-learn's, those of `SVC`, and `certificate_`.

    Parameters
    ----------
    penalty, multi_class : "l1" and "crammer_singer" are other problems, which dualgap does not support:
        LIBLINEAR solves them, without a certificate.
    dual : ignored, except that False is an error with the hinge, which has dual methods only. Squared
        losses are solved by Newton's method on w.
    tol : for the hinge, the maximal violation in the dual, see `refine`; for squared losses, a million
        times the relative gain of the last Newton step (above 2000 features, the mean size of its
        entries); for samples in blocks, the relative gap.
    intercept_scaling : up to 1e100, or inf for an unregularised intercept.
    class_weight : "balanced" takes sample weights into account.
    refine : whether hinge problems with up to 1000 samples are solved to a millionth of `tol`.
    warm_start : start at the last answer; with the hinge, if the number of samples is the same.
    solver : None for the defaults above. Dense samples with max(n, d) d² ≤ 1e8 are solved without
        `solve`, as is the hinge on up to 1000 samples.
    """

    penalty: Any = "l2"
    loss: Any = "squared_hinge"
    _: KW_ONLY
    multi_class: Any = "ovr"
    intercept_scaling: Any = 1
    class_weight: Any = None

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to samples `X` (n, d), dense or sparse, and labels `y` (n,).

        Or to a Dask Array or DataFrame with an Array or Series `y`, or to `Blocks`, without `y`.
        """
        if is_in_blocks(X):
            return self._fit_in_blocks(X, y, sample_weight)
        if self.penalty == "l1" or self.multi_class == "crammer_singer":
            if self._is_free:
                raise ValueError(
                    "intercept_scaling: must be finite for this penalty and multi_class, which "
                    f"LIBLINEAR fits, got {self.intercept_scaling!r}"
                )
            self._answers, self._certificate = [], None
            return super().fit(as_canonical(X), as_integers(y), sample_weight)
        samples, y, C = self._check_data(X, y, sample_weight)
        self.classes_, labels = encode_labels(y)
        machines, K = self._machines(), self.classes_.size
        balance = np.ones(K)
        if isinstance(self.class_weight, str):  # "balanced"
            balance = balanced_weights(np.bincount(labels, C))
        elif self.class_weight is not None:
            balance = compute_class_weight(self.class_weight, classes=self.classes_, y=y)
        # if there are several other classes they have weight 1, as in LIBLINEAR
        other_weight = balance[0] if K == 2 else 1.0
        ys = [np.where(labels == k, 1.0, -1.0) for k in machines]
        Cs = [C * np.where(labels == k, balance[k], other_weight) for k in machines]
        self.coef_ = self._fit_machines(samples, self._loss(), ys, Cs)
        return self

    def _fit_in_blocks(self, X: Any, y: Any, weight: Any) -> Self:
        refused = {
            "penalty": self.penalty == "l1",
            "multi_class": self.multi_class == "crammer_singer",
            "class_weight": self.class_weight is not None,
        }
        for name in filter(refused.get, refused):
            raise ValueError(
                f"{name}: samples in blocks have no {getattr(self, name)!r}; leave it out"
                + " and pass sample weights instead" * (name == "class_weight")
            )
        X, y, weight = self._check_blocks(X, y, weight)
        self.classes_ = find_labels(X, y)
        positives = self.classes_[self._machines()]
        self.coef_ = self._fit_blocks(X, y, weight, self._loss(), positives)
        return self

    def _machines(self) -> list[int]:
        """Return the classes to separate from all others."""
        K = self.classes_.size
        if K < 2:
            raise ValueError(
                "y: the number of classes has to be greater than one; got 1 class "
                "(among samples of positive weight)"
            )
        return [1] if K == 2 else list(range(K))

    def _loss(self) -> IntervalLoss:
        return losses.SquaredHinge() if self.loss == "squared_hinge" else losses.Hinge()


@dataclass(eq=False, repr=False, kw_only=True)
class LinearSVR(LinearMachine, svm.LinearSVR):
    """Linear support vector regression: scikit-learn's `LinearSVR`, certified.

    Parameters and attributes are scikit-learn's, and those of `LinearSVC`.
    """

    epsilon: Any = 0.0
    loss: Any = "epsilon_insensitive"

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to samples `X` (n, d) and targets `y` (n,), dense, sparse, or as `LinearSVC` in blocks."""
        squared = self.loss == "squared_epsilon_insensitive"
        kind = losses.SquaredEpsilonInsensitive if squared else losses.EpsilonInsensitive
        if is_in_blocks(X):
            X, y, sample_weight = self._check_blocks(X, y, sample_weight)
            [self.coef_] = self._fit_blocks(X, y, sample_weight, kind(self.epsilon), [None])
            return self
        samples, y, C = self._check_data(X, y, sample_weight, y_numeric=True)
        [self.coef_] = self._fit_machines(samples, kind(self.epsilon), [y.astype(np.float64)], [C])
        return self
