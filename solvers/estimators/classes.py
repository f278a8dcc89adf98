"""The kernel estimators: their parameters in addition to scikit-learn's, and their problems."""

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn import svm
from sklearn.svm._base import BaseLibSVM

from dualgap import problems
from dualgap.problems import Formulation, HardMarginDual, SoftMarginDual, SVRDual, Vector
from dualgap.problems.problem import replace_fields
from dualgap.solvers.estimators.certified import GramMatrices, ProblemFactory
from dualgap.solvers.estimators.direct import Fit
from dualgap.solvers.estimators.machines import KernelMachine, PairMachine

Problem = tuple[type[Formulation], dict[str, Any]]


@dataclass(eq=False, repr=False, kw_only=True)
class SVC(PairMachine, svm.SVC):
    """Soft-margin support vector classification: scikit-learn's `SVC`, certified.

    One machine per pair of classes, min ½‖w‖² + Σ Cᵢ·max(0, 1 − yᵢ(wᵀφ(xᵢ) + b)) with
    Cᵢ = C·class weight·sample weight; they vote. Parameters and attributes are scikit-learn's, and:

    Parameters
    ----------
    C : weight of the slacks, above 0; inf is the hard margin.
    kernel : also a kernel of `problems`, such as `RBF(0.1) + Linear()`.
    gamma : "scale" is 1/(d·Var(X)), with the weighted variance.
    shrinking : for solvers that have it as a setting ("libsvm"); SMO always shrinks.
    refine : whether problems with up to 1000 samples are solved to a millionth of `tol` (with
        `callback` or `verbose`, or if that makes no progress, to a relative gap of 1e-6). This takes
        little longer, and makes sample weights exactly equivalent to repeated samples.
    verbose : log the certified progress of each problem (logger "dualgap.solvers.estimators.certified",
        level INFO): `logging.basicConfig(level=logging.INFO)` shows it.
    callback : called with each `solvers.Evaluation` while a problem is solved; its `certificate` bounds
        the optimum. With it or `verbose` small problems take a few milliseconds longer.
    fit_intercept : False for f(x) = wᵀφ(x), without b.
    warm_start : start at the last answer, if the number of samples is the same.
    max_iter : limit per problem, as the solver counts iterations; -1 for the solver's default.
    random_state : an integer is the seed of randomised solvers.
    solver : a `Solver`, used unchanged; or its name, for a solver with those of `tol`, `max_iter`,
        `cache_size`, `shrinking` and the seed that it has as settings; None for the default of `solve`
        (dual coordinate descent if the kernel is linear, semismooth Newton if K is nearly diagonal, else
        SMO), and SMO up to 1000 samples.

    `certificate_` bounds the optimum; `classes_` are those of samples with a positive weight.
    """

    C: Any = 1.0
    fit_intercept: Any = True
    warm_start: Any = False

    def _problem(self, y: Vector, weight: Vector) -> Problem:
        fields = {"intercept": bool(self.fit_intercept)}
        if np.isinf(self.C):
            return HardMarginDual, fields
        return SoftMarginDual, {"C": self.C * weight, **fields}


@dataclass(eq=False, repr=False, kw_only=True)
class NuSVC(PairMachine, svm.NuSVC):
    """ν-support vector classification: scikit-learn's `NuSVC`, certified.

    One machine per pair of classes, min ½‖w‖² − ν·ΣCᵢ·ρ + Σ Cᵢ·max(0, ρ − yᵢ(wᵀφ(xᵢ) + b)) with
    Cᵢ = class weight·sample weight, and decisions divided by ρ; they vote. A pair uses
    2·min(n₊, n₋)/n if that is less than `nu`: no machine exists for more.

    Parameters and attributes are scikit-learn's, and those of `SVC`. `certificate_` is for the machines
    before their decisions are divided by ρ.
    """

    nu: Any = 0.5

    def _problem(self, y: Vector, weight: Vector) -> Problem:
        half = min(weight[y > 0].sum(), weight[y < 0].sum())
        # kept below its largest value despite rounding
        nu = min(self.nu, (1.0 - 1e-12) * 2.0 * float(half / weight.sum()))
        return problems.NuSVC, {"nu": nu, "C": weight}


