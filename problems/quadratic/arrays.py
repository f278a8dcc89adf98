"""The arrays of a convex QP, and their exact rescaling by powers of two."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from math import nextafter
from typing import Any, Generic, Self, TypeVar

import numpy as np
import scipy

from dualgap.problems.arithmetic.binary_scaling import (
    column_exponents,
    exponent_to_one,
    row_exponents,
    scaled_columns,
    scaled_rows,
)
from dualgap.problems.dataset import Indices, Vector

AnyProgram = TypeVar("AnyProgram")


@dataclass(frozen=True, eq=False)
class QPArrays:
    """The arrays of a convex QP: P, G and A are CSR, possibly with 0 rows; bounds may be infinite."""

    P: Any
    q: Vector
    G: Any
    h: Vector
    A: Any
    b: Vector
    lb: Vector
    ub: Vector

    @cached_property
    def normalised(self) -> Normalised[Self]:
        """The same program with variables, P, q and each row scaled to magnitude 1."""
        columns = column_exponents(
            self.P.diagonal(),
            self.q,
            scipy.sparse.csr_array(scipy.sparse.vstack([self.G, self.A])),
            np.concatenate([self.h, self.b]),
            self.lb,
            self.ub,
        )
        with np.errstate(over="ignore", under="ignore"):
            program = self._in_units(columns)
            back = program._in_units(-columns)
        if not all(map(np.array_equal, back._numbers(), self._numbers())):
            program, columns = self, np.zeros_like(columns)
        return program._with_unit_rows(columns)

    def _in_units(self, columns: Indices) -> Self:
        """Return the program in the variables u = 2^−columns x."""
        P = scaled_columns(scaled_rows(self.P, columns), columns)
        G, A = scaled_columns(self.G, columns), scaled_columns(self.A, columns)
        q, lb, ub = np.ldexp((self.q, self.lb, self.ub), (columns, -columns, -columns))
        return replace(self, P=P, q=q, G=G, A=A, lb=lb, ub=ub)

    def _numbers(self) -> tuple[Vector, ...]:
        """Return the arrays that depend on the units of the variables."""
        return self.P.data, self.q, self.G.data, self.A.data, self.lb, self.ub

    def _with_unit_rows(self, columns: Indices) -> Normalised[Self]:
        """Return the program with P, q and each row scaled to magnitude 1."""
        largest = max(float(np.abs(v).max(initial=0.0)) for v in (self.P.data, self.q))
        cost = exponent_to_one(largest, self.P.data, self.q)
        G_exponents, A_exponents = row_exponents(self.G, self.h), row_exponents(self.A, self.b)
        program = replace(
            self,
            P=scaled_rows(self.P, np.full(self.q.size, cost)),
            q=np.ldexp(self.q, cost),
            G=scaled_rows(self.G, G_exponents),
            h=np.ldexp(self.h, G_exponents),
            A=scaled_rows(self.A, A_exponents),
            b=np.ldexp(self.b, A_exponents),
        )
        return Normalised(program, cost, G_exponents, A_exponents, columns)

    @cached_property
    def with_bounds(self) -> Self:
        """The same with rows ±½xⱼ ≤ hᵢ of G turned into bounds, exactly; the rows become 0ᵀx ≤ 1."""
        rows = np.flatnonzero(np.diff(self.G.indptr) == 1)
        at = self.G.indptr[rows]
        with np.errstate(over="ignore"):
            limits = self.h[rows] / self.G.data[at]
        exact = (np.abs(self.G.data[at]) == 0.5) & np.isfinite(limits)
        rows, at, limits = rows[exact], at[exact], limits[exact]
        lb, ub, above = self.lb.copy(), self.ub.copy(), self.G.data[at] > 0
        np.minimum.at(ub, self.G.indices[at[above]], limits[above])
        np.maximum.at(lb, self.G.indices[at[~above]], limits[~above])
        if not rows.size or (lb > ub).any():
            return self
        mask, h = np.ones(self.h.size), self.h.copy()
        mask[rows], h[rows] = 0.0, 1.0
        G = scipy.sparse.csr_array(scipy.sparse.diags_array(mask) @ self.G)
        G.eliminate_zeros()
        return replace(self, G=G, h=h, lb=lb, ub=ub)


@dataclass(frozen=True, eq=False)
class Normalised(Generic[AnyProgram]):
    """A program in 2^−columns x, with f scaled by 2^cost and rows by 2^G_exponents and 2^A_exponents."""

    program: AnyProgram
    cost: int
    G_exponents: Indices
    A_exponents: Indices
    columns: Indices

    def x(self, x: Vector) -> Vector:
        """Return `x` of the original program in the units of this one."""
        return np.ldexp(x, -self.columns)

    def original_x(self, x: Vector) -> Vector:
        """Return `x` in the units of the original program, infinite where it overflows."""
        with np.errstate(over="ignore"):
            return np.ldexp(x, self.columns)

    def multipliers(self, y: Vector, z: Vector) -> tuple[Vector, Vector]:
        """Return `y` and `z` of the original program in the units of this one."""
        return np.ldexp(y, self.cost - self.A_exponents), np.ldexp(z, self.cost - self.G_exponents)

    def original_multipliers(self, y: Vector, z: Vector) -> tuple[Vector, Vector]:
        """Return `y` and `z` in the units of the original program."""
        return np.ldexp(y, self.A_exponents - self.cost), np.ldexp(z, self.G_exponents - self.cost)

    def original_value(self, value: float, outward: float) -> float:
        """Return a value of f in the original units, rounded towards `outward`: −inf or inf."""
        with np.errstate(over="ignore", under="ignore"):
            original = float(np.ldexp(value, -self.cost))
            exact = float(np.ldexp(original, self.cost)) == value
        return original if exact or np.isnan(value) else nextafter(original, outward)
