"""A problem's dual in rationals: its box and equalities, points that satisfy them, and its losses."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from flint import arb, fmpq

from problems.certificates.proofs.balls import Unprovable, dot
from problems.dataset import Indices, Vector
from problems.losses import Piece
from problems.projection import members_of

if TYPE_CHECKING:
    from problems.formulations.formulation import Formulation


class Exact:
    """What a problem's dual asks for, in rationals.

    Attributes
    ----------
    pieces : of the loss. C : the weights, None for no bound. low, high : of each βᵢ, None likewise.
    groups : the samples of each equality. costs : the right sides.
    """

    def __init__(self, problem: Formulation) -> None:
        self.problem, self.pieces = problem, problem.pieces or []
        self.C = [None if c is None else exact_value(c) for c in problem.exact_weights()]
        self.low, self.high = self._limits(min), self._limits(max)
        self.costs = [exact_value(c) for c in problem.costs.tolist()]
        self.groups: list[Indices] = []
        if problem.groups is not None:
            self.groups = members_of(problem.groups, len(self.costs))
        elif self.costs:
            self.groups = [np.arange(problem.n)]

    @property
    def is_bounded(self) -> bool:
        """Whether every weight is finite."""
        return all(c is not None for c in self.C)

    def _limits(self, extreme: Any) -> list[Any]:
        """Return the least or the largest βᵢ: Σ over pieces of sign·Cᵢ·low or sign·Cᵢ·high."""
        totals: list[Any] = [fmpq(0)] * self.problem.n
        for piece in self.pieces:
            ends = exact_value(piece.low), exact_value(piece.high)
            by_sign = {s: extreme(s * end for end in ends) for s in (1, -1)}
            for i, s in enumerate(piece.sign.tolist()):
                most, C, total = by_sign[int(s)], self.C[i], totals[i]
                if most != 0:
                    totals[i] = None if C is None or total is None else total + most * C
        return totals

    def beta(self, alpha: Vector) -> list[Any]:
        """Return βᵢ as rationals that satisfy the box and every equality exactly.

        Raises
        ------
        Unprovable
            If no such β is found.
        """
        values = self.problem.beta(alpha).tolist()
        x = [
            _clip(exact_value(v), *box) for v, *box in zip(values, self.low, self.high, strict=True)
        ]
        order = np.argsort(-np.abs(alpha))
        place = np.argsort(order)
        for members, cost in zip(self.groups, self.costs, strict=True):
            # the entries of largest size give way; moving all of them is enough
            excess = sum((x[i] for i in members), fmpq(0)) - cost
            for i in members[np.argsort(place[members])]:
                if excess == 0:
                    break
                moved = _clip(x[i] - excess, self.low[i], self.high[i])
                excess += moved - x[i]
                x[i] = moved
            if excess != 0:
                raise Unprovable("no dual point meets an equality exactly")
        return x

    def variables(self, beta: list[Any]) -> list[list[Any]]:
        """Return the dual variables of each piece that make up β."""
        signed = [
            [int(s) * v for s, v in zip(piece.sign.tolist(), beta, strict=True)]
            for piece in self.pieces
        ]
        return signed if len(signed) == 1 else [[max(v, fmpq(0)) for v in part] for part in signed]

    def residuals(self, decision: list[Any]) -> list[list[Any]]:
        """Return r = sign·(f − target) + offset for each piece, at the decisions f."""
        return [
            [
                int(s) * (f - t) + piece.offset
                for s, t, f in zip(
                    piece.sign.tolist(), piece.target.tolist(), decision, strict=True
                )
            ]
            for piece in self.pieces
        ]

    def risks(self, residuals: list[list[Any]], samples: Any = None) -> Any:
        """Return Σ Cᵢℓᵢ over some samples, by default all, at the residuals of each piece."""
        chosen = range(self.problem.n) if samples is None else samples
        total = arb(0)
        for piece, r in zip(self.pieces, residuals, strict=True):
            losses = [_positive_part(piece, r[i]) for i in chosen]
            total += dot([arb(self.C[i]) for i in chosen], losses)
        return total

    def shifted(self, scores: list[Any], offsets: list[Any]) -> list[Any]:
        """Return the decisions: scores with the offset of each sample's group."""
        decision = list(scores)
        for members, offset in zip(self.groups, offsets, strict=True):
            for i in members:
                decision[i] = scores[i] + offset
        return decision


def _positive_part(piece: Piece, r: Any) -> Any:
    """Return max over low ≤ x ≤ high of −x·r."""
    high = (-piece.high * r).max(arb(0))
    return high if piece.low == 0 else high + (-piece.low * r).max(arb(0))


def exact_value(value: float | Fraction) -> Any:
    """Return a finite number as a rational."""
    return fmpq(*value.as_integer_ratio())


def _clip(value: Any, low: Any, high: Any) -> Any:
    value = value if low is None else max(value, low)
    return value if high is None else min(value, high)
