"""LIBSVM's five duals: which of them a problem has, in scikit-learn's words, and the answer to it.

A problem is judged by its loss and its offsets' costs and not by its class: a risk with the hinge loss
and an intercept is C-SVC too.
"""

import importlib
import warnings
from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from dualgap.problems.arithmetic.rounding import UNIT
from dualgap.problems.dataset import Matrix, Vector
from dualgap.problems.forms import FormPoint
from dualgap.problems.formulations.formulation import Formulation
from dualgap.problems.formulations.svdd import Shortfall
from dualgap.problems.kernels import RBF, Kernel, Linear, Polynomial, Sigmoid, as_dense
from dualgap.problems.losses import EpsilonInsensitive, Hinge, Perceptron
from dualgap.solvers.base import Solver

DUALS = {  # by scikit-learn's estimators
    "SVC": "C-SVC",
    "SVR": "epsilon-SVR",
    "NuSVC": "ν-SVC",
    "NuSVR": "ν-SVR",
    "OneClassSVM": "one class",
}

# `tol` from which on LIBSVM's kernel values in float32 decide the gap: a finer one gained nothing on 19
# problems.
SINGLE_PRECISION = 1e-9


class Dual(NamedTuple):
    """The dual of a problem in scikit-learn's words: the estimator, and its settings but the kernel."""

    problem: Formulation
    estimator: str
    settings: dict[str, float]

    def alpha(self, beta: Vector) -> Vector:
        """Return the dual variables for LIBSVM's coefficients β (n,).

        Those of ν-SVC are divided by ρ; their sum tells it.
        """
        alpha = self.problem.signs * beta
        if self.estimator not in ("NuSVC", "OneClassSVM"):
            return alpha
        return alpha * (np.abs(self.problem.costs).sum() / np.abs(beta).sum())


def dual_of(problem: Formulation) -> Dual:
    """Return the dual that a problem has, with an intercept or without; its estimator may be "none"."""
    costs = problem.costs
    # the share of all weights that the costs are, but not above what can be: it may be rounded up
    nu = {"nu": np.abs(costs).sum() / problem.weight.sum() * (1 - 2 * UNIT)}
    match None if problem.pieces is None else problem.loss, costs.tolist():
        case Hinge(), [] | [0.0]:
            made = "SVC", {"C": 1.0}
        case EpsilonInsensitive(epsilon), [] | [0.0]:
            made = "SVR", {"C": 1.0, "epsilon": epsilon}
        case Perceptron(), [_, _]:
            made = "NuSVC", nu
        case EpsilonInsensitive(), [_, _]:
            made = "NuSVR", {"C": 1.0, **nu}
        # SVDD's targets are equal where k(x, x) is the same for all samples
        case Perceptron() | Shortfall(), [_] if np.ptp(problem.y) == 0:
            made = "OneClassSVM", nu
        case _:
            made = "none", {}
    return Dual(problem, *made)


@dataclass(frozen=True)
class DualBaseline(Solver):
    """Base of solvers of LIBSVM's duals, or of some of them.

    Attributes
    ----------
    duals : scikit-learn's estimators of those that it solves.
    kernels : those that it computes itself.
    one_weight : whether it takes one C for all samples only.
    """

    duals: ClassVar[tuple[str, ...]] = tuple(DUALS)
    kernels: ClassVar[tuple[type[Kernel], ...]] = (Linear, RBF, Polynomial, Sigmoid)
    one_weight: ClassVar[bool] = False
    form: ClassVar = Formulation
    warm_up_size: ClassVar = 32

    def refuses(self, problem: Formulation) -> str | None:
        """Problems with other duals, other kernels, and what no such solver takes."""
        if not isinstance(problem.kernel, self.kernels):
            known = ", ".join(kernel.__name__ for kernel in self.kernels)
            return f"{self.name} computes these kernels only: {known}"
        dual = dual_of(problem)
        if dual.estimator not in self.duals:
            *names, last = (DUALS[name] for name in self.duals)
            return f"{self.name} solves only the duals of {', '.join(names)} and {last}"
        if not problem.intercept:
            return f"{self.name} always has an intercept"
        if not problem.is_bounded:
            return f"{self.name} has no hard margin: C must be finite"
        if self.one_weight and np.ptp(problem.weight) > 0:
            return f"{self.name} takes one C for all samples, not one for each"
        one = dual.estimator == "SVC" and np.ptp(problem.y) == 0
        return f"{self.name} needs samples of both classes" if one else None


def kernel_settings(kernel: Kernel) -> dict[str, Any]:
    """Return what scikit-learn's estimators call a kernel."""
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
    """Base of LIBSVM and oneDAL, which are reached through scikit-learn's estimators.

    Attributes
    ----------
    no_limit : the `max_iter` that it takes for none.
    """

    tol: float | None = None
    max_iter: int | None = None
    cache_size: float = 1000.0

    no_limit: ClassVar[int] = -1

    def prepare(self, problem: Formulation) -> tuple[Formulation, Matrix]:
        """Import the library; return the problem and the samples that the library is given."""
        return super().prepare(problem), problem.X

    def iterates(self, state: tuple[Formulation, Matrix]) -> Iterator[FormPoint]:
        """Yield once, at the end."""
        problem, samples = state
        svm, dual = importlib.import_module(self.needs[0][0]), dual_of(problem)
        gram, native = problem.gram(), isinstance(problem.kernel, DualBaseline.kernels)
        estimator = getattr(svm, dual.estimator)(
            tol=self.tolerance,
            max_iter=self.no_limit if self.max_iter is None else int(self.max_iter),
            cache_size=self.cache_size,
            **dual.settings,
            **self.own_settings(),
            **kernel_settings(problem.kernel),
        )
        estimator.random_state = 0  # else `fit` draws a seed, never used, from the global state
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of its limit, which the claim states
            estimator.fit(
                samples if native else gram.dense(),
                problem.y,
                sample_weight=problem.weight,  # times C = 1
            )
        stopped = self.is_stopped(estimator)  # first, as it says whether the library ran at all
        beta = np.zeros(problem.n)
        beta[estimator.support_] = as_dense(estimator.dual_coef_).ravel()
        yield FormPoint(
            dual.alpha(beta),
            iterations=int(np.sum(estimator.n_iter_)),
            claim="stopped" if stopped else "optimal",
            counters={"kernel_evaluations": gram.evaluations},
        )

    def own_settings(self) -> dict[str, Any]:
        """Return the settings of the estimators that not all libraries have: by default none."""
        return {}

    @abstractmethod
    def is_stopped(self, estimator: Any) -> bool:
        """Return whether it ended at its limit."""
