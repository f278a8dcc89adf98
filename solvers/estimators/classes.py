"""The estimators with a kernel: what each adds to scikit-learn's parameters, and its problem."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn import svm
from sklearn.svm._base import BaseLibSVM

from dualgap import problems
from dualgap.problems import Formulation, HardMarginDual, SoftMarginDual, SVRDual, Vector
from dualgap.solvers.estimators.machines import KernelMachine, PairMachine

_ALLOWED = 1.0 - 1e-12  # of the largest nu, which rounding could put above it
_PRICE = 1e8  # of a slack where none is allowed, in units of the targets

Problem = tuple[type[Formulation], dict[str, Any]]


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
    refine : whether problems of up to 1000 samples are solved to a millionth of `tol` (with `callback`,
        `verbose`, or where that leads nowhere to a relative gap of 1e-6). That takes little longer, and
        weights of samples do exactly what repeating the samples does.
    verbose : log the certified progress of each problem (logger "dualgap.solvers.estimators.certified",
        level INFO): `logging.basicConfig(level=logging.INFO)` shows it.
    callback : called with each `solvers.Evaluation` while a problem is solved; its `certificate` says
        what the point is worth. With it or `verbose` small problems take some milliseconds more.
    fit_intercept : False for f(x) = wᵀφ(x), without b.
    warm_start : begin where the last fit ended, if it was on as many samples.
    max_iter : of each problem, in the solver's own count; -1 for the solver's own limit.
    random_state : a whole number is the seed of solvers that draw.
    solver : a `Solver`, used as it is; the name of one, which takes what it has of `tol`, `max_iter`,
        `cache_size`, `shrinking` and the seed; None for the default of `solve` (dual coordinate descent
        where the kernel is linear, semismooth Newton where K is nearly its diagonal, else SMO), but
        for SMO up to 1000 samples.

    `certificate_` says what the answer is worth; `classes_` are those of samples with a positive weight.
    """

    C: Any = 1.0
    fit_intercept: Any = True
    warm_start: Any = False

    def _problem(self, y: Vector, weight: Vector) -> Problem:
        how = {"intercept": bool(self.fit_intercept)}
        if np.isinf(self.C):
            return HardMarginDual, how
        return SoftMarginDual, {"C": self.C * weight, **how}


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

    def _problem(self, y: Vector, weight: Vector) -> Problem:
        half = min(weight[y > 0].sum(), weight[y < 0].sum())
        nu = min(self.nu, _ALLOWED * 2.0 * float(half / weight.sum()))
        return problems.NuSVC, {"nu": nu, "C": weight}


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

    def _problem(self, y: Vector, weight: Vector) -> Problem:
        self._price = _PRICE * (float(np.abs(y - y.mean()).max()) or 1.0)
        C = self.C * weight if np.isfinite(self.C) else np.full(y.size, self._price)
        how = {"epsilon": self.epsilon, "intercept": bool(self.fit_intercept)}
        return SVRDual, {"C": C, **how}

    def _finish(self) -> None:
        """Refuse slacks where C is infinite: a C that no |βᵢ| reaches is as good."""
        inside = np.abs(self.dual_coef_).max(initial=0.0) < 0.99 * self._price
        if np.isinf(self.C) and not (inside and self.fit_status_ == 0):
            raise ValueError(
                "C: is infinite, and no function was found that keeps within epsilon of all targets; "
                "use a finite C, or a larger epsilon"
            )


@dataclass(eq=False, repr=False, kw_only=True)
class NuSVR(KernelMachine, svm.NuSVR):  # pyright: ignore[reportUntypedBaseClass]
    """ν-support vector regression: scikit-learn's `NuSVR`, certified.

    min ½‖w‖² + Σ Cᵢ·max(0, |yᵢ − wᵀφ(xᵢ) − b| − ε) + ε·ν·ΣCᵢ over w, b and ε ≥ 0, Cᵢ = C·sample weight.

    Parameters and attributes are scikit-learn's, and those of `SVC`.
    """

    nu: Any = 0.5
    C: Any = 1.0

    def _problem(self, y: Vector, weight: Vector) -> Problem:
        return problems.NuSVR, {"nu": self.nu, "C": self.C * weight}


@dataclass(eq=False, repr=False, kw_only=True)
class OneClassSVM(KernelMachine, svm.OneClassSVM):  # pyright: ignore[reportUntypedBaseClass]
    """The one-class machine, which tells what is novel: scikit-learn's `OneClassSVM`, certified.

    min ½‖w‖² − ν·ΣCᵢ·ρ + Σ Cᵢ·max(0, ρ − wᵀφ(xᵢ)), where Cᵢ is the weight of a sample.

    Parameters and attributes are scikit-learn's, and those of `SVC`. Predictions are LIBSVM's: 1 where
    f > 0, and −1 elsewhere. Training samples with 0 < αᵢ < Cᵢ are on the boundary, where f = 0 in exact
    arithmetic: tolerance and rounding decide their side, in both libraries. So that rounding alone does
    not, `refine` is False by default: on these samples the two libraries then agree on 87 % in the
    mean of 40 problems, where scikit-learn agrees with itself on 70 % after a permutation of the
    samples. On all other samples they agree.
    """

    nu: Any = 0.5
    refine: Any = False

    def _problem(self, y: Vector, weight: Vector) -> Problem:
        return problems.OneClassSVM, {"nu": self.nu, "C": weight}

    # LIBSVM's, which sum each row alone: rounding in products of matrices depends on the other rows, and
    # decides the side of samples on the boundary
    _dense_decision_function = BaseLibSVM._dense_decision_function
    _dense_predict = BaseLibSVM._dense_predict
