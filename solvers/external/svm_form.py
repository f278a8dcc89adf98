"""LIBSVM's five duals, recognised in a box QP and expressed in scikit-learn's parameters.

C-SVC        p = −1, a = y, 0 ≤ x ≤ C
epsilon-SVR  every sample twice, with signs +1 and −1: p = [epsilon − y, epsilon + y]
ν-SVC        p = 0, a = y, for each label Σx = ½ν·ΣC
ν-SVR        as epsilon-SVR with epsilon = 0, for each sign Σx = ½ν·ΣC
one class    p = 0, a = 1, Σx = ν·ΣC
"""

from __future__ import annotations

import importlib
import warnings
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from problems.dataset import Matrix, Vector
from problems.forms import BoxQP, FormPoint
from problems.kernels import RBF, Linear, Polynomial, Sigmoid, as_dense
from problems.rounding import UNIT
from solvers.numerics.warm_up import WarmedUpSolver

NATIVE_KERNELS = (Linear, RBF, Polynomial, Sigmoid)
DUALS = {  # by scikit-learn's estimators
    "SVC": "C-SVC",
    "SVR": "epsilon-SVR",
    "NuSVC": "ν-SVC",
    "NuSVR": "ν-SVR",
    "OneClassSVM": "one class",
}


@dataclass(frozen=True)
class SupportVectorBaseline(WarmedUpSolver):
    """Base of LIBSVM and oneDAL, which are reached through scikit-learn's estimators."""

    tol: float = 1e-3
    max_iter: int | None = None
    cache_size: float = 1000.0

    form: ClassVar = BoxQP

    def converted(self, form: BoxQP) -> tuple[BoxQP, Matrix]:
        """Return a form and the samples that the library is given."""
        return form, form.gram.X

    def iterates(self, state: tuple[BoxQP, Matrix]) -> Iterator[FormPoint]:
        """Yield once, at the end."""
        form, samples = state
        svm, kernel = importlib.import_module(self.needs[0][0]), form.gram.kernel
        posed = posed_as(form)
        assert posed is not None
        settings = {"tol": self.tol, "cache_size": self.cache_size} | posed.settings
        settings |= self._settings() | kernel_settings(kernel)
        estimator = getattr(svm, posed.estimator)(**settings)
        estimator.random_state = 0  # else `fit` draws a seed, never used, from the global state
        samples = samples if isinstance(kernel, NATIVE_KERNELS) else form.gram.dense()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of its limit, which the claim states
            # with C = 1 each Cᵢ is the weight of its sample
            estimator.fit(samples, posed.targets, sample_weight=form.ub[: form.gram.n])
        stopped = self._is_stopped(estimator)
        beta = np.zeros(form.gram.n)
        beta[estimator.support_] = as_dense(estimator.dual_coef_).ravel()
        yield FormPoint(
            recovered(form, beta),
            iterations=int(np.sum(estimator.n_iter_)),
            claim="stopped" if stopped else "optimal",
        )

    @abstractmethod
    def _settings(self) -> dict[str, Any]:
        """Return the settings of the estimators that are its own."""

    @abstractmethod
    def _is_stopped(self, estimator: Any) -> bool:
        """Return whether it ended at its limit."""


class PosedAs(NamedTuple):
    """A dual in scikit-learn's words: the estimator, its settings besides the kernel, and targets."""

    estimator: str
    settings: dict[str, float]
    targets: Vector | None


def posed_as(form: BoxQP) -> PosedAs | None:
    """Return the dual that a form is, or None if it is none of the five."""
    # the share of all weights that the sums are, but not above what can be: it may be rounded up
    share = np.abs(form.delta).sum() / form.ub[: form.gram.n].sum() * (1 - 2 * UNIT)
    if is_classification(form):
        return PosedAs("SVC", {"C": 1.0}, form.a)
    if is_regression(form):
        targets, epsilon = regression_targets(form)
        return PosedAs("SVR", {"C": 1.0, "epsilon": epsilon}, targets)
    if _is_one_class(form):
        return PosedAs("OneClassSVM", {"nu": share}, None)
    if _is_nu_classification(form):
        return PosedAs("NuSVC", {"nu": share}, form.a)
    if _is_nu_regression(form):
        return PosedAs("NuSVR", {"C": 1.0, "nu": share}, regression_targets(form)[0])
    return None


