"""General convex quadratic programs, which have variables and constraints instead of samples."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
import scipy

from dualgap.problems.certificates.quadratic.convex_qp import ConvexProgram
from dualgap.problems.certificates.quadratic.qp_certificate import qp_bounds, without_point
from dualgap.problems.dataset import Vector, as_canonical_csr, content_hash
from dualgap.problems.dual_problem.dual import View
from dualgap.problems.dual_problem.reductions import as_posed
from dualgap.problems.forms import QP, FormPoint, Point, Reduction
from dualgap.problems.formulations.formulation import Formulation
from dualgap.problems.losses import Piece
from dualgap.problems.problem import Problem, Reducer
from dualgap.problems.problem.certificate import Certificate
from dualgap.problems.validation import short_repr


def to_qp(problem: Any, _start: Point | None, _gram: Any) -> Reduction[QP]:
    """Return a convex QP in normalised units; points are mapped back exactly."""
    scaled = problem.program.normalised
    program = scaled.program

    def recover(point: FormPoint) -> Point:
        x, y, z = point.x, point.equality, point.inequality
        x = None if x is None else scaled.original_x(x)
        complete = (y is not None or not program.b.size) and (z is not None or not program.h.size)
        if x is None or not complete:
            return Point(x)
        y, z = scaled.original_multipliers(
            np.zeros(0) if y is None else y, np.zeros(0) if z is None else z
        )
        return Point(x, np.concatenate([z, y]))

    def as_csc(matrix: Any) -> Any:
        return scipy.sparse.csc_array(matrix) if matrix.shape[0] else None

    form = QP(
        scipy.sparse.csc_array(program.P),
        program.q,
        as_csc(program.G),
        program.h if program.h.size else None,
        as_csc(program.A),
        program.b if program.b.size else None,
        program.lb,
        program.ub,
    )
    return Reduction(form, recover)


@dataclass(frozen=True, eq=False)
class ConvexQP(Formulation):
    """min ½xᵀPx + qᵀx  s.t.  Gx ≤ h, Ax = b_eq, lb ≤ x ≤ ub, with P ⪰ 0.

    Each argument may be None, and matrices may be dense or sparse. An answer's `alpha` is x (n,), its
    `w` the multipliers z ≥ 0 of Gx ≤ h, followed by y of Ax = b_eq; `certify` also accepts x alone, or
    an object with an attribute x and optional attributes y and z.

    Attributes
    ----------
    P : (n, n), symmetric; None for a linear program. Semidefiniteness is certified, not checked.
    q : (n,). G, h : (m, n) and (m,). A, b_eq : (k, n) and (k,). A row of G with h = inf does not
        constrain x, and is stored as 0ᵀx ≤ 1.
    lb, ub : (n,), or one number for all variables; infinite for no bound.

    Raises
    ------
    ValueError
        If shapes do not match, an entry is not finite, P is not symmetric, h or b_eq is missing, or an
        lb exceeds its ub.
    """

    P: Any = None
    q: Any = None
    G: Any = None
    h: Any = None
    A: Any = None
    b_eq: Any = None
    lb: Any = None
    ub: Any = None

    view: ClassVar[View] = "primal"
    forms: ClassVar[Mapping[type, Reducer]] = {Problem: as_posed, QP: to_qp}
    has_samples: ClassVar[bool] = False
    data_fields: ClassVar[tuple[str, ...]] = ("P", "q", "G", "h", "A", "b_eq", "lb", "ub")
    in_blocks: ClassVar[bool] = False  # type: ignore[misc]
    may_be_infeasible: ClassVar[bool] = True
    is_linear: ClassVar[bool] = True  # type: ignore[misc]
    pieces: ClassVar[list[Piece] | None] = None  # type: ignore[misc]
    has_margin: ClassVar[bool] = False  # type: ignore[misc]
    source: ClassVar[str] = "Jansson 2004"

    @classmethod
    def from_data(cls, X: Any, *_: Any) -> Self:  # type: ignore[override]
        """Return the problem that a data set contains instead of samples; ValueError if it does not."""
        if not isinstance(X, cls):
            raise ValueError("dataset: has samples; use quadratic_program to read a convex QP")
        return X

    @classmethod
    def example_data(cls, _: Mapping[str, Any], /) -> tuple[Any, Any]:
        """Return a problem of one variable."""
        return cls(P=np.eye(1), q=np.zeros(1)), None

    def __post_init__(self) -> None:
        arguments = {name: getattr(self, name) for name in ("q", "P", "G", "A", "lb", "ub")}
        sizes = {
            name: np.shape(value)[-1]
            for name, value in arguments.items()
            if value is not None and np.ndim(value) + 2 * scipy.sparse.issparse(value) > 0
        }
        if not sizes:
            raise ValueError(
                "q: give at least one of q, P, G and A to define the number of variables"
            )
        n = next(iter(sizes.values()))
        self._set("q", _vector(self.q, "q", n, 0.0))
        self._set("P", _matrix(self.P, "P", n, rows=n))
        if abs(self.P - self.P.T).nnz:
            raise ValueError("P: must be symmetric; (P + P.T) / 2 has the same objective")
        for matrix, side in (("G", "h"), ("A", "b_eq")):
            rows, values = getattr(self, matrix), getattr(self, side)
            if (rows is None) != (values is None):
                raise ValueError(f"{matrix}, {side}: give both or neither")
            self._set(matrix, _matrix(rows, matrix, n))
            default = np.inf if side == "h" else 0.0
            size = getattr(self, matrix).shape[0]
            self._set(side, _vector(values, side, size, default, infinite=side == "h"))
        if np.isinf(self.h).any():
            finite = np.isfinite(self.h)
            rows = scipy.sparse.diags_array(finite.astype(np.float64)) @ self.G
            self._set("G", _matrix(rows, "G", n))
            self._set("h", np.where(finite, self.h, 1.0))
        for name, default in (("lb", -np.inf), ("ub", np.inf)):
            self._set(name, _vector(getattr(self, name), name, n, default, infinite=True))
        if (self.lb > self.ub).any():
            j = int(np.argmax(self.lb - self.ub))
            raise ValueError(
                f"lb: must be at most ub, got lb[{j}] = {self.lb[j]:g} and ub[{j}] = {self.ub[j]:g}"
            )

    @property
    def n(self) -> int:
        """Number of variables."""
        return self.q.size

    @property
    def d(self) -> int:
        """Number of constraints with multipliers, without the bounds on x."""
        return self.h.size + self.b_eq.size

    @property
    def weights_shape(self) -> tuple[int, ...]:
        """The shape of z and y in one vector."""
        return (self.d,)

    @cached_property
    def program(self) -> ConvexProgram:
        """The arrays of this problem, with derived quantities."""
        return ConvexProgram(self.P, self.q, self.G, self.h, self.A, self.b_eq, self.lb, self.ub)

    @cached_property
    def hash(self) -> str:
        """Identity of this problem: its arrays."""
        parts = (getattr(self.program, field.name) for field in fields(self.program))
        return content_hash(type(self).__name__, *parts)[:16]

    @property
    def family_hash(self) -> str:  # type: ignore[override]
        """The same as `hash`, as there is only one view."""
        return self.hash

    def objective(self, primal: float, dual: float) -> float:
        """Return the value of the objective."""
        return primal

    def gram(self, memory: int = 0) -> None:  # type: ignore[override]
        """Return None: there are no samples."""

    def point(self, answer: Any) -> Point:
        """Return the point to certify, from x (n,) or an object with x, and optionally z and y.

        Raises
        ------
        TypeError
            If the answer is neither.
        ValueError
            If a shape is wrong.
        """
        answer = getattr(answer, "point", answer)
        if isinstance(answer, Point):
            x, multipliers = answer.alpha, answer.w
        else:
            is_array = isinstance(answer, (np.ndarray, list, tuple))
            candidate: Any = answer if is_array else getattr(answer, "x", None)
            if candidate is None and not hasattr(answer, "x"):
                raise TypeError(
                    f"solution_or_point: must be an array x of {self.n} numbers, a Solution, or an "
                    f"object with x, got {short_repr(answer)}"
                )
            x, multipliers = candidate, self._multipliers(answer)
        point = Point(x, multipliers)
        for name, value, size in (("x", point.alpha, self.n), ("z and y", point.w, self.d)):
            if value is not None and value.shape != (size,):
                raise ValueError(f"{name}: must have shape ({size},), got {value.shape}")
        return point

    def _multipliers(self, answer: Any) -> Vector | None:
        """Return z and y of an answer in one vector; None if either is missing."""
        parts = list[Vector]()
        for name, size in (("z", self.h.size), ("y", self.b_eq.size)):
            value = getattr(answer, name, None)
            if value is None and size:
                return None
            parts.append(np.zeros(0) if value is None else np.asarray(value, np.float64).ravel())
        return np.concatenate(parts)

    @np.errstate(over="ignore", invalid="ignore")
    def certify(self, point: Point, rigorous: bool, target_gap: float) -> Certificate:
        """Return proven bounds on the optimum from x, and multipliers if given."""
        if point.alpha is None:
            return self.without_point("the solver gave no point")
        if not all(np.isfinite(v).all() for v in (point.alpha, point.w) if v is not None):
            return self.without_point("the point has NaN or infinite entries")
        multipliers = None if point.w is None else (point.w[self.h.size :], point.w[: self.h.size])
        return qp_bounds(self.program, point.alpha, multipliers)

    def without_point(self, reason: str) -> Certificate:
        """Return the certificate of an answer without a usable point, perhaps proving infeasibility."""
        return without_point(self.program, reason)


def _vector(values: Any, name: str, size: int, default: float, infinite: bool = False) -> Vector:
    """Return a read-only vector of `size` numbers, all equal to `default` if `values` is None."""
    array = np.asarray(default if values is None else values)
    if array.dtype.kind not in "bifu":
        raise ValueError(f"{name}: must be numbers, got {short_repr(values)}")
    array = array.astype(np.float64)
    if array.ndim == 0 and (infinite or values is None):
        array = np.full(size, float(array))
    if array.shape != (size,):
        raise ValueError(f"{name}: must have shape ({size},), got {array.shape}")
    invalid = np.isnan(array) | (array == -default) if infinite else ~np.isfinite(array)
    if invalid.any():
        index = int(np.argmax(invalid))
        raise ValueError(f"{name}: entry {index} is {array[index]}; give finite numbers")
    array.flags.writeable = False
    return array


def _matrix(values: Any, name: str, n: int, rows: int | None = None) -> Any:
    """Return a canonical CSR matrix with n columns; for None without rows, or with `rows` zero rows."""
    if values is None:
        return scipy.sparse.csr_array((rows or 0, n))
    if not scipy.sparse.issparse(values):
        values = np.asarray(values)
    if values.dtype.kind not in "bifu" or values.ndim != 2:
        raise ValueError(
            f"{name}: must be a matrix of numbers, got {values.dtype}, {values.ndim}-D"
        )
    if values.shape[1] != n or (rows is not None and values.shape[0] != rows):
        expected_shape = f"({'m' if rows is None else rows}, {n})"
        raise ValueError(f"{name}: must have shape {expected_shape}, got {values.shape}")
    sparse = values if scipy.sparse.issparse(values) else scipy.sparse.csr_array(values)
    matrix = scipy.sparse.csr_array(as_canonical_csr(sparse, name), copy=True)
    if not np.isfinite(matrix.data).all():
        raise ValueError(f"{name}: has NaN or infinite entries; give finite numbers")
    matrix.data.flags.writeable = False
    return matrix
