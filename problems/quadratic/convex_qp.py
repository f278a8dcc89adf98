"""General convex quadratic programs, which have variables and constraints instead of samples."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
import scipy

from dualgap.problems.dataset import Vector, as_canonical_csr
from dualgap.problems.forms import QP, FormPoint, Point, Reduction
from dualgap.problems.problem import Problem, Reducer
from dualgap.problems.quadratic.bounds import ConvexProgram
from dualgap.problems.quadratic.certificate import QPCertificate, qp_bounds, without_point
from dualgap.problems.quadratic.enclosures import without_dependent
from dualgap.problems.quadratic.point import QPPoint
from dualgap.problems.validation import short_repr


def as_posed(problem: ConvexQP, _start: Any, _gram: Any) -> Reduction[ConvexQP]:
    """Return a convex QP itself, for programs that read it from a file."""
    return Reduction(problem, lambda point: QPPoint(point.x, point.inequality, point.equality))


def to_qp(problem: ConvexQP, _start: Any, _gram: Any) -> Reduction[QP]:
    """Return a convex QP in normalised units, without equations that follow from others.

    Points are mapped back exactly; the multipliers of the equations left out are 0.
    """
    scaled = problem.program.normalised
    program = scaled.program
    rows = without_dependent(program.A, program.b)

    def recover(point: FormPoint) -> QPPoint:
        if point.x is None:
            return QPPoint()
        x, equality = scaled.original_x(point.x), point.equality if rows.size else np.zeros(0)
        z, y_rows = problem.multipliers(point.inequality, equality)
        if z is None or y_rows is None:
            return QPPoint(x)
        y = np.zeros(program.b.size)
        y[rows] = y_rows
        y, z = scaled.original_multipliers(y, z)
        return QPPoint(x, z, y)

    def as_csc(matrix: Any) -> Any:
        return scipy.sparse.csc_array(matrix) if matrix.shape[0] else None

    form = QP(
        scipy.sparse.csc_array(program.P),
        program.q,
        as_csc(program.G),
        program.h if program.h.size else None,
        as_csc(program.A[rows]),
        program.b[rows] if rows.size else None,
        program.lb,
        program.ub,
    )
    return Reduction(form, recover)


@dataclass(frozen=True, eq=False)
class ConvexQP(Problem):
    """min ½xᵀPx + qᵀx  s.t.  Gx ≤ h, Ax = b_eq, lb ≤ x ≤ ub, with P ⪰ 0.

    Each argument may be None, and matrices may be dense or sparse. An answer is a `QPPoint`; `certify`
    also accepts x alone, or an object with an attribute x and optional attributes y and z.

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

    source: ClassVar[str] = "Jansson 2004"
    forms: ClassVar[Mapping[type, Reducer]] = {Problem: as_posed, QP: to_qp}
    data_fields: ClassVar[tuple[str, ...]] = ("P", "q", "G", "h", "A", "b_eq", "lb", "ub")
    may_be_infeasible: ClassVar[bool] = True
    task: ClassVar[None] = None

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
        n = _number_of_variables(self)
        q, P = _vector(self.q, "q", n, 0.0), _matrix(self.P, "P", n, rows=n)
        if abs(P - P.T).nnz:
            raise ValueError("P: must be symmetric; (P + P.T) / 2 has the same objective")
        G, h = _rows(("G", self.G), ("h", self.h), n, np.inf)
        if not (limited := np.isfinite(h)).all():
            G = _matrix(scipy.sparse.diags_array(limited.astype(np.float64)) @ G, "G", n)
            h = np.where(limited, h, 1.0)
        A, b_eq = _rows(("A", self.A), ("b_eq", self.b_eq), n, 0.0)
        lb = _vector(self.lb, "lb", n, -np.inf, infinite=True)
        ub = _vector(self.ub, "ub", n, np.inf, infinite=True)
        if (lb > ub).any():
            j = int(np.argmax(lb - ub))
            raise ValueError(
                f"lb: must be at most ub, got lb[{j}] = {lb[j]:g} and ub[{j}] = {ub[j]:g}"
            )
        for name, array in zip(self.data_fields, (P, q, G, h, A, b_eq, lb, ub), strict=True):
            object.__setattr__(self, name, array)

    @property
    def n(self) -> int:
        """Number of variables."""
        return self.q.size

    @property
    def d(self) -> int:
        """Number of constraints with multipliers, without the bounds on x."""
        return self.h.size + self.b_eq.size

    @cached_property
    def program(self) -> ConvexProgram:
        """The arrays of this problem, with derived quantities."""
        return ConvexProgram(self.P, self.q, self.G, self.h, self.A, self.b_eq, self.lb, self.ub)

    def point(self, answer: Any) -> QPPoint:
        """Return the point to certify, from x (n,) or an object with x, and optionally z and y.

        Raises
        ------
        TypeError
            If the answer is neither.
        ValueError
            If a shape is wrong.
        """
        answer = getattr(answer, "point", answer)
        if isinstance(answer, (np.ndarray, list, tuple)):
            answer = QPPoint(x=answer)  # type: ignore[arg-type]
        elif isinstance(answer, Point) and answer.is_empty:  # of a solver that gave none
            answer = QPPoint()
        if not hasattr(answer, "x"):
            raise TypeError(
                f"solution_or_point: must be an array x of {self.n} numbers, a Solution, or an "
                f"object with x, got {short_repr(answer)}"
            )
        point = QPPoint(*(getattr(answer, name, None) for name in "xzy"))
        for name, size in (("x", self.n), ("z", self.h.size), ("y", self.b_eq.size)):
            value = getattr(point, name)
            if value is not None and value.shape != (size,):
                raise ValueError(f"{name}: must have shape ({size},), got {value.shape}")
        return point

    def multipliers(
        self, z: Vector | None, y: Vector | None
    ) -> tuple[Vector | None, Vector | None]:
        """Return z and y, of which those without rows need not be known."""
        none = np.zeros(0)
        return z if self.h.size else none, y if self.b_eq.size else none

    @np.errstate(over="ignore", invalid="ignore")
    def certify(self, point: QPPoint, rigorous: bool, target_gap: float) -> QPCertificate:
        """Return proven bounds on the optimum from x, and from z and y if both are known."""
        z, y = self.multipliers(point.z, point.y)
        multipliers = None if y is None or z is None else (y, z)
        if point.x is None:
            return without_point(self.program, "the solver gave no point")
        if not all(np.isfinite(values).all() for values in (point.x, *(multipliers or ()))):
            return without_point(self.program, "the point has NaN or infinite entries")
        return qp_bounds(self.program, point.x, multipliers)

    def objective(self, primal: float, dual: float) -> float:
        """Return the value of the objective."""
        return primal


def _number_of_variables(problem: ConvexQP) -> int:
    """Return the n of the first argument that states it; ValueError if none does."""
    for name in ("q", "P", "G", "A", "lb", "ub"):
        values = getattr(problem, name)
        if values is not None and np.ndim(values) + 2 * scipy.sparse.issparse(values) > 0:
            return np.shape(values)[-1]
    raise ValueError("q: give at least one of q, P, G and A to define the number of variables")


def _rows(
    matrix: tuple[str, Any], side: tuple[str, Any], n: int, default: float
) -> tuple[Any, Vector]:
    """Return a named matrix of constraints and its right-hand side; ValueError if one is missing."""
    (name, values), (side_name, sides) = matrix, side
    if (values is None) != (sides is None):
        raise ValueError(f"{name}, {side_name}: give both or neither")
    rows = _matrix(values, name, n)
    infinite = np.isinf(default)
    return rows, _vector(sides, side_name, rows.shape[0], default, infinite=bool(infinite))


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