@dataclass(eq=False, repr=False, kw_only=True)
class SVR(KernelMachine, svm.SVR):
    """Support vector regression: scikit-learn's `SVR`, certified.

    min ½‖w‖² + Σ Cᵢ·max(0, |yᵢ − wᵀφ(xᵢ) − b| − epsilon) with Cᵢ = C·sample weight.

    Parameters and attributes are scikit-learn's, and those of `SVC`; C = inf asks for a function
    within epsilon of all targets.
    """

    C: Any = 1.0
    epsilon: Any = 0.1
    fit_intercept: Any = True
    warm_start: Any = False

    def _problem(self, y: Vector, weight: Vector) -> Problem:
        C = self.C * weight if np.isfinite(self.C) else np.ones(y.size)
        fields = {"epsilon": self.epsilon, "intercept": bool(self.fit_intercept)}
        return SVRDual, {"C": C, **fields}

    def _solve_all(
        self, problems: list[ProblemFactory], matrices: GramMatrices = None
    ) -> list[Fit]:
        """Solve the problems; C = inf is replaced by a growing C until no |βᵢ| reaches it.

        Such a C is equivalent. Raises ValueError if even the largest C is reached.
        """
        if np.isfinite(self.C):
            return super()._solve_all(problems, matrices)
        problem = problems[0]()
        size = float(np.abs(problem.kernel.diagonal(problem.X)).max()) or 1.0
        unit = (float(np.abs(problem.y - problem.y.mean()).max()) or 1.0) / size
        # an infinite C is replaced by one above all |βᵢ|
        for C in unit * np.array([1.0, 1e2, 1e4, 1e6, 1e8, 1e10]):
            answers = super()._solve_all([partial(replace_fields, problem, C=float(C))])
            beta: Any = answers[0].point.alpha
            inside = np.abs(beta).max() < 0.99 * C
            if inside and self.fit_status_ == 0:
                return answers
        raise ValueError(
            "C: must be finite, as no function was found within epsilon of all targets; or use a "
            "larger epsilon"
        )


@dataclass(eq=False, repr=False, kw_only=True)
class NuSVR(KernelMachine, svm.NuSVR):
    """ν-support vector regression: scikit-learn's `NuSVR`, certified.

    min ½‖w‖² + Σ Cᵢ·max(0, |yᵢ − wᵀφ(xᵢ) − b| − ε) + ε·ν·ΣCᵢ over w, b and ε ≥ 0, Cᵢ = C·sample weight.

    Parameters and attributes are scikit-learn's, and those of `SVC`.
    """

    nu: Any = 0.5
    C: Any = 1.0

    def _problem(self, y: Vector, weight: Vector) -> Problem:
        return problems.NuSVR, {"nu": self.nu, "C": self.C * weight}


@dataclass(eq=False, repr=False, kw_only=True)
class OneClassSVM(KernelMachine, svm.OneClassSVM):
    """The one-class machine for novelty detection: scikit-learn's `OneClassSVM`, certified.

    min ½‖w‖² − ν·ΣCᵢ·ρ + Σ Cᵢ·max(0, ρ − wᵀφ(xᵢ)), where Cᵢ is the weight of a sample.

    Parameters and attributes are scikit-learn's, and those of `SVC`. As in LIBSVM, predictions are 1 if
    f > 0, else −1. Training samples with 0 < αᵢ < Cᵢ are on the boundary, where f = 0 in exact
    arithmetic, so that tolerance and rounding decide their side in both libraries. `refine` is False by
    default, so that rounding alone does not: the libraries then agree on 87 % of these samples, in the
    mean over 40 problems, whereas scikit-learn agrees with itself on 70 % after a permutation of the
    samples. On all other samples they agree.
    """

    nu: Any = 0.5
    refine: Any = False

    def _problem(self, y: Vector, weight: Vector) -> Problem:
        return problems.OneClassSVM, {"nu": self.nu, "C": weight}

    # LIBSVM's functions sum each row separately: in matrix products rounding, which decides the side of
    # samples on the boundary, would depend on the other rows
    _dense_decision_function = BaseLibSVM._dense_decision_function
    _dense_predict = BaseLibSVM._dense_predict
