"""Base of the baselines for linear machines without an intercept."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dualgap.problems.forms import ERM
from dualgap.problems.losses import EpsilonInsensitive, Hinge, Loss
from dualgap.solvers.base import Solver


@dataclass(frozen=True)
class LinearBaseline(Solver):
    """Base of solvers of linear machines without an intercept; they return only w.

    Attributes
    ----------
    losses : supported losses.
    needs_equal_weights : whether it supports only one C for all samples.
    """

    losses: ClassVar[tuple[type[Loss], ...]] = (Hinge, EpsilonInsensitive)
    needs_equal_weights: ClassVar[bool] = False
    form: ClassVar = ERM
    warm_up_size: ClassVar = 32

    def refuses(self, form: ERM) -> str | None:
        """Return why the form is unsupported, or None."""
        if not form.gram.is_linear:
            return f"{self.name} has no kernels: it solves linear machines only"
        if form.intercept:
            return f"{self.name} is run without its intercept, which it regularises or damps"
        if not isinstance(form.loss, self.losses):
            names = " and ".join(loss.name for loss in self.losses)
            return f"{self.name} is run with the {names} loss, not {form.loss!r}"
        if self.needs_equal_weights and np.ptp(form.C) > 0:
            return f"{self.name} needs one C for all samples, not one for each"
        if isinstance(form.loss, Hinge) and np.ptp(form.y) == 0:
            return f"{self.name} needs samples of both classes"
        return None
