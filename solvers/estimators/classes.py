"""The estimators with a kernel: what each adds to scikit-learn's parameters, and its problem."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn import svm

import problems
from problems import HardMarginDual, Matrix, SoftMarginDual, SVRDual, Vector
from solvers.estimators.certified import within
from solvers.estimators.machines import KernelMachine, PairMachine
from solvers.estimators.small import Answer, Task

_ALLOWED = 1.0 - 1e-12  # of the largest nu, which rounding could put above it
# a decision that is rounding: of ρ, and of Σ αᵢk(xᵢ, xᵢ), as ρ is 0 where a plane is around the origin
_ON_BOUNDARY, _CANCELLED = 1e-8, 1e-14


@dataclass(eq=False, repr=False, kw_only=True)
class SVC(PairMachine, svm.SVC):  # pyright: ignore[reportUntypedBaseClass]
    """Soft-margin support vector classification: scikit-learn's `SVC`, certified.

    Each pair of classes has its machine, min ½‖w‖² + Σ Cᵢ·max(0, 1 − yᵢ(wᵀφ(xᵢ) + b)) with
    Cᵢ = C·class weight·sample weight; they vote. Parameters and attributes are scikit-learn's, and:

    Parameters
    ----------
    C : weight of the slacks, above 0; inf is the hard margin.
    kernel : also a kernel of `problems`, such as `RBF(0.1) + Linear()`.
    gamma : "scale" is 1/(d·Var(X)), where a sample counts as often as its weight says.
    shrinking : for solvers that have it as a setting ("libsvm"); SMO always shrinks.
    refine : whether problems of up to 1000 samples are solved to a millionth of `tol`. That takes little
        longer, and weights of samples do exactly what repeating the samples does.
    verbose : log the certified progress of each problem (logger "solvers.estimators.certified", level
        INFO): `logging.basicConfig(level=logging.INFO)` shows it.
    callback : called with each `solvers.Evaluation` while a problem is solved; its `certificate` says
        what the point is worth. With it or `verbose` small problems take some milliseconds more.
    fit_intercept : False for f(x) = wᵀφ(x), without b.
    warm_start : begin where the last fit ended, if it was on as many samples.
    max_iter : of each problem, in the solver's own count; -1 for the solver's own limit.
    random_state : seed of solvers that draw; None is 0.
    solver : a `Solver`, used as it is; the name of one, which takes what it has of `tol`, `max_iter`,
        `cache_size`, `shrinking` and the seed; None for dual coordinate descent where the kernel is
        linear and there are more than 1000 samples, semismooth Newton where some rows of a larger
        K say that it is nearly its diagonal (and `max_iter` is -1), SMO for all others.

    `certificate_` says what the answer is worth; `classes_` are those of samples with a positive weight.
    """

    C: Any = 1.0
    fit_intercept: Any = True
    warm_start: Any = False

    def _task(self, samples: Callable[[], Matrix], y: Vector, weight: Vector, last: Any) -> Task:
        C, kernel, intercept = self.C * weight, self._kernel, bool(self.fit_intercept)
        limits = np.minimum(y * C, 0.0), np.maximum(y * C, 0.0)

        def problem() -> problems.Formulation:
            if np.isinf(C).any():
                return HardMarginDual(samples(), y, kernel, intercept)
            return SoftMarginDual(samples(), y, C, kernel, intercept)

        start = None if last is None else within(y * last, *limits, intercept)
        return Task(problem, y, y, limits, intercept=intercept, start=start)


@dataclass(eq=False, repr=False, kw_only=True)
class NuSVC(PairMachine, svm.NuSVC):  # pyright: ignore[reportUntypedBaseClass]
    """ν-support vector classification: scikit-learn's `NuSVC`, certified.

    Each pair of classes has its machine, min ½‖w‖² − ν·ΣCᵢ·ρ + Σ Cᵢ·max(0, ρ − yᵢ(wᵀφ(xᵢ) + b)) with
    Cᵢ = class weight·sample weight, whose decision is divided by ρ; they vote. A pair has
    2·min(n₊, n₋)/n in place of `nu` where that is less: there is no machine with more.

    Parameters and attributes are scikit-learn's, and those of `SVC`. `certificate_` is of the machines
    before their decisions are divided by ρ.
    """

    nu: Any = 0.5

    def _task(self, samples: Callable[[], Matrix], y: Vector, weight: Vector, last: Any) -> Task:
        half, total = min(weight[y > 0].sum(), weight[y < 0].sum()), float(weight.sum())
        most, kernel = _ALLOWED * 2.0 * half / total, self._kernel
        nu = min(self.nu, most)
        limits, each = (np.minimum(y * weight, 0.0), np.maximum(y * weight, 0.0)), 0.5 * nu * total
        # with the most, a class is at its bounds altogether, and its offset is one of an interval
        groups = (y < 0).astype(np.intp) if nu < most else None
        return Task(
            lambda: problems.NuSVC(samples(), y, nu, kernel, weight),
            np.zeros(y.size), y, limits, groups=groups, sums=(each, -each),
        )  # fmt: skip


@dataclass(eq=False, repr=False, kw_only=True)
class SVR(KernelMachine, svm.SVR):  # pyright: ignore[reportUntypedBaseClass]
    """Support vector regression: scikit-learn's `SVR`, certified.

    min ½‖w‖² + Σ Cᵢ·max(0, |yᵢ − wᵀφ(xᵢ) − b| − epsilon) with Cᵢ = C·sample weight.

    Parameters and attributes are scikit-learn's, and those of `SVC`; C is inf for a function that keeps
    within epsilon of all targets.
    """

    C: Any = 1.0
    epsilon: Any = 0.1
    fit_intercept: Any = True
    warm_start: Any = False

    def _task(self, samples: Callable[[], Matrix], y: Vector, weight: Vector, last: Any) -> Task:
        return self._slack(samples, y, self.C * weight, last)

    def _slack(self, samples: Callable[[], Matrix], y: Vector, C: Vector, last: Any) -> Task:
        epsilon, kernel, intercept = self.epsilon, self._kernel, bool(self.fit_intercept)
        start = None if last is None else within(last, -C, C, intercept)
        return Task(
            lambda: SVRDual(samples(), y, C, epsilon, kernel, intercept),
            y, np.ones(y.size), (-C, C), epsilon, intercept, start,
        )  # fmt: skip

    def _answered(self, X: Matrix, tasks: list[Task], places: Any) -> list[Answer]:
        """With slacks at any price: a C that no |βᵢ| reaches is as good as inf."""
        if np.isfinite(self.C):
            return super()._answered(X, tasks, places)

        def samples() -> Matrix:
            return X

        y = tasks[0].y
        for C in (float(np.abs(y - y.mean()).max()) or 1.0) * np.array([1e2, 1e5, 1e8]):
            tasks[:] = [self._slack(samples, y, np.full(y.size, C), None)]
            [answer] = super()._answered(X, tasks, places)
            if not answer.converged:
                break
            if np.abs(answer.point.alpha).max() < 0.99 * C:
                return [answer]
        raise ValueError(
            "C: is infinite, and no function was found that keeps within epsilon of all targets; use a "
            "finite C, or a larger epsilon"
        )


@dataclass(eq=False, repr=False, kw_only=True)
class NuSVR(KernelMachine, svm.NuSVR):  # pyright: ignore[reportUntypedBaseClass]
    """ν-support vector regression: scikit-learn's `NuSVR`, certified.

    min ½‖w‖² + Σ Cᵢ·max(0, |yᵢ − wᵀφ(xᵢ) − b| − ε) + ε·ν·ΣCᵢ over w, b and ε ≥ 0, Cᵢ = C·sample weight.

    Parameters and attributes are scikit-learn's, and those of `SVC`.
    """

    nu: Any = 0.5
    C: Any = 1.0

    def _task(self, samples: Callable[[], Matrix], y: Vector, weight: Vector, last: Any) -> Task:
        C, nu, kernel = self.C * weight, self.nu, self._kernel
        each, groups = 0.5 * nu * float(C.sum()), np.repeat([0, 1], y.size)
        return Task(
            lambda: problems.NuSVR(samples(), y, nu, C, kernel),
            y, np.ones(y.size), (-C, C), groups=groups, sums=(each, -each),
        )  # fmt: skip


@dataclass(eq=False, repr=False, kw_only=True)
class OneClassSVM(KernelMachine, svm.OneClassSVM):  # pyright: ignore[reportUntypedBaseClass]
    """The one-class machine, which tells what is novel: scikit-learn's `OneClassSVM`, certified.

    min ½‖w‖² − ν·ΣCᵢ·ρ + Σ Cᵢ·max(0, ρ − wᵀφ(xᵢ)), where Cᵢ is the weight of a sample.

    Parameters and attributes are scikit-learn's, and those of `SVC`.
    """

    nu: Any = 0.5

    def _task(self, samples: Callable[[], Matrix], y: Vector, weight: Vector, last: Any) -> Task:
        nu, kernel, zero = self.nu, self._kernel, np.zeros(y.size)
        return Task(
            lambda: problems.OneClassSVM(samples(), nu, kernel, weight),
            zero, np.ones(y.size), (zero, weight),
            groups=np.zeros(y.size, np.intp), sums=(nu * float(weight.sum()),),
        )  # fmt: skip

    def _answered(self, X: Matrix, tasks: list[Task], places: Any) -> list[Answer]:
        [answer] = super()._answered(X, tasks, places)
        largest = float(answer.point.alpha.sum() * self._kernel.diagonal(X).max())
        self._rounding = max(_ON_BOUNDARY * abs(answer.point.b), _CANCELLED * largest)
        return [answer]

    def decision_function(self, X: Any) -> Any:
        """Return f (m,), below 0 for what is novel, and 0 where it is but for rounding."""
        f = super().decision_function(X)
        f[np.abs(f) <= self._rounding] = 0.0
        return f

    def predict(self, X: Any) -> Any:
        """Return 1 (m,) for the class itself and −1 for what is novel."""
        return np.where(self.decision_function(X) >= 0, 1, -1).astype(np.intp)
