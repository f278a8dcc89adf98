"""The base class of formulations.

Every problem of the toolkit has the form
    min over w, u   ½‖w‖² + cᵀu + Σᵢ Cᵢℓ(yᵢ, fᵢ),      fᵢ = wᵀφ(xᵢ) + u_{g(i)}
with unregularised offsets u: a sample has the offset of its group g(i), or none. If all samples form one
group, without cost, u is the intercept b. In the dual each group has one equality:
    max over β   −½βᵀKβ − Σᵢ Cᵢℓ*(yᵢ, −βᵢ/Cᵢ)   s.t.  Σ_{i∈g} βᵢ = c_g,      w = Σ βᵢφ(xᵢ)
Dual variables αᵢ are yᵢβᵢ if y are labels, and βᵢ if they are targets (the textbooks' α − α*).

A subclass is a frozen dataclass that defines its loss and, unless the defaults apply, its weights Cᵢ,
groups and costs. Everything else has a default here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from functools import cached_property, partial
from math import prod
from typing import Any, ClassVar, Self

import numpy as np
import scipy
from numpy.typing import NDArray

from dualgap.problems.blocks import Blocks
from dualgap.problems.certificates.certify import certify_samples
from dualgap.problems.certificates.fenchel import fenchel_bounds
from dualgap.problems.certificates.of_blocks import bounds_of_blocks
from dualgap.problems.dataset import (
    Matrix,
    Vector,
    check_samples,
    check_slack_weight,
    check_weight_range,
    content_hash,
)
from dualgap.problems.dual_problem.dual import DualProblem
from dualgap.problems.dual_problem.reductions import FORMS
from dualgap.problems.forms import Point, Reduction, Sharded, SomeForm, Unsupported
from dualgap.problems.gram.gram import Gram
from dualgap.problems.kernels import Kernel
from dualgap.problems.kernels.base import check_declared, check_overflow
from dualgap.problems.losses.base import check_pieces
from dualgap.problems.problem import Reducer
from dualgap.problems.problem.certificate import Certificate
from dualgap.problems.problem.task import CLASSES, LABELS, TARGETS, Task
from dualgap.problems.registry import is_ours
from dualgap.problems.validation import (
    NoSuchProblem,
    check_bool,
    check_fraction,
    check_integer,
    check_positive,
    short_repr,
)

_CHECKS: dict[str, Callable[[Any, str], Any]] = {  # for fields that formulations have in common
    "intercept": check_bool,
    "nu": check_fraction,
    "epsilon": partial(check_positive, zero=True),
    "lam": check_positive,
    "length": check_integer,
}


class Formulation(DualProblem):
    """Base of the formulations; fields are validated at construction and immutable.

    Attributes
    ----------
    problem_class : formulations with the same class and data are one problem's views; default `name`.
    """

    problem_class: ClassVar[str]
    forms: ClassVar[Mapping[type, Reducer]] = FORMS
    listed: ClassVar[bool] = False
    data_fields: ClassVar[tuple[str, ...]] = ("X", "y")

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        # a subclass that overrides its definition has another optimum than its base class
        overridden = {"loss", "losses", "weight", "groups", "costs"} & vars(cls).keys()
        is_new_problem = bool(overridden) and not is_ours(cls) and "problem_class" not in vars(cls)
        if is_new_problem or not hasattr(cls, "problem_class"):
            cls.problem_class = cls.name
            identity_property: Any = vars(cls).get("identity", Formulation.identity)
            cls.identity = identity_property  # pyright: ignore[reportAttributeAccessIssue]

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
            return
        self._set("y", self._check_y())
        self.kernel.check(X)
        self._set("kernel", self.kernel.fit(X))
        if hasattr(self, "C"):
            self._set("C", check_slack_weight(self.C, X.shape[0]))
        if self.groups is not None:
            index, count = np.asarray(self.groups), self.costs.size
            is_valid = index.shape == (self.n,) and index.dtype.kind == "i"
            if not is_valid or index.min() < -1 or index.max() >= count:
                raise ValueError(
                    f"groups: must be {self.n} whole numbers, the offset of each sample from 0 to "
                    f"{count - 1} for {count} costs, or -1 for none, got {short_repr(self.groups)}"
                )
        self._check_weight()
        check_pieces(self.pieces or [])
        check_overflow(self.kernel, X)
        check_declared(self.kernel, X)

    def _check_weight(self) -> None:
        """Raise ValueError if the bounds would not hold for the weights."""
        weight = np.asarray(self.weight)
        finite = self.may_be_infeasible or bool(np.isfinite(weight).all())
        if weight.shape != (self.n,) or not (finite and (weight > 0).all()):
            raise ValueError(
                f"weight: must be {self.n} finite numbers above 0, one for each sample, got "
                f"{short_repr(weight)}; use a hard margin if no loss is allowed"
            )
        if not self.may_be_infeasible:
            check_weight_range(weight, "weight: every entry")

    def _check_blocks(self, X: Blocks) -> None:
        """Raise ValueError if the formulation does not support these samples in blocks."""
        if not self.takes_blocks:
            raise NoSuchProblem(
                f"X: {self.name} does not support samples in blocks; the soft margin, support vector "
                "regression and the risks of smooth losses do"
            )
        if self.redefined:
            raise NoSuchProblem(
                f"X: {self.name} defines its own {', '.join(self.redefined)}, but samples in blocks "
                "only use C and the weights stored with them"
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
        check_pieces(self.loss.dual_pieces(np.array([-1.0, 1.0])) or [])  # all y by the certificate
        if np.ndim(getattr(self, "C", 1.0)):
            raise ValueError(
                "C: must be one number for samples in blocks, which carry their own weights"
            )
        if hasattr(self, "C"):
            self._set("C", check_slack_weight(self.C, 0))

    def _set(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)

    @property
    def task(self) -> Task:
        """The kind of values in `y`: by default targets for regression losses, else labels −1 and +1."""
        return TARGETS if self.loss.is_regression else LABELS

    def _check_y(self) -> Vector:
        return self.task.check(self.y, self.n)

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
    def weights_shape(self) -> tuple[int, ...]:
        """The shape of w, if it has coordinates; one column may also be a vector."""
        return self.d, self.outputs

    @property
    def n_weights(self) -> int:
        """Number of entries of w, if it has coordinates."""
        return prod(self.weights_shape)

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

    def combine(self, f: Vector) -> Vector:
        """Return the decisions for the outputs `f` (m, outputs): `f` itself, unless outputs vote."""
        return f

    def ambiguous(self, f: Vector) -> NDArray[np.bool_]:
        """Return whether the vote of the outputs `f` (m, outputs) is tied, shape (m,).

        Raises
        ------
        ValueError
            By default, as there is no vote.
        """
        raise ValueError("only the outputs of several binary problems vote")

    def baseline(self, X: Matrix) -> Vector | float:
        """Return the term subtracted from wᵀφ(x) + b for the rows of `X` (m, d), by default 0."""
        return 0.0

    @property
    def expected(self) -> Vector:
        """The correct predictions for the samples, shape (n,): their labels or targets."""
        return self.y

    def distances(self, f: Vector, norm: float) -> Vector:
        """Return signed distances yᵢfᵢ/‖w‖ to the hyperplane; for targets fᵢ − yᵢ.

        Raises
        ------
        ValueError
            For K classes, which have K − 1 hyperplanes each.
        """
        if f.ndim > 1:
            raise ValueError("more than two classes are not separated by a single hyperplane")
        if self.task is TARGETS:
            return f - self.y
        with np.errstate(divide="ignore", invalid="ignore"):
            return self.y * f / norm

    def slacks(self, f: Vector, offsets: tuple[float, ...]) -> Vector:
        """Return each sample's loss for the decisions `f` (n,) and the offsets of the groups."""
        return self.loss.value(self.y, f)

    def decision_scale(self, offsets: tuple[float, ...]) -> float:
        """Return |f| on the margins, for the offsets of the groups: by default 1."""
        return 1.0

    @property
    def has_margin(self) -> bool:
        """Whether 2/‖w‖ is the width of a strip between two classes."""
        return self.task is LABELS

    def reduce(
        self, form: type[SomeForm], start: Point | None = None, gram: Gram | None = None
    ) -> Reduction[SomeForm]:
        """Return the problem in the form that a solver takes; see `dualgap.problems.problem.reduce`."""
        if not self.in_blocks:
            gram = self.gram() if gram is None else gram
        elif form != Sharded:
            raise Unsupported(
                "its samples are in blocks, held in memory one at a time, but this solver needs all of "
                "them: use near_rows"
            )
        return super().reduce(form, start, gram)

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
            value, shape = (
                getattr(point, name),
                full_shape[:1] if full_shape[-1] == 1 else full_shape,
            )
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
        if isinstance(self.X, Blocks):
            return bounds_of_blocks(self, self.X, point)
        return fenchel_bounds(self, point)

    def proven(self, certificate: Certificate) -> Certificate:
        """Return the certificate with proven bounds instead of the float64 bounds."""
        from dualgap.problems.certificates.proof import proven  # noqa: PLC0415 - needs python-flint

        return proven(self, certificate)

    def without_point(self, reason: str) -> Certificate:
        """Return the certificate of an answer without a usable point."""
        return Certificate(reason=reason)

    def objective(self, primal: float, dual: float) -> float:
        """Return the objective in this view's sign and scale, from the problem's two bounds."""
        return primal if self.view == "primal" else -dual

    @property
    def identity(self) -> tuple[Any, ...]:
        """Further values that distinguish problems of one class: by default all other fields."""
        hashed_separately = ("X", "y", "C", "lam", "kernel", "intercept")
        names = [f.name for f in fields(self)]  # type: ignore[arg-type]
        return tuple(getattr(self, name) for name in names if name not in hashed_separately)

    @cached_property
    def family_hash(self) -> str:
        """Identity of the problem, the same for all its views."""
        if self.in_blocks:
            C = f"{self.slack_weight:.12g}"
            parts = self.problem_class, repr(self.X), C, self.tube, self.intercept, *self.identity
            return content_hash(*parts)[:16]
        # 12 digits: C = 1/(n·lam) with lam = 1/(n·C) differs from C by rounding
        distinct_weights = np.array([float(f"{c:.12g}") for c in np.unique(self.weight)])
        weights = self.weight if distinct_weights.size > 1 else distinct_weights
        X = scipy.sparse.csr_array(self.X)  # the same problem, dense or sparse
        parts = self.problem_class, X, self.y, self.kernel, weights, self.tube, self.intercept
        return content_hash(*parts, *self.identity)[:16]
