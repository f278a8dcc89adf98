"""The base class of formulations.

Every problem of the toolkit but a few has the form of a `Risk`,
    min over w, u   ½‖w‖² + cᵀu + Σᵢ Cᵢℓ(yᵢ, fᵢ),      fᵢ = wᵀφ(xᵢ) + u_{g(i)}
with unregularised offsets u: a sample has the offset of its group g(i), or none. If all samples form one
group, without cost, u is the intercept b. Forms, certificates and proofs follow from it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from functools import cached_property, partial
from math import prod
from typing import Any, ClassVar, Literal, Self

import numpy as np

from dualgap.problems.blocks import Blocks
from dualgap.problems.certificates.blocks import bounds_of_blocks
from dualgap.problems.certificates.certify import certify_samples
from dualgap.problems.certificates.fenchel import fenchel_bounds
from dualgap.problems.certificates.hard_margin import certificate_without_point, hard_bounds
from dualgap.problems.dataset import (
    HasSamples,
    Matrix,
    Vector,
    check_samples,
    check_slack_weight,
    content_hash,
)
from dualgap.problems.forms import BoxQP, Point, Reduction, SomeForm, Unsupported
from dualgap.problems.formulations.decision import Decision
from dualgap.problems.gram.gram import GIBIBYTE, Gram
from dualgap.problems.kernels import Kernel, Linear
from dualgap.problems.kernels.base import check_declared, check_overflow
from dualgap.problems.problem import Problem, Reducer
from dualgap.problems.problem.certificate import Certificate, not_proven
from dualgap.problems.problem.task import CLASSES, LABELS, Task
from dualgap.problems.risk.reductions import FORMS
from dualgap.problems.risk.risk import Risk
from dualgap.problems.risk.samples import KernelSamples
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


class Formulation(HasSamples, Problem):
    """Base of the formulations; fields are validated at construction and immutable.

    A subclass is a frozen dataclass whose method `build_risk` states the problem as a `Risk`.

    Attributes
    ----------
    view : how the problem is formulated, which determines the sign and scale of `objective`.
    task : the kind of values in `y`: labels −1 and +1 by default, or targets or classes.
    data_fields : the fields that hold data rather than settings.
    takes_blocks : whether its samples may be in blocks.
    """

    forms: ClassVar[Mapping[type, Reducer]] = FORMS
    listed: ClassVar[bool] = False
    view: ClassVar[View] = "dual"
    task: ClassVar[Task] = LABELS  # type: ignore[misc]
    data_fields: ClassVar[tuple[str, ...]] = ("X", "y")
    takes_blocks: ClassVar[bool] = False

    X: Matrix
    y: Vector
    kernel: Kernel = Linear()
    intercept: bool = True
    C: Any  # a field of some formulations only

    def __post_init__(self) -> None:
        X: Any = self.X if self.in_blocks else check_samples(self.X)
        self._set("X", X)
        for name in [f.name for f in fields(self) if f.name in _CHECKS]:  # type: ignore[arg-type]
            self._set(name, _CHECKS[name](getattr(self, name), name))
        if not isinstance(self.kernel, Kernel):
            raise ValueError(
                f"kernel: must be a kernel such as RBF(gamma=0.1), got {short_repr(self.kernel)}"
            )
        if self.in_blocks:
            self._check_blocks(X)
            self.check_risk()
            return
        self._set("y", self._check_y())
        self.kernel.check(X)
        self._set("kernel", self.kernel.fit(X))
        if hasattr(self, "C"):
            self._set("C", check_slack_weight(self.C, X.shape[0]))
        self.check_risk()
        check_overflow(self.kernel, X)
        check_declared(self.kernel, X)

    def build_risk(self) -> Risk:
        """Return the problem as a regularised risk."""
        raise NotImplementedError

    @cached_property
    def risk(self) -> Risk:
        """The problem as a regularised risk."""
        return self.build_risk()

    @cached_property
    def samples(self) -> KernelSamples:
        """The samples in the feature space of the kernel."""
        return KernelSamples(self.X, self.kernel)

    def decision(self, offsets: Any) -> Decision:
        """Return how outputs become decisions at the best offsets (groups,) of an answer."""
        return Decision(has_margin=self.task is LABELS, tube=self.risk.tube)

    def check_risk(self) -> None:
        """Raise ValueError if the bounds would not hold for the risk."""
        self.risk.check()

    def _check_blocks(self, X: Blocks) -> None:
        """Raise ValueError if the formulation does not support these samples in blocks."""
        if not self.takes_blocks:
            raise NoSuchProblem(
                f"X: {self.name} does not support samples in blocks; the soft margin, support vector "
                "regression and the risks of smooth losses do"
            )
        if self.y is not None:  # pyright: ignore[reportUnnecessaryComparison]
            raise ValueError("y: must be None when X is a Blocks: blocks carry their own labels")
        if not self.is_linear:
            raise NoSuchProblem(
                f"kernel: samples in blocks need a linear kernel, got {self.kernel!r}: other kernels "
                "need all samples in memory"
            )
        if self.task is LABELS and X.target != "labels":
            raise NoSuchProblem(
                f"y: {X.first_non_label()}, but labels must be -1 and +1; state which one is +1 with "
                "'positive'"
            )
        if np.ndim(getattr(self, "C", 1.0)):
            raise ValueError(
                "C: must be one number for samples in blocks, which carry their own weights"
            )
        if hasattr(self, "C"):
            self._set("C", check_slack_weight(self.C, 0))

    def _set(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)

    def _check_y(self) -> Vector:
        return self.task.check(self.y, self.n)

    def changed(self, **values: Any) -> Self:
        """Return the problem with other settings or targets for the same samples and kernel.

        Cached properties of the samples are kept, so this is fast. The values are not validated: they
        must be as the constructor would leave them. With another `X`, give its `samples` too.
        """
        names = {"y", "samples", *(field.name for field in fields(self))}  # type: ignore[arg-type]
        copy = object.__new__(type(self))
        vars(copy).update({k: v for k, v in vars(self).items() if k in names} | values)
        return copy

    @classmethod
    def from_data(cls, X: Matrix, y: Vector, **parameters: Any) -> Self:
        """Return the problem for a data set's samples, with the other fields by name."""
        build: Any = cls
        return build(X, y, **parameters)

    @classmethod
    def example_data(cls, _: Mapping[str, Any], /) -> tuple[Matrix, Vector]:
        """Return two samples, with which the other parameters can be checked."""
        task: Any = cls.task  # a property if it depends on the loss
        return np.eye(2), np.array([0.0, 1.0] if task is CLASSES else [1.0, -1.0])

    @property
    def outputs(self) -> int:
        """Number of dual variables per sample: 1, or K for K classes."""
        return 1

    @property
    def is_linear(self) -> bool:
        """Whether w is a vector of feature weights."""
        return isinstance(self.kernel, Linear)

    @property
    def may_be_infeasible(self) -> bool:  # type: ignore[override]
        """Whether there may be no feasible point."""
        return self.risk.is_hard

    def gram(self, memory: int = GIBIBYTE) -> Gram:
        """Return the samples' shared Gram matrix if there is one, else a new one."""
        return self.samples.gram(memory)

    def beta(self, alpha: Vector) -> Vector:
        """Return the coefficients of w = Σ βᵢφ(xᵢ) for dual variables `alpha`."""
        return self.risk.beta(alpha)

    @property
    def weights_shape(self) -> tuple[int, ...]:
        """The shape of w, if it has coordinates; one column may also be a vector."""
        return self.d, self.outputs

    @property
    def in_blocks(self) -> bool:
        """Whether only one block of its samples at a time is in memory."""
        return isinstance(self.X, Blocks)

    def split(self, point: Point) -> list[Point]:
        """Return the answer to each part."""
        return [point]

    def join(self, points: Sequence[Point]) -> Point:
        """Return the answer composed of the answers to all parts."""
        return points[0]

    def sum_certificates(self, certificates: Sequence[Certificate]) -> Certificate:
        """Return the certificate of the sum, with the composed answer as its point."""
        return certificates[0]

    def scores(self, X: Matrix, w: Vector) -> Vector:
        """Return the linear part Xw of the decision function for the samples `X` (m, d)."""
        return X @ w

    def reduce(
        self, form: type[SomeForm], start: Point | None = None, gram: Gram | None = None
    ) -> Reduction[SomeForm]:
        """Return the problem in the form that a solver takes; see `dualgap.problems.problem.reduce`."""
        if self.in_blocks and form != Risk:
            raise Unsupported(
                "its samples are in blocks, held in memory one at a time, but this solver needs all of "
                "them: use near_rows"
            )
        return super().reduce(form, start, self.gram() if gram is None else gram)

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
        if point.w is not None and point.alpha is None and not self.is_linear:
            raise ValueError("alpha: is needed with a kernel, as w has no coordinates then")
        return point

    def certify(self, point: Point, rigorous: bool, target_gap: float) -> Certificate:
        """Return the certificate of a point; see `dualgap.problems.problem.certify`."""
        return certify_samples(self, point, rigorous, target_gap)

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

    def without_point(self, reason: str) -> Certificate:
        """Return the certificate of an answer without a usable point, perhaps proving infeasibility."""
        if self.may_be_infeasible:
            return certificate_without_point(self.risk, reason)
        return Certificate(reason=reason)

    def objective(self, primal: float, dual: float) -> float:
        """Return the objective in this view's sign and scale, from the problem's two bounds."""
        return primal if self.view == "primal" else -dual

    @property
    def targets_and_weights(self) -> tuple[Vector, Any]:
        """The targets, labels or classes (n,), and the weights C (n,)."""
        return self.risk.y, self.risk.C

    @cached_property
    def family_hash(self) -> str:
        """Identity of the optimum, the same for all formulations with the same risk."""
        return content_hash(*self.risk.identity)[:16]


def upper_limits(problem: Formulation) -> Vector:
    """Return the largest |αᵢ| of each sample, shape (n,), which is the same in all parts."""
    if BoxQP not in problem.forms and problem.parts[0].problem is problem:
        return problem.targets_and_weights[1]  # of sequences, whose marginals add up to C
    limits = np.zeros(problem.n)
    for part in problem.parts:
        rows = slice(None) if part.rows is None else part.rows
        limits[rows] = part.problem.risk.upper
    return limits
