"""What solvers require of the form they are given, as data: `dualgap list solvers` prints it.

The first of a solver's `needs` that a form does not meet is the reason of an `unsupported` row.
"""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

from dualgap.problems.forms import KernelQP
from dualgap.problems.gram.semidefinite import is_positive_semidefinite
from dualgap.problems.kernels import RBF
from dualgap.problems.losses import Loss


class Need(NamedTuple):
    """A condition on a form.

    Attributes
    ----------
    name : what is required, a noun phrase.
    is_met : (form, solver) ↦ whether the form has it; the solver has the settings.
    """

    name: str
    is_met: Callable[[Any, Any], Any]


def refusal(form: Any, solver: Any, needs: Iterable[Need]) -> str | None:
    """Return "requires …" for the first need that `form` does not meet, or None if it meets all."""
    unmet = next((need for need in needs if not need.is_met(form, solver)), None)
    return None if unmet is None else f"requires {unmet.name}"


def at_most(variables: int) -> Need:
    """Return the need of a small problem."""
    return Need(f"at most {variables} variables", lambda form, _: form.n <= variables)


def one_loss(name: str, *losses: type[Loss]) -> Need:
    """Return the need of a loss of one of these classes."""
    return Need(name, lambda form, _: isinstance(form.loss, losses))


def _covers_all(form: Any) -> bool:
    covered = form.groups is None or bool((form.groups >= 0).all())
    return covered and (isinstance(form, KernelQP) or bool((form.a != 0).all()))


def _has_equality(form: Any) -> bool:
    return bool(form.sums.size) if isinstance(form, KernelQP) else form.a is not None


def _is_convex(form: Any) -> bool:
    gram = form.gram
    return gram is None or gram.is_linear or is_positive_semidefinite(gram)


# the kernel
LINEAR = Need("the linear kernel", lambda form, _: form.gram.is_linear)
RBF_KERNEL = Need("the RBF kernel", lambda form, _: isinstance(form.gram.kernel, RBF))
CONVEX = Need("a positive semidefinite kernel", lambda form, _: _is_convex(form))
DENSE = Need("a matrix Q that fits in memory", lambda form, _: form.Q.fits)
LINEAR_OR_DENSE = Need(
    "the linear kernel, or a Gram matrix that fits in memory",
    lambda form, _: form.gram.is_linear or form.gram.fits,
)
# the equalities and bounds of a dual
NO_EQUALITY = Need(
    "a problem without an intercept, whose equality holds every single variable",
    lambda form, _: form.a is None,
)
ONE_EQUALITY = Need("at most one equality", lambda form, _: form.groups is None)
ALL_IN_EQUALITIES = Need(
    "all variables in equalities, with nonzero coefficients, or none",
    lambda form, _: not _has_equality(form) or _covers_all(form),
)
FINITE_BOUNDS = Need(
    "finite bounds, as of a soft margin",
    lambda form, _: form.is_bounded,
)
TEXTBOOK_PAIRS = (
    Need("an intercept, as pairs move along its equality", lambda form, _: form.a is not None),
    ONE_EQUALITY,
    Need("coefficients ±1 in the equality", lambda form, _: (np.abs(form.a) == 1).all()),
    Need("lower bounds of 0", lambda form, _: not form.lb.any()),
    DENSE,
)
# a regularised risk
INTERCEPT = Need("a problem with an intercept", lambda form, _: form.intercept)
NO_INTERCEPT = Need(
    "a problem without an unregularised intercept", lambda form, _: not form.intercept
)
ONE_C = Need("one C for all samples", lambda form, _: np.ptp(form.C) == 0)
BOTH_CLASSES = Need(
    "samples of both classes",
    lambda form, _: form.loss.is_regression or np.ptp(form.y) > 0,
)
