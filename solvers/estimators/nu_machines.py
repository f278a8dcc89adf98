"""`NuSVC` and `NuSVR`: nu, a share of the samples, stands for C or for epsilon; and `OneClassSVM`."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import OutlierMixin

import problems
from problems import Formulation, Kernel, Matrix, Precomputed, Vector
from problems.dataset import Indices, check_samples
from problems.validation import check_positive, check_share
from solvers.estimators.answers import Answer, Task, warn_unless
from solvers.estimators.classifier import PairClassifier
from solvers.estimators.machine import NO_TARGETS, KernelMachine
from solvers.estimators.regressor import KernelRegressor
from solvers.estimators.samples import subset

_ALLOWED = 1.0 - 1e-12  # of the largest nu, which rounding could put above it
# a decision that is rounding: of ρ, and of Σ αᵢk(xᵢ, xᵢ), as ρ is 0 where a plane is around the origin
_ON_BOUNDARY, _CANCELLED = 1e-8, 1e-14


@dataclass(eq=False, repr=False, kw_only=True)
class NuSVC(PairClassifier):
    """ν-support vector classification: scikit-learn's `NuSVC`, certified.

    Each pair of classes has its machine, min ½‖w‖² − ν·ΣCᵢ·ρ + Σ Cᵢ·max(0, ρ − yᵢ(wᵀφ(xᵢ) + b)) with
    Cᵢ = class weight·sample weight, whose decision is divided by ρ; they vote.

    Parameters
    ----------
    nu : at least this share of the samples are support vectors, at most this share violate the margin.
        A pair has 2·min(n₊, n₋)/n where that is less: there is no machine with more.
    kernel, degree, gamma, coef0, tol, shrinking, cache_size, probability, class_weight, verbose,
    max_iter, decision_function_shape, break_ties, random_state, solver, refine, callback : as of `SVC`.

    Attributes
    ----------
    As of `SVC`. `certificate_` is of the machines before their decisions are divided by ρ.
    """

    nu: Any = 0.5

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> NuSVC:
        """Fit to samples `X` (n, d), dense or sparse (a Gram matrix (n, n)), and labels `y` (n,).

        Raises
        ------
        ValueError
            If an argument or a parameter is not usable, or the solver gives no answer.
        """
        check_share(self.nu, "nu")
        self._fit(X, y, sample_weight, 1.0)
        return self

    def _task(self, X: Matrix, rows: Indices, y: Vector, C: Vector, last: Vector | None) -> Task:
        half = min(float(C[y > 0].sum()), float(C[y < 0].sum()))
        most = _ALLOWED * 2.0 * half / float(C.sum())
        nu = min(self.nu, most)
        problem = partial(_pair, X, rows, y, C, nu, self._kernel)
        limits, each = (np.minimum(y * C, 0.0), np.maximum(y * C, 0.0)), 0.5 * nu * float(C.sum())
        # with the most, a class is at its bounds altogether, and its offset is one of an interval
        groups = (y < 0).astype(np.intp) if nu < most else None
        return Task(problem, np.zeros(y.size), y, *limits, groups=groups, sums=(each, -each))


def _pair(X: Matrix, rows: Indices, y: Vector, C: Vector, nu: float, kernel: Kernel) -> Formulation:
    return problems.NuSVC(subset(X, rows, isinstance(kernel, Precomputed)), y, nu, kernel, C)


@dataclass(eq=False, repr=False, kw_only=True)
class NuSVR(KernelRegressor):
    """ν-support vector regression: scikit-learn's `NuSVR`, certified.

    min ½‖w‖² + Σ Cᵢ·max(0, |yᵢ − wᵀφ(xᵢ) − b| − ε) + ε·ν·ΣCᵢ over w, b and ε ≥ 0, Cᵢ = C·sample weight.

    Parameters
    ----------
    nu : at most this share of the samples is outside of the tube, at least this share on or outside it.
    C : weight of the slacks, finite and above 0.
    kernel, degree, gamma, coef0, tol, shrinking, cache_size, verbose, max_iter, solver, refine,
    callback : as of `SVC`.

    Attributes
    ----------
    As of `SVR`.
    """

    nu: Any = 0.5
    C: Any = 1.0

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> NuSVR:
        """Fit to samples `X` (n, d), dense or sparse (a Gram matrix (n, n)), and targets `y` (n,).

        Raises
        ------
        ValueError
            If an argument or a parameter is not usable, or the solver gives no answer.
        """
        check_share(self.nu, "nu")
        self._fit(X, y, sample_weight, check_positive(self.C, "C"))
        return self

    def _answer(self, X: Any, y: Vector, C: Vector, last: Vector | None) -> Answer:
        problem = partial(problems.NuSVR, X, y, self.nu, C, self._kernel)
        each, groups = 0.5 * self.nu * float(C.sum()), np.repeat([0, 1], y.size)
        task = Task(problem, y, np.ones(y.size), -C, C, groups=groups, sums=(each, -each))
        return self._solve_one(X, task)


@dataclass(eq=False, repr=False, kw_only=True)
class OneClassSVM(OutlierMixin, KernelMachine):  # pyright: ignore[reportUntypedBaseClass]
    """The one-class machine, which tells what is novel: scikit-learn's `OneClassSVM`, certified.

    min ½‖w‖² − ν·ΣCᵢ·ρ + Σ Cᵢ·max(0, ρ − wᵀφ(xᵢ)), where Cᵢ is the weight of a sample.

    Parameters
    ----------
    nu : at most this share of the samples is called novel, at least this share are support vectors.
    kernel, degree, gamma, coef0, tol, shrinking, cache_size, verbose, max_iter, solver, refine,
    callback : as of `SVC`.

    Attributes
    ----------
    offset_ : ρ; the decision function is `score_samples` minus that.
    others : as of `SVR`.
    """

    nu: Any = 0.5

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> OneClassSVM:
        """Fit to samples `X` (n, d), dense or sparse (a Gram matrix (n, n)); `y` is not read.

        Raises
        ------
        ValueError
            If an argument or a parameter is not usable, or the solver gives no answer.
        """
        check_share(self.nu, "nu")
        samples, _, weights = self._checked(X, NO_TARGETS, sample_weight)
        self._kernel = self._kernel_for(samples, weights)
        X_fit, C = check_samples(samples), weights.values
        problem = partial(problems.OneClassSVM, X_fit, self.nu, self._kernel, C)
        nothing, groups = np.zeros(C.size), np.zeros(C.size, np.intp)
        sums = (self.nu * float(C.sum()),)
        task = Task(problem, nothing, nothing + 1.0, nothing, C, groups=groups, sums=sums)
        answer = self._solve_one(X_fit, task)
        self.intercept_ = np.array([answer.b])
        self.offset_ = -self.intercept_
        sizes = float(answer.alpha.sum() * self._kernel.diagonal(X_fit).max())
        self._rounding = max(_ON_BOUNDARY * abs(answer.b), _CANCELLED * sizes)
        duals = answer.alpha[None, :]
        self._set_support(samples, duals, duals, weights)
        self.n_support_ = np.array([self.support_.size], dtype=np.int32)
        self.n_iter_ = max(1, answer.iterations)
        self.fit_status_ = int(not answer.converged)
        warn_unless(answer.converged, self.max_iter)
        return self

    def decision_function(self, X: Any) -> Any:
        """Return f (m,), below 0 for what is novel, and 0 where it is but for rounding."""
        f = self._values(X).ravel()
        f[np.abs(f) <= self._rounding] = 0.0
        return f

    def score_samples(self, X: Any) -> Any:
        """Return wᵀφ(x) (m,), the decision function without its offset."""
        return self.decision_function(X) + self.offset_

    def predict(self, X: Any) -> Any:
        """Return 1 (m,) for the class itself and −1 for what is novel."""
        return np.where(self.decision_function(X) >= 0, 1, -1).astype(np.intp)
