"""Any convex quadratic program, certified: variables and constraints, without samples."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, ClassVar, Never, Self

import numpy as np
import scipy

from dualgap.problems.certificates.certificate import Certificate
from dualgap.problems.certificates.quadratic.convex_qp import Program
from dualgap.problems.certificates.quadratic.qp_certificate import qp_bounds, without_point
from dualgap.problems.dataset import Vector, as_canonical_csr, content_hash
from dualgap.problems.dual_problem.dual import View
from dualgap.problems.forms import QP, FormPoint, Point, Reduction, Unsupported
from dualgap.problems.formulations.formulation import Formulation
from dualgap.problems.losses import Piece
from dualgap.problems.validation import shown

_WITHOUT_SAMPLES = "a convex QP has no samples: it takes a QP solver such as cvxopt_qp"


@dataclass(frozen=True, eq=False)
class ConvexQP(Formulation):
    """min ½xᵀPx + qᵀx  s.t.  Gx ≤ h, Ax = b_eq, lb ≤ x ≤ ub, with P ⪰ 0.

    Each argument may be None, and a matrix dense or sparse. The answer's `alpha` is x (n,), its `w` the
    multipliers z ≥ 0 of Gx ≤ h, then y of Ax = b_eq; `certify` also takes x alone, or anything with
    attributes x, and perhaps y and z.

    Attributes
    ----------
    P : (n, n), symmetric; None for a linear program. That it is semidefinite is certified, not checked.
    q : (n,). G, h : (m, n) and (m,). A, b_eq : (k, n) and (k,). A row of G with h = inf is no
        constraint, and is kept as 0ᵀx ≤ 1.
    lb, ub : (n,) or a number for all; infinite for none.

    Raises
    ------
    ValueError
        If shapes do not fit, an entry is not a finite number, P is not symmetric, G lacks h, A lacks
        b_eq, or an lb is above its ub.
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
        """Return the problem that a data set has in the place of samples; ValueError if it has none."""
        if not isinstance(X, cls):
            raise ValueError("dataset: has samples; a convex QP is read by quadratic_program")
        return X

    @classmethod
    def example_samples(cls, _: Mapping[str, Any], /) -> tuple[Any, Any]:
        """Return a problem of one variable."""
        return cls(P=np.eye(1), q=np.zeros(1)), None

    def __post_init__(self) -> None:
        given = {name: getattr(self, name) for name in ("q", "P", "G", "A", "lb", "ub")}
        sizes = {
            name: np.shape(value)[-1]
            for name, value in given.items()
            if value is not None and np.ndim(value) + 2 * scipy.sparse.issparse(value) > 0
        }
        if not sizes:
            raise ValueError("q: give at least one of q, P, G and A, which say how many variables")
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
            none = np.inf if side == "h" else 0.0
            size = getattr(self, matrix).shape[0]
            self._set(side, _vector(values, side, size, none, infinite=side == "h"))
        if np.isinf(self.h).any():
            limited = np.isfinite(self.h)
            rows = scipy.sparse.diags_array(limited.astype(np.float64)) @ self.G
            self._set("G", _matrix(rows, "G", n))
            self._set("h", np.where(limited, self.h, 1.0))
        for name, none in (("lb", -np.inf), ("ub", np.inf)):
            self._set(name, _vector(getattr(self, name), name, n, none, infinite=True))
        if (self.lb > self.ub).any():
            at = int(np.argmax(self.lb - self.ub))
            raise ValueError(
                f"lb: must be at most ub, got lb[{at}] = {self.lb[at]:g} and ub[{at}] = {self.ub[at]:g}"
            )

    @property
    def n(self) -> int:
        """Number of variables."""
        return self.q.size

    @property
    def d(self) -> int:
        """Number of constraints that have multipliers, those of bounds apart."""
        return self.h.size + self.b_eq.size

    @property
    def weights_shape(self) -> tuple[int, ...]:
        """z and y in one vector."""
        return (self.d,)

    @cached_property
    def program(self) -> Program:
        """Its arrays, and what is known of them."""
        return Program(self.P, self.q, self.G, self.h, self.A, self.b_eq, self.lb, self.ub)

    @cached_property
    def hash(self) -> str:
        """Identity of this problem: its arrays."""
        parts = (getattr(self.program, own.name) for own in fields(self.program))
        return content_hash(type(self).__name__, *parts)[:16]

    @property
    def family_hash(self) -> str:  # type: ignore[override]
        """The same: it has one view."""
        return self.hash

    def objective(self, primal: float, dual: float) -> float:
        """Return the value of the objective."""
        return primal

    def gram(self, memory: int = 0) -> None:  # type: ignore[override]
        """Return nothing: there are no samples."""

    def point(self, answer: Any) -> Point:
        """Return what is certified of an answer: x (n,), or anything with x, and perhaps z and y.

        Raises
        ------
        TypeError
            If it is neither.
        ValueError
            If it has the wrong shape.
        """
        answer = getattr(answer, "point", answer)
        if isinstance(answer, Point):
            x, multipliers = answer.alpha, answer.w
        else:
            is_array = isinstance(answer, (np.ndarray, list, tuple))
            own: Any = answer if is_array else getattr(answer, "x", None)
            if own is None and not hasattr(answer, "x"):
                raise TypeError(
                    f"solution_or_point: must be an array x of {self.n} numbers, a Solution, or have "
                    f"x, got {shown(answer)}"
                )
            x, multipliers = own, self._multipliers(answer)
        point = Point(x, multipliers)
        for name, value, size in (("x", point.alpha, self.n), ("z and y", point.w, self.d)):
            if value is not None and value.shape != (size,):
                raise ValueError(f"{name}: must have shape ({size},), got {value.shape}")
        return point

    def _multipliers(self, answer: Any) -> Vector | None:
        """Return z and y of an answer; None unless it has all that there are."""
        parts = list[Vector]()
        for name, size in (("z", self.h.size), ("y", self.b_eq.size)):
            value = getattr(answer, name, None)
            if value is None and size:
                return None
            parts.append(np.zeros(0) if value is None else np.asarray(value, np.float64).ravel())
        return np.concatenate(parts)

    def bounds(self, point: Point) -> Certificate:
        """Return bounds on the optimum, proven, from x and multipliers if there are any."""
        if point.alpha is None:  # of multipliers alone
            return self.without_point("the solver gave no x")
        given = None if point.w is None else (point.w[self.h.size :], point.w[: self.h.size])
        return qp_bounds(self.program, point.alpha, given)

    def without_point(self, reason: str) -> Certificate:
        """Return the certificate of an answer that has no usable point: perhaps there is no optimum."""
        return without_point(self.program, reason)

    def proven(self, certificate: Certificate) -> Certificate:
        """Return the certificate itself, which is proven."""
        return certificate

    def to_qp(self, gram: Any, start: Point | None = None) -> Reduction[QP]:  # type: ignore[override]
        """Return the form of itself in units of its own; the way back is exact."""
        own = self.program.normalised
        program = own.program

        def recover(point: FormPoint) -> Point:
            x, y, z = point.x, point.equality, point.inequality
            x = None if x is None else own.original_x(x)
            known = (y is not None or not program.b.size) and (z is not None or not program.h.size)
            if x is None or not known:
                return Point(x)
            y, z = own.original_multipliers(
                np.zeros(0) if y is None else y, np.zeros(0) if z is None else z
            )
            return Point(x, np.concatenate([z, y]))

        def column(matrix: Any) -> Any:
            return scipy.sparse.csc_array(matrix) if matrix.shape[0] else None

        form = QP(
            scipy.sparse.csc_array(program.P),
            program.q,
            column(program.G),
            program.h if program.h.size else None,
            column(program.A),
            program.b if program.b.size else None,
            program.lb,
            program.ub,
        )
        return Reduction(form, recover)

    def to_box(self, gram: Any, start: Point | None = None) -> Never:  # type: ignore[override]
        """Say why there is no other form."""
        raise Unsupported(_WITHOUT_SAMPLES)

    to_erm = to_chains = to_itself = to_box  # type: ignore[assignment]


