"""Both bounds of Fenchel's duality in balls, for any loss that states its values and conjugate in balls.

    −½βᵀKβ − Σ Cᵢℓ*(yᵢ, −βᵢ/Cᵢ)  ≤  optimum  ≤  ½‖w‖² + cᵀu + Σ Cᵢℓ(yᵢ, fᵢ)

A kernel's matrix K may be positive semidefinite only up to rounding. With λ_min(K) ≥ −δ proven
(`kernels`) and D, P the dual and primal objectives,
    D_K(α) = D_{K+δI}(α) + ½δ‖α‖²  ≤  P_{K+δI}(w, u) + ½δ Σ max αᵢ²   for all feasible α,
so the largest value of the dual of K itself, which is what such a problem asks for, is enclosed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from flint import arb

from problems.certificates.proofs.balls import (
    Unprovable,
    balls,
    dot,
    gram_scores,
    linear_scores,
    weighted_rows,
)
from problems.certificates.proofs.exact import Exact, exact_array, exact_value
from problems.certificates.proofs.kernels import BLOCK, ball_gram
from problems.dataset import Indices, Vector
from problems.dual_problem.dual import DualProblem
from problems.dual_problem.offsets import root_offset

_REACHES = (1e-12, 1e-10, 1e-8)  # how short of one a margin may be to be stretched to it


def enclosure(
    problem: DualProblem,
    alpha: Vector,
    w: Vector | None,
    offsets: tuple[float, ...],
    scale: float,
    is_own: bool,
    shift: float,
) -> Callable[[], tuple[Any, Any]]:
    """Return a function that evaluates both bounds as balls, at the current precision.

    The parameters are those of `proven_bounds`, and δ. Of an upper bound there may be none: it is
    infinite.
    """
    exact = Exact(problem)
    if shift and None in (*exact.low, *exact.high):
        raise Unprovable(f"the kernel's matrix may have eigenvalues down to {-shift:.1e}")
    beta = exact.beta(alpha, ball_gram(problem.kernel, problem.X))
    # what is certified as a primal point need not be feasible
    given = exact_array(problem.beta(alpha))

    def evaluate() -> tuple[Any, Any]:
        scores = _each_output(partial(_scores, problem), beta)
        lower, uppers = _dual_value(exact, beta, scores), list[Any]()
        if w is None or not is_own:
            s, own = arb(scale), scores
            if (given != beta).any():
                own = own + _each_output(partial(_scores, problem), given - beta)
            own = s * (own + shift * balls(given))
            uppers.append(_primal_value(exact, own, s * dot(given.ravel(), own.ravel()), offsets))
        if w is not None:
            weights = balls(w.reshape(problem.d, *beta.shape[1:]))
            own = _each_output(partial(linear_scores, problem.X), weights)
            uppers.append(_primal_value(exact, own, dot(weights.ravel(), weights.ravel()), offsets))
        upper = min(uppers, key=lambda value: value.upper())
        if shift:
            largest = [max(-low, high) for low, high in zip(exact.low, exact.high, strict=True)]
            upper += shift / 2 * sum((arb(c) ** 2 for c in largest), arb(0))
        return lower, upper

    return evaluate


def _each_output(function: Callable[[Any], Any], columns: Any) -> Any:
    """Return `function` of a vector, or of each column of a matrix."""
    if columns.ndim == 1:
        return function(columns)
    return np.stack([function(column) for column in columns.T], axis=1)


def _scores(problem: DualProblem, beta: Any) -> Any:
    """Return balls (n,) around f = Kβ."""
    if problem.is_linear:
        support = np.flatnonzero(beta != 0)
        return linear_scores(problem.X, weighted_rows(problem.X[support], beta[support]))
    return gram_scores(ball_gram(problem.kernel, problem.X), beta, BLOCK)


def _dual_value(exact: Exact, beta: Any, scores: Any) -> Any:
    """Return the dual objective; without bounds, of the hard margin, the best over the norm of α."""
    quadratic = dot(beta.ravel(), scores.ravel())
    # where C is infinite ℓ* is linear
    C = np.array([1 if c is None else c for c in exact.C], object)
    slopes = -beta / C.reshape(-1, *(1 for _ in beta.shape[1:]))
    loss, y = exact.problem.loss, exact.targets
    linear = -dot(C, loss.ball_conjugates(y, balls(slopes)))
    if exact.is_bounded:
        return linear - quadratic / 2
    return linear**2 / (2 * quadratic) if (beta != 0).any() else arb(0)


def _primal_value(exact: Exact, scores: Any, norm2: Any, offsets: tuple[float, ...]) -> Any:
    """Return the primal objective at (w, u), or at a better point that only rounding keeps it from."""
    if not exact.is_bounded:
        return _hard_primal_value(exact.problem, scores, norm2)
    chosen = _best_offsets(exact, scores, offsets)
    cost = sum((arb(c) * u for c, u in zip(exact.costs, chosen, strict=True)), arb(0))
    decision = scores.copy()
    for members, offset in zip(exact.groups, chosen, strict=True):
        decision[members] = scores[members] + offset
    stretches = [arb(1), *_stretches(exact.problem, decision)]
    values = [s * s * norm2 / 2 + s * cost + _risk(exact, s * decision) for s in stretches]
    return min(values, key=lambda value: value.upper())


def _risk(exact: Exact, decision: Any, samples: Any = slice(None)) -> Any:
    """Return Σ Cᵢℓᵢ over some samples, by default all, at their decisions."""
    problem = exact.problem
    losses = problem.loss.ball_values(exact.targets[samples], decision)
    return dot(np.array(exact.C, object)[samples], losses)


def _best_offsets(exact: Exact, scores: Any, offsets: tuple[float, ...]) -> list[Any]:
    """Return for each group the offset that is given, or the best one of the risk if that is better.

    float64 may not have it. A risk with kinks is least at one of them: its slope rises there past 0.
    """
    best: list[Any] = []
    pieces = exact.problem.loss.dual_pieces(exact.targets) or []
    kinks = [-piece.sign * piece.residual(scores) for piece in pieces]
    for members, cost, given in zip(exact.groups, exact.costs, offsets, strict=True):
        slope, found = cost, list[tuple[Any, Any]]()
        for piece, kink in zip(pieces, kinks, strict=True):
            low, high = exact_value(piece.low), exact_value(piece.high)
            for i in members:
                slope += exact.C[i] * (-high if piece.sign[i] > 0 else low)
                found.append((kink[i], exact.C[i] * (high - low)))
        choices = [arb(given)]
        if not pieces:  # float64 finds what is left of it, of targets that are small then
            problem, near = exact.problem, scores + given
            if getattr(problem.loss, "sees_differences", False):
                left = (balls(problem.y) - near).astype(float)
                if np.isfinite(left).all():
                    problem, near = replace(problem, y=left), 0 * near  # type: ignore[type-var]
            choices.append(arb(given) + root_offset(problem, near.astype(float)))
        for kink, rise in sorted(found, key=lambda pair: pair[0].mid()):
            slope += rise
            if slope >= 0:
                choices.append(kink)
                break

        def value(offset: Any, members: Indices = members, cost: Any = cost) -> Any:
            return (cost * offset + _risk(exact, scores[members] + offset, members)).upper()

        best.append(min(choices, key=value))
    return best


def _stretches(problem: DualProblem, decision: Any) -> Iterator[Any]:
    """Yield scales that take margins just short of one to one: a large C weighs each of them."""
    if not problem.loss.unit_margin:
        return
    short = [v.upper() for v in 1 - balls(problem.y) * decision]
    for reach in _REACHES:
        near = [v for v in short if 0 < v < reach]
        if near:
            yield 1 / (1 - max(near))


def _hard_primal_value(problem: DualProblem, scores: Any, norm2: Any) -> Any:
    """Return ‖w‖²/2 over the squared smallest margin; infinite if no margin is positive."""
    margins = balls(problem.y) * (scores + _middle(problem, scores))
    least = np.frompyfunc(arb.min, 2, 1).reduce(margins)
    if least > 0:
        return norm2 / (2 * least**2)
    return arb.pos_inf() if least <= 0 else arb.nan()


def _middle(problem: DualProblem, scores: Any) -> Any:
    """Return the intercept that makes the smallest margin largest, up to the balls' width."""
    if not problem.intercept:
        return arb(0)
    positive, negative = (
        [f.mid() for f, y in zip(scores, problem.y, strict=True) if y == s] for s in (1, -1)
    )
    if positive and negative:
        return ((min(positive) + max(negative)) / -2).mid()
    return 1 - min(positive) if positive else -1 - max(negative)
