"""Baselines for linear machines without an intercept: what they refuse, and what they pass on."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dualgap.problems.forms import ERM
from dualgap.problems.losses import EpsilonInsensitive, Hinge, Loss
from dualgap.solvers.base import Solver


@dataclass(frozen=True)
class LinearBaseline(Solver):
    """Base of solvers of linear machines without an intercept; they pass on w alone.

    Attributes
    ----------
    losses : those that it is run with.
    one_weight : whether it takes one C for all samples only.
    """

    losses: ClassVar[tuple[type[Loss], ...]] = (Hinge, EpsilonInsensitive)
    one_weight: ClassVar[bool] = False
    form: ClassVar = ERM
    warm_up_size: ClassVar = 32

    def refuses(self, form: ERM) -> str | None:
        """Kernels, an intercept, other losses, a C for each sample, and labels that are all equal."""
        if not form.gram.is_linear:
            return f"{self.name} has no kernels: it solves linear machines only"
        if form.intercept:
            return f"{self.name} is run without its intercept, which it regularises or damps"
        if not isinstance(form.loss, self.losses):
            known = " and ".join(loss.name for loss in self.losses)
            return f"{self.name} is run with the {known} loss, not {form.loss!r}"
        if self.one_weight and np.ptp(form.C) > 0:
            return f"{self.name} takes one C for all samples, not one for each"
        if isinstance(form.loss, Hinge) and np.ptp(form.y) == 0:
            return f"{self.name} is run with samples of both classes"
        return None