def _vector(values: Any, name: str, size: int, none: float, infinite: bool = False) -> Vector:
    """Return a read-only vector of so many numbers, of `none` for None."""
    array = np.asarray(none if values is None else values)
    if array.dtype.kind not in "bifu":
        raise ValueError(f"{name}: must be numbers, got {shown(values)}")
    array = array.astype(np.float64)
    if array.ndim == 0 and (infinite or values is None):
        array = np.full(size, float(array))
    if array.shape != (size,):
        raise ValueError(f"{name}: must have shape ({size},), got {array.shape}")
    wrong = np.isnan(array) | (array == -none) if infinite else ~np.isfinite(array)
    if wrong.any():
        at = int(np.argmax(wrong))
        raise ValueError(f"{name}: entry {at} is {array[at]}; give finite numbers")
    array.flags.writeable = False
    return array


def _matrix(values: Any, name: str, n: int, rows: int | None = None) -> Any:
    """Return a canonical CSR matrix with n columns, with no rows (or zeros, of P) for None."""
    if values is None:
        return scipy.sparse.csr_array((rows or 0, n))
    if not scipy.sparse.issparse(values):
        values = np.asarray(values)
    if values.dtype.kind not in "bifu" or values.ndim != 2:
        raise ValueError(
            f"{name}: must be a matrix of numbers, got {values.dtype}, {values.ndim}-D"
        )
    if values.shape[1] != n or (rows is not None and values.shape[0] != rows):
        wanted = f"({'m' if rows is None else rows}, {n})"
        raise ValueError(f"{name}: must have shape {wanted}, got {values.shape}")
    sparse = values if scipy.sparse.issparse(values) else scipy.sparse.csr_array(values)
    matrix = scipy.sparse.csr_array(as_canonical_csr(sparse, name), copy=True)
    if not np.isfinite(matrix.data).all():
        raise ValueError(f"{name}: has NaN or infinite entries; give finite numbers")
    matrix.data.flags.writeable = False
    return matrix
