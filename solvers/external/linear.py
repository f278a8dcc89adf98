"""Base of the baselines for linear machines, by default without an intercept."""

from dataclasses import dataclass
from typing import ClassVar

from dualgap.problems.forms import ERM
from dualgap.problems.losses import EpsilonInsensitive, Hinge
from dualgap.solvers.base import Solver
from dualgap.solvers.needs import BOTH_CLASSES, LINEAR, NO_INTERCEPT, ONE_C, one_loss


@dataclass(frozen=True)
class LinearBaseline(Solver):
    """Base of solvers of linear machines that return no dual point; its `needs` allow no intercept."""

    form: ClassVar = ERM
    needs: ClassVar = (
        LINEAR,
        NO_INTERCEPT,
        one_loss("the hinge or the epsilon-insensitive loss", Hinge, EpsilonInsensitive),
        BOTH_CLASSES,
    )
    warm_up_size: ClassVar = 32


# of a library that takes one C for all samples, and classification alone
ONE_C_HINGE = (LINEAR, NO_INTERCEPT, one_loss("the hinge loss", Hinge), ONE_C, BOTH_CLASSES)
