"""Problems on samples: most are one regularised risk.

A `Formulation` has the form of a `Risk`,
    min over w, u   ½‖w‖² + cᵀu + Σᵢ Cᵢℓ(yᵢ, fᵢ),      fᵢ = wᵀφ(xᵢ) + u_{g(i)}
with unregularised offsets u: a sample has the offset of its group g(i), or none. If all samples form one
group, without cost, u is the intercept b. Forms, certificates and proofs follow from it. The other
problems on samples are sums of such problems, or have one loss for several samples.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from functools import cached_property, partial
from math import prod
from typing import Any, ClassVar, Literal

import numpy as np
import scipy

from dualgap.problems.blocks import Blocks
from dualgap.problems.certificates.blocks import bounds_of_blocks
from dualgap.problems.certificates.certify import certify_samples, fenchel_bounds
from dualgap.problems.certificates.hard_margin import hard_bounds
from dualgap.problems.dataset import (
    HasSamples,
    Matrix,
    Names,
    Vector,
    check_samples,
    check_slack_weight,
    content_hash,
    names_of_columns,
)
from dualgap.problems.forms import Point
from dualgap.problems.kernels import Kernel, Linear
from dualgap.problems.kernels.base import check_values
from dualgap.problems.problem import Problem, Reducer
from dualgap.problems.problem.certificate import Certificate, not_proven
from dualgap.problems.problem.task import CLASSES, LABELS, Decision, Task
from dualgap.problems.risk.dual_point import budget
from dualgap.problems.risk.reductions import FORMS
from dualgap.problems.risk.risk import KernelSamples, Risk, by_side, check_risk
from dualgap.problems.validation import (
    NoSuchProblem,
    check_bool,
    check_fraction,
    check_integer,
    check_positive,
    short_repr,
)

View = Literal["primal", "dual", "risk"]
_CHECKS: dict[str, Callable[[Any, str], Any]] = {  # for fields that formulations have in common
    "intercept": check_bool,
    "nu": check_fraction,
    "epsilon": partial(check_positive, zero=True),
    "lam": check_positive,
    "length": check_integer,
}


class SampleProblem(HasSamples, Problem):
    """Base of the problems on samples; fields are validated at construction and immutable.

    A subclass is a frozen dataclass: a `Formulation`, or a problem that states its `parts`, or one with
    its own bounds, in the methods `bounds` and `proven` of `Formulation`.

    Attributes
    ----------
    task : the kind of values in `y`: labels −1 and +1 by default, or targets or classes.
    names : of features and classes, for figures: from the columns of a data frame `X`, or a data set.
    """

    task: ClassVar[Task] = LABELS

    X: Matrix
    y: Vector
    kernel: Kernel = Linear()
    names: ClassVar[Names] = Names()

    def __post_init__(self) -> None:
        check_fields(self)

    @classmethod
    def example_data(cls, _: Mapping[str, Any], /) -> tuple[Matrix, Vector]:
        """Return two samples, with which the other parameters can be checked."""
        task: Any = cls.task  # a property if it depends on the loss
        return np.eye(2), np.array([0.0, 1.0] if task is CLASSES else [1.0, -1.0])

    @cached_property
    def samples(self) -> KernelSamples:
        """The samples in the feature space of the kernel."""
        return KernelSamples(self.X, self.kernel)

    @property
    def in_blocks(self) -> bool:
        """Whether only one block of its samples at a time is in memory."""
        return isinstance(self.X, Blocks)

    @property
    @abstractmethod
    def outputs(self) -> int:
        """Number of dual variables per sample: 1, or K for K classes."""

    @property
    def weights_shape(self) -> tuple[int, ...]:
        """The shape of w, if it has coordinates; one column may also be a vector."""
        return self.d, self.outputs

    @abstractmethod
    def decision(self, offsets: Any) -> Decision:
        """Return how outputs become decisions at the best offsets (groups,) of an answer."""

    def point(self, answer: Any) -> Point:
        """Return the point of an answer, an object with `alpha`, `w` or both.

        Raises
        ------
        TypeError
            If it has neither.
        ValueError
            If a shape is wrong.
        """
        answer = getattr(answer, "point", answer)
        if not (hasattr(answer, "alpha") or hasattr(answer, "w")):
            raise TypeError(
                f"solution_or_point: must be a Solution, a Point, or have alpha or w, got "
                f"{type(answer).__name__}; wrap an array as Point(alpha=...) or Point(w=...)"
            )
        point = Point(*(getattr(answer, name, None) for name in ("alpha", "w", "b", "rule")))
        for name, full_shape in (("alpha", (self.n, self.outputs)), ("w", self.weights_shape)):
            value = getattr(point, name)
            shape = full_shape[:1] if full_shape[-1] == 1 else full_shape
            if value is None or value.shape == shape:
                continue
            if value.size != prod(shape):
                raise ValueError(f"{name}: has {value.size} entries, expected {prod(shape)}")
            if value.ndim == 2 and 1 not in value.shape:
                raise ValueError(f"{name}: has shape {value.shape}, expected {shape}")
            point = replace(point, **{name: value.reshape(shape)})
        if point.w is not None and point.alpha is None and not self.samples.is_linear:
            raise ValueError("alpha: is needed with a kernel, as w has no coordinates then")
        return point

    def certify(self, point: Point, rigorous: bool, target_gap: float) -> Certificate:
        """Return the certificate of a point; see `dualgap.problems.problem.certify`."""
        return certify_samples(self, point, rigorous, target_gap)


class Formulation(SampleProblem):
    """Base of the problems that are one `Risk`, which the method `build_risk` states.

    Attributes
    ----------
    view : how the problem is formulated, which determines the sign and scale of `objective`.
    takes_blocks : whether its samples may be in blocks.
    """

    forms: ClassVar[Mapping[type, Reducer]] = FORMS
    view: ClassVar[View] = "dual"
    takes_blocks: ClassVar[bool] = False

    intercept: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        check_risk(self.risk)

    @abstractmethod
    def build_risk(self) -> Risk:
        """Return the problem as a regularised risk."""

    @cached_property
    def risk(self) -> Risk:
        """The problem as a regularised risk."""
        return self.build_risk()

    @property
    def outputs(self) -> int:
        """Number of dual variables per sample: 1, or K for K classes."""
        return self.risk.loss.outputs

    @property
    def may_be_infeasible(self) -> bool:
        """Whether there may be no feasible point."""
        return self.risk.is_hard

    def decision(self, offsets: Any) -> Decision:
        """Return how outputs become decisions at the best offsets (groups,) of an answer."""
        return Decision(has_margin=self.task is LABELS, tube=self.risk.loss.tube)

    def bounds(self, point: Point) -> Certificate:
        """Return bounds on the optimum from a point that has `alpha`, `w` or both."""
        if self.in_blocks:
            return bounds_of_blocks(self.risk, point)
        bounds = hard_bounds if self.risk.is_hard else fenchel_bounds
        return bounds(self.risk, point)

    def proven(self, certificate: Certificate) -> Certificate:
        """Return the certificate with proven bounds instead of the float64 bounds."""
        if self.in_blocks:
            return not_proven(certificate, "samples in blocks are certified in float64 only")
        from dualgap.problems.certificates.proof import proven  # noqa: PLC0415 - needs python-flint

        return proven(self.risk, certificate)

    def objective(self, primal: float, dual: float) -> float:
        """Return the objective in this view's sign and scale, from the problem's two bounds."""
        return primal if self.view == "primal" else -dual

    @cached_property
    def family_hash(self) -> str:
        """Identity of the optimum, the same for all formulations with the same risk.

        It is equal for dense and sparse samples.
        """
        risk, X = self.risk, repr(self.X) if self.in_blocks else scipy.sparse.csr_array(self.X)
        # 12 digits: C = 1/(n·lam) with lam = 1/(n·C) differs from C by rounding
        distinct, index = np.unique(risk.C, return_inverse=True)
        rounded = np.array([float(f"{c:.12g}") for c in distinct])
        C = rounded[index] if np.unique(rounded).size > 1 else rounded[:1]
        total = budget(risk) if by_side(risk) else 0.0
        settings = self.kernel, risk.loss, risk.costs, risk.groups, total
        return content_hash(X, risk.y, C, *settings)[:16]


def check_fields(problem: Any) -> None:
    """Validate the fields of a problem on samples, and set them to their canonical values.

    Raises
    ------
    ValueError
        If a field is invalid; the message names it.
    """
    names = [field.name for field in fields(problem)]
    values = vars(problem)  # the dataclass is frozen
    if not problem.in_blocks:
        values["names"] = names_of_columns(problem.X)
        values["X"] = check_samples(problem.X)
    values |= {name: _CHECKS[name](values[name], name) for name in names if name in _CHECKS}
    kernel: Kernel = problem.kernel
    if not isinstance(kernel, Kernel):
        raise ValueError(
            f"kernel: must be a kernel such as RBF(gamma=0.1), got {short_repr(kernel)}"
        )
    if problem.in_blocks:
        _check_blocks(problem, names)
    else:
        if "y" in names:
            values["y"] = problem.task.check(problem.y, problem.n)
        kernel.check(problem.X)
        values["kernel"] = kernel = kernel.fit(problem.X)
        check_values(kernel, problem.X)
    if "C" in names:
        values["C"] = check_slack_weight(problem.C, 0 if problem.in_blocks else problem.n)


def _check_blocks(problem: Any, names: Sequence[str]) -> None:
    """Raise ValueError if the problem does not support its samples in blocks."""
    X: Blocks = problem.X
    if not getattr(problem, "takes_blocks", False):
        raise NoSuchProblem(
            f"X: {problem.name} does not support samples in blocks; the soft margin, support vector "
            "regression and the risks of smooth losses do"
        )
    if problem.y is not None:
        raise ValueError("y: must be None when X is a Blocks: blocks carry their own labels")
    if not isinstance(problem.kernel, Linear):
        raise NoSuchProblem(
            f"kernel: samples in blocks need a linear kernel, got {problem.kernel!r}: other kernels "
            "need all samples in memory"
        )
    if problem.task is LABELS and X.target != "labels":
        raise NoSuchProblem(
            f"y: {X.first_non_label()}, but labels must be -1 and +1; state which one is +1 with "
            "'positive'"
        )
    if "C" in names and np.ndim(problem.C):
        raise ValueError(
            "C: must be one number for samples in blocks, which carry their own weights"
        )
