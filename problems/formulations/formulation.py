"""What a formulation is, and what follows from it.

Every problem of the toolkit is
    min over w, u   ½‖w‖² + cᵀu + Σᵢ Cᵢℓ(yᵢ, fᵢ),      fᵢ = wᵀφ(xᵢ) + u_{g(i)}
with unregularised offsets u, at most one for each sample: the group g(i) that it is in, or none. With
one group of all samples and no cost u is the intercept b. In the dual each group has one equality:
    max over β   −½βᵀKβ − Σᵢ Cᵢℓ*(yᵢ, −βᵢ/Cᵢ)   s.t.  Σ_{i∈g} βᵢ = c_g,      w = Σ βᵢφ(xᵢ)
Dual variables αᵢ are yᵢβᵢ where y are labels, and βᵢ where they are targets (the α − α* of the
textbooks).

A subclass is a frozen dataclass that states what it *is*: its loss and, where they are not the default,
its weights Cᵢ, groups and costs. Everything else has a default here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property, partial
from math import prod
from typing import Any, ClassVar, Self

import numpy as np
import scipy
from numpy.typing import NDArray

from dualgap.problems.blocks import Blocks
from dualgap.problems.certificates.certificate import Certificate
from dualgap.problems.certificates.fenchel import fenchel_bounds
from dualgap.problems.certificates.of_blocks import bounds_of_blocks
from dualgap.problems.dataset import (
    Indices,
    Matrix,
    Vector,
    check_samples,
    check_slack_weight,
    check_weight_range,
    content_hash,
)
from dualgap.problems.dual_problem.dual import DualProblem
from dualgap.problems.forms import Point
from dualgap.problems.formulations.task import CLASSES, LABELS, TARGETS, Task
from dualgap.problems.kernels import Kernel
from dualgap.problems.kernels.base import check_declared, check_overflow
from dualgap.problems.losses.base import check_pieces
from dualgap.problems.registry import is_ours, snake_case
from dualgap.problems.validation import (
    NoSuchProblem,
    check_positive,
    check_share,
    check_switch,
    check_whole,
    shown,
)

_CHECKS: dict[str, Callable[[Any, str], Any]] = {  # of fields that formulations have in common
    "intercept": check_switch,
    "nu": check_share,
    "epsilon": partial(check_positive, zero=True),
    "lam": check_positive,
    "length": check_whole,
}
_NOT_IDENTITY = ("X", "y", "C", "lam", "kernel", "intercept")  # they enter the hash separately


@dataclass(frozen=True, eq=False)
class Part:
    """One of the problems that a problem is the sum of.

    Attributes
    ----------
    rows : indices of its samples among all.
    name : what messages call it; empty for a problem that is its own only part.
    """

    problem: Formulation
    rows: Indices
    name: str = ""


class Formulation(DualProblem):
    """Base of the formulations; every field is validated when one is built, and never changes.

    Attributes
    ----------
    name : how experiment files call it: by default the class name in snake case.
    problem_class : views of one class with equal data are one problem; by default the name.
    source : where the problem is published.
    has_samples : whether it is posed on samples, which an answer has a meaning for.
    data_fields : which of its fields are data, and no settings.
    """

    name: ClassVar[str]
    problem_class: ClassVar[str]
    source: ClassVar[str] = ""
    has_samples: ClassVar[bool] = True
    data_fields: ClassVar[tuple[str, ...]] = ("X", "y")

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "name" not in vars(cls):
            cls.name = snake_case(cls.__name__)
        # of one that restates what it is, the optimum is not that of the class which it extends
        restated = {"loss", "losses", "weight", "groups", "costs"} & vars(cls).keys()
        other = bool(restated) and not is_ours(cls) and "problem_class" not in vars(cls)
        if other or not hasattr(cls, "problem_class"):
            cls.problem_class = cls.name
            own: Any = vars(cls).get("identity", Formulation.identity)
            cls.identity = own  # pyright: ignore[reportAttributeAccessIssue]

    def __post_init__(self) -> None:
        X: Any = self.X if self.in_blocks else check_samples(self.X)
        self._set("X", X)
        for name in [f.name for f in fields(self) if f.name in _CHECKS]:  # type: ignore[arg-type]
            self._set(name, _CHECKS[name](getattr(self, name), name))
        if not isinstance(self.kernel, Kernel):
            raise ValueError(
                f"kernel: must be a kernel such as RBF(gamma=0.1), got {shown(self.kernel)}"
            )
        if self.in_blocks:
            self._check_blocks(X)
            return
        self._set("y", self._check_y())
        self.kernel.check(X)
        self._set("kernel", self.kernel.fit(X))
        if hasattr(self, "C"):
            self._set("C", check_slack_weight(self.C, X.shape[0]))
        if self.groups is not None:
            found, count = np.asarray(self.groups), self.costs.size
            whole = found.shape == (self.n,) and found.dtype.kind == "i"
            if not whole or found.min() < -1 or found.max() >= count:
                raise ValueError(
                    f"groups: must be {self.n} whole numbers, the offset of each sample from 0 to "
                    f"{count - 1} for {count} costs, or -1 for none, got {shown(self.groups)}"
                )
        self._check_weight()
        check_pieces(self.pieces or [])
        check_overflow(self.kernel, X)
        check_declared(self.kernel, X)

    def _check_weight(self) -> None:
        """Raise ValueError if the weights are none that bounds hold for."""
        weight = np.asarray(self.weight)
        finite = self.may_be_infeasible or bool(np.isfinite(weight).all())
        if weight.shape != (self.n,) or not (finite and (weight > 0).all()):
            raise ValueError(
                f"weight: must be {self.n} finite numbers above 0, one for each sample, got "
                f"{shown(weight)}; where no loss is allowed at all, it is a hard margin"
            )
        if not self.may_be_infeasible:
            check_weight_range(weight, "weight: every entry")

    def _check_blocks(self, X: Blocks) -> None:
        """Raise ValueError if samples in blocks are not what it takes."""
        if not self.takes_blocks:
            raise NoSuchProblem(
                f"X: {self.name} takes no samples in blocks; the soft margin, support vector regression "
                "and the risks of smooth losses do"
            )
        if self.restated:
            raise NoSuchProblem(
                f"X: {self.name} has its own {', '.join(self.restated)}, and samples in blocks go by C "
                "and by the weights that come with them"
            )
        if self.y is not None:  # pyright: ignore[reportUnnecessaryComparison]
            raise ValueError("y: samples in blocks have theirs with them; give None")
        if not self.is_linear:
            raise NoSuchProblem(
                f"kernel: samples in blocks need a linear kernel, got {self.kernel!r}: others need all "
                "samples at once"
            )
        if self.task is LABELS and X.target != "labels":
            raise NoSuchProblem(
                f"y: {X.first_target()}, and labels must be -1 and +1; say which one is +1 with "
                "'positive'"
            )
        check_pieces(self.loss.dual_pieces(np.array([-1.0, 1.0])) or [])  # all y by the certificate
        if np.ndim(getattr(self, "C", 1.0)):
            raise ValueError(
                "C: of samples in blocks it is one number; weights come with the samples"
            )
        if hasattr(self, "C"):
            self._set("C", check_slack_weight(self.C, 0))

    def _set(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)

    @property
    def task(self) -> Task:
        """What `y` holds: by default targets if the loss is of targets, else labels −1 and +1."""
        return TARGETS if self.loss.is_regression else LABELS

    def _check_y(self) -> Vector:
        return self.task.check(self.y, self.n)

    @classmethod
    def from_data(cls, X: Matrix, y: Vector, **parameters: Any) -> Self:
        """Return the problem of a data set's samples, with its other fields by name."""
        make: Any = cls
        return make(X, y, **parameters)

    @classmethod
    def example_samples(cls, _: Mapping[str, Any], /) -> tuple[Matrix, Vector]:
        """Return samples that one can be built on, to check its other parameters with."""
        task: Any = cls.task  # a property where the loss decides
        return np.eye(2), np.array([0.0, 1.0] if task is CLASSES else [1.0, -1.0])

    @property
    def weights_shape(self) -> tuple[int, ...]:
        """The shape of w, where it has coordinates; one column may also be a vector."""
        return self.d, self.outputs

    @property
    def n_weights(self) -> int:
        """Entries of w, where it has coordinates."""
        return prod(self.weights_shape)

    @property
    def in_blocks(self) -> bool:
        """Whether only one block of its samples at a time is in memory."""
        return isinstance(self.X, Blocks)

    @property
    def parts(self) -> tuple[Part, ...]:
        """The problems that this one is the sum of, which share no variable: by default itself."""
        return (Part(self, np.arange(0 if self.in_blocks else self.n)),)

    def split(self, point: Point) -> list[Point]:
        """Return the answer to each part."""
        return [point]

    def join(self, points: Sequence[Point]) -> Point:
        """Return the answers to all parts as one."""
        return points[0]

    def summed(self, certificates: Sequence[Certificate]) -> Certificate:
        """Return the certificate of the sum, with the answers to all parts as its point."""
        return certificates[0]

    def scores(self, X: Matrix, w: Vector) -> Vector:
        """Return the decision function's part Xw for the samples `X` (m, d)."""
        return X @ w

    def combine(self, f: Vector) -> Vector:
        """Return the decision for the outputs `f` (m, outputs): themselves, unless they vote."""
        return f

    def ambiguous(self, f: Vector) -> NDArray[np.bool_]:
        """Return whether a vote on the outputs `f` (m, outputs) is tied, shape (m,).

        Raises
        ------
        ValueError
            By default: nothing is voted on.
        """
        raise ValueError("only the outputs of several binary problems vote")

    def baseline(self, X: Matrix) -> Vector | float:
        """Return what is taken off wᵀφ(x) + b for the rows of `X` (m, d), by default nothing."""
        return 0.0

    @property
    def expected(self) -> Vector:
        """What should be predicted of the samples, shape (n,): their labels or targets."""
        return self.y

    def distances(self, f: Vector, norm: float) -> Vector:
        """Return signed distances yᵢfᵢ/‖w‖ to the hyperplane; for targets fᵢ − yᵢ.

        Raises
        ------
        ValueError
            For K classes, which have K − 1 hyperplanes each.
        """
        if f.ndim > 1:
            raise ValueError("there is no one hyperplane between more than two classes")
        if self.task is TARGETS:
            return f - self.y
        with np.errstate(divide="ignore", invalid="ignore"):
            return self.y * f / norm

    def slacks(self, f: Vector, offsets: tuple[float, ...]) -> Vector:
        """Return each sample's loss for the decisions `f` (n,) and the offsets of the groups."""
        return self.loss.value(self.y, f)

    def decision_scale(self, offsets: tuple[float, ...]) -> float:
        """Return the |f| on either margin, for the offsets of the groups: by default 1."""
        return 1.0

    @property
    def has_margin(self) -> bool:
        """Whether 2/‖w‖ is the width of a strip between two classes."""
        return self.task is LABELS

    def bounds(self, point: Point) -> Certificate:
        """Return bounds on the optimum from a point that has `alpha`, `w` or both."""
        if isinstance(self.X, Blocks):
            return bounds_of_blocks(self, self.X, point)
        return fenchel_bounds(self, point)

    def proven(self, certificate: Certificate) -> Certificate:
        """Return the certificate with proven bounds in place of the float64 ones."""
        from dualgap.problems.certificates.proof import proven  # noqa: PLC0415 - needs python-flint

        return proven(self, certificate)

    def without_point(self, reason: str) -> Certificate:
        """Return the certificate of an answer that has no usable point."""
        return Certificate(reason=reason)

    def objective(self, primal: float, dual: float) -> float:
        """Return the value in this view's own sign and scale, from the problem's two bounds."""
        return primal if self.view == "primal" else -dual

    @property
    def identity(self) -> tuple[Any, ...]:
        """What else distinguishes problems of one class: by default all other fields."""
        names = [f.name for f in fields(self)]  # type: ignore[arg-type]
        return tuple(getattr(self, name) for name in names if name not in _NOT_IDENTITY)

    @cached_property
    def hash(self) -> str:
        """Identity of this formulation: its class, data, kernel and every parameter."""
        values = [getattr(self, f.name) for f in fields(self)]  # type: ignore[arg-type]
        return content_hash(type(self).__name__, *values)[:16]

    @cached_property
    def family_hash(self) -> str:
        """Identity of the problem whichever view poses it."""
        if self.in_blocks:
            C = f"{self.slack_weight:.12g}"
            known = self.problem_class, repr(self.X), C, self.tube, self.intercept, *self.identity
            return content_hash(*known)[:16]
        # 12 digits: C = 1/(n·lam) comes back from lam = 1/(n·C) with a rounding error
        box = np.array([float(f"{c:.12g}") for c in np.unique(self.weight)])
        spread = self.weight if box.size > 1 else box
        X = scipy.sparse.csr_array(self.X)  # dense or sparse, it is the same problem
        known = self.problem_class, X, self.y, self.kernel, spread, self.tube, self.intercept
        return content_hash(*known, *self.identity)[:16]