def refuse_other_duals(
    form: BoxQP, solver: str, solved: Sequence[str] = ("SVC", "SVR")
) -> str | None:
    """Return why a form is none of the duals that are `solved`, by their estimators; None if it is."""
    if form.a is None:
        return f"{solver} always has an intercept"
    if not np.isfinite(form.ub).all():
        return f"{solver} has no hard margin: C must be finite"
    posed = posed_as(form)
    if posed is None or posed.estimator not in solved:
        *names, last = (DUALS[name] for name in solved)
        return f"{solver} solves only the duals of {', '.join(names)} and {last}"
    one = posed.estimator == "SVC" and np.ptp(form.Q.sign) == 0
    return f"{solver} needs samples of both classes" if one else None


def kernel_settings(kernel: Any) -> dict[str, Any]:
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


def is_classification(form: BoxQP) -> bool:
    """Return whether a form is the dual of C-SVC: p = −1, a = y."""
    return _is_labelled(form) and _has_no_sum(form) and bool((form.p == -1).all())


def is_regression(form: BoxQP) -> bool:
    """Return whether a form is the dual of epsilon-SVR: every sample twice, signs +1 and −1."""
    return _is_doubled(form) and _has_no_sum(form)


def _is_one_class(form: BoxQP) -> bool:
    """Whether a form is the dual of the one-class machine: a = 1, and one sum that is not 0.

    That of SVDD is one too where k(x, x) is the same for all samples.
    """
    plain = _is_labelled(form) and form.groups is None and bool((form.p == form.p[0]).all())
    return plain and bool((form.Q.sign == 1).all() and form.delta[0] > 0)


def _is_nu_classification(form: BoxQP) -> bool:
    """Whether a form is the dual of ν-SVC: p = 0, a = y, and for each label the same sum."""
    return _is_labelled(form) and not form.p.any() and _has_two_sums(form, form.Q.sign)


def _is_nu_regression(form: BoxQP) -> bool:
    """Whether a form is the dual of ν-SVR: that of SVR without a tube, with a sum for each sign."""
    same = _is_doubled(form) and bool((form.p[: form.gram.n] == -form.p[form.gram.n :]).all())
    return same and _has_two_sums(form, form.Q.sign)


def _is_labelled(form: BoxQP) -> bool:
    """Whether there is a variable for each sample, in [0, C], with the sign y = a."""
    if form.n != form.gram.n or form.a is None or form.lb.any():
        return False
    labelled = bool((np.abs(form.a) == 1).all() and (form.Q.sign == form.a).all())
    return labelled and bool((form.Q.index == np.arange(form.n)).all())


def _is_doubled(form: BoxQP) -> bool:
    """Whether there are two variables for each sample, in [0, C], with signs a of +1 and −1."""
    n = form.gram.n
    if form.n != 2 * n or form.a is None or form.lb.any():
        return False
    sign = np.repeat([1.0, -1.0], n)
    same_box = bool((form.ub[:n] == form.ub[n:]).all())
    signs = bool((form.a == sign).all() and (form.Q.sign == sign).all())
    return same_box and signs and bool((form.Q.index == np.tile(np.arange(n), 2)).all())


def recovered(form: BoxQP, beta: Vector) -> Vector:
    """Return the variables of a form, from the coefficients β (n,) of f(x) = Σ βᵢk(xᵢ, x) + b.

    Those of ν-SVC are divided by ρ; their sum tells it.
    """
    if form.n == beta.size:
        scale = np.abs(form.delta).sum() / np.abs(beta).sum() if form.delta.any() else 1.0
        return scale * form.Q.sign * beta
    return np.concatenate([np.maximum(beta, 0.0), np.maximum(-beta, 0.0)])


def _has_no_sum(form: BoxQP) -> bool:
    return form.groups is None and not form.delta.any()


def _has_two_sums(form: BoxQP, sign: Vector) -> bool:
    """Whether the variables of either sign have the same sum."""
    if form.groups is None or form.delta.size != 2 or form.delta[0] <= 0:
        return False
    by_sign = bool((form.groups == np.where(sign > 0, 0, 1)).all())
    return by_sign and form.delta[0] == -form.delta[1]


def regression_targets(form: BoxQP) -> tuple[Vector, float]:
    """Return y and epsilon of an epsilon-SVR from p = [epsilon − y, epsilon + y]."""
    below, above = form.p[: form.gram.n], form.p[form.gram.n :]
    return (above - below) / 2, max(0.0, float(np.median(below + above)) / 2)
