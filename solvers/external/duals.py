"""LIBSVM's five duals: which of them a problem has, as a scikit-learn estimator, and its answer.

The loss and the costs of the offsets decide, not the problem's class: a risk with the hinge loss and an
intercept is C-SVC too.
"""

import importlib
import warnings
from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from dualgap.problems.arithmetic.intervals import UNIT
from dualgap.problems.dataset import Matrix, Vector
from dualgap.problems.forms import FormPoint
from dualgap.problems.formulations.formulation import Formulation
from dualgap.problems.formulations.nu import Shortfall
from dualgap.problems.kernels import RBF, Kernel, Linear, Polynomial, Sigmoid, as_dense
from dualgap.problems.losses import EpsilonInsensitive, Hinge, Perceptron
from dualgap.solvers.base import Solver
from dualgap.solvers.needs import INTERCEPT, Need

DUALS = {  # by scikit-learn estimator
    "SVC": "C-SVC",
    "SVR": "epsilon-SVR",
    "NuSVC": "ν-SVC",
    "NuSVR": "ν-SVR",
    "OneClassSVM": "one class",
}

# `tol` below which LIBSVM's float32 kernel values limit the gap: it gained nothing on 19 problems
SINGLE_PRECISION_TOL = 1e-9


class EstimatorDual(NamedTuple):
    """The dual of a problem as a scikit-learn estimator, with its settings except for the kernel."""

    problem: Formulation
    estimator: str
    settings: dict[str, float]

    def alpha(self, beta: Vector) -> Vector:
        """Return the dual variables for LIBSVM's coefficients β (n,).

        Those of ν-SVC are divided by ρ, whose size follows from their sum; it is negative if the
        tolerance exceeds the margin.
        """
        if self.estimator not in ("NuSVC", "OneClassSVM"):
            return self.problem.risk.alpha(beta)
        return np.abs(beta) * (np.abs(self.problem.risk.costs).sum() / np.abs(beta).sum())


def dual_of(problem: Formulation) -> EstimatorDual:
    """Return the dual of a problem, with or without an intercept; its estimator may be "none"."""
    risk, costs = problem.risk, problem.risk.costs
    # ratio of costs to weights, reduced so that rounding does not make it infeasible
    nu = {"nu": np.abs(costs).sum() / risk.C.sum() * (1 - 2 * UNIT)}
    match None if risk.terms is None else risk.loss, costs.tolist():
        case Hinge(), [] | [0.0]:
            chosen = "SVC", {"C": 1.0}
        case EpsilonInsensitive(epsilon), [] | [0.0]:
            chosen = "SVR", {"C": 1.0, "epsilon": epsilon}
        case Perceptron(), [_, _]:
            chosen = "NuSVC", nu
        case EpsilonInsensitive(), [_, _]:
            chosen = "NuSVR", {"C": 1.0, **nu}
        # SVDD's targets are equal if k(x, x) is the same for all samples
        case Perceptron() | Shortfall(), [_] if np.ptp(risk.y) == 0:
            chosen = "OneClassSVM", nu
        case _:
            chosen = "none", {}
    return EstimatorDual(problem, *chosen)


# which LIBSVM and oneDAL compute themselves
NATIVE_KERNELS = (Linear, RBF, Polynomial, Sigmoid)


def library_needs(
    duals: tuple[str, ...] = tuple(DUALS), only_native: bool = True, one_C: bool = False
) -> tuple[Need, ...]:
    """Return the requirements of a library that solves LIBSVM's duals.

    Parameters
    ----------
    duals : scikit-learn estimators of the supported duals.
    only_native : whether it supports no Gram matrix of another kernel.
    one_C : whether it supports only one C for all samples.
    """
    native = Need(
        "one of the kernels linear, RBF, polynomial and sigmoid",
        lambda form, _: isinstance(form.kernel, NATIVE_KERNELS),
    )
    gram = Need(
        "a Gram matrix of this kernel that fits in memory",
        lambda form, _: isinstance(form.kernel, NATIVE_KERNELS) or form.samples.gram().fits,
    )
    one_weight = Need("one C for all samples", lambda form, _: np.ptp(form.risk.C) == 0)
    *names, last = (DUALS[name] for name in duals)
    return (
        Need(
            f"one of the duals {', '.join(names)} and {last}",
            lambda form, _: dual_of(form).estimator in duals,
        ),
        native if only_native else gram,
        INTERCEPT,
        Need("a finite C, as it has no hard margin", lambda form, _: not form.risk.is_hard),
        *((one_weight,) if one_C else ()),
        Need(
            "samples of both classes",
            lambda form, _: dual_of(form).estimator != "SVC" or np.ptp(form.y) > 0,
        ),
    )


@dataclass(frozen=True)
class DualBaseline(Solver):
    """Base of solvers of LIBSVM's duals, or of some of them."""

    form: ClassVar = Formulation
    needs: ClassVar = library_needs()
    warm_up_size: ClassVar = 32
    warm_up_settings: ClassVar = {"tol": 0.1}  # with a fine one oneDAL may never end in float32


def kernel_settings(kernel: Kernel) -> dict[str, Any]:
    """Return a kernel as settings of scikit-learn's estimators."""
    match kernel:
        case Linear():
            return {"kernel": "linear"}
        case RBF(gamma):
            return {"kernel": "rbf", "gamma": gamma}
        case Polynomial(degree, gamma, coef0):
            return {"kernel": "poly", "degree": int(degree), "gamma": gamma, "coef0": coef0}
        case Sigmoid(gamma, coef0):
            return {"kernel": "sigmoid", "gamma": gamma, "coef0": coef0}
        case _:
            return {"kernel": "precomputed"}


@dataclass(frozen=True)
class EstimatorBaseline(DualBaseline):
    """Base of LIBSVM and oneDAL, which are called through scikit-learn's estimators.

    Attributes
    ----------
    unlimited : the `max_iter` that means no limit.
    """

    tol: float | None = None
    max_iter: int | None = None
    cache_size: float = 1000.0

    unlimited: ClassVar[int] = -1

    def prepare(self, problem: Formulation) -> tuple[Formulation, Matrix]:
        """Import the library; return the problem and the samples to pass to the library."""
        return super().prepare(problem), problem.X

    def iterates(self, state: tuple[Formulation, Matrix]) -> Iterator[FormPoint]:
        """Yield once, at the end."""
        problem, samples = state
        svm, dual = importlib.import_module(self.packages[0][0]), dual_of(problem)
        gram, native = problem.samples.gram(), isinstance(problem.kernel, NATIVE_KERNELS)
        estimator = getattr(svm, dual.estimator)(
            tol=self.tolerance,
            max_iter=self.unlimited if self.max_iter is None else int(self.max_iter),
            cache_size=self.cache_size,
            **dual.settings,
            **self.extra_settings(),
            **kernel_settings(problem.kernel),
        )
        estimator.random_state = 0  # else `fit` draws a seed, never used, from the global state
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about its limit, which the claim shows
            estimator.fit(
                samples if native else gram.dense(),
                problem.y,
                sample_weight=problem.risk.C,  # times C = 1
            )
        stopped = self.is_stopped(estimator)  # first, as it checks that the library ran at all
        beta = np.zeros(problem.n)
        beta[estimator.support_] = as_dense(estimator.dual_coef_).ravel()
        yield FormPoint(
            dual.alpha(beta),
            iterations=int(np.sum(estimator.n_iter_)),
            claim="stopped" if stopped else "optimal",
            counters={"kernel_evaluations": gram.evaluations},
        )

    def extra_settings(self) -> dict[str, Any]:
        """Return settings that only this library's estimators have: by default none."""
        return {}

    @abstractmethod
    def is_stopped(self, estimator: Any) -> bool:
        """Whether it stopped at its limit."""
