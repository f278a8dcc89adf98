"""From a formulation to the form a solver wants, and the way back to (alpha, w, b).

`reduce(problem, BoxQP)` is a pure function of the problem. Constrained formulations reduce to `QP`
in their own face; every face reduces to the `BoxQP` of its dual; the soft margin and the regression
also to `ERM`. Where mathematics has no way, `Unsupported` says what is missing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np
import scipy

from problems.dataset import Vector
from problems.forms import ERM, QP, BoxQP, FormPoint, Point
from problems.formulations.formulation import Formulation
from problems.formulations.structured import ChainMargin, Chains
from problems.gram.gram import GIBIBYTE, Gram, SignedGram
from problems.projection import project

F = TypeVar("F", BoxQP, QP, ERM, Chains)


class Unsupported(Exception):
    """No chain leads from a problem to a solver; the message is the sentence to show."""


@dataclass(frozen=True, eq=False)
class Reduction(Generic[F]):
    """A form, and the function that takes its points back to the formulation."""

    form: F
    recover: Callable[[FormPoint], Point]


def reduce(
    problem: Formulation, form: type[F], start: Point | None = None, memory: int = GIBIBYTE
) -> Reduction[F]:
    """Return `problem` as a `BoxQP`, `QP`, `ERM` or `Chains`.

    Parameters
    ----------
    problem : any formulation.
    form : the class of form wanted.
    start : where to begin; its `alpha` is made feasible first.
    memory : bytes that the form's Gram matrix may keep.

    Raises
    ------
    Unsupported
        If the formulation has no such form; the message says why.
    """
    makers = {BoxQP: _to_box, QP: _to_qp, ERM: _to_erm}
    if form is Chains or isinstance(problem, ChainMargin):
        return _to_chains(problem, form)  # type: ignore[return-value]
    if problem.family == "multiclass":
        raise Unsupported("several binary problems are one form each: reduce each of the `parts`")
    if form is not ERM and problem.family in ("risk", "softmax"):
        raise Unsupported(
            f"the {problem.loss.name} loss is not told as a quadratic program here: only hinge and "
            "epsilon-insensitive risks are; a solver of ERM forms is needed"
        )
    alpha = None if start is None or start.alpha is None else feasible_alpha(problem, start.alpha)
    return makers[form](problem, alpha, problem.gram(memory))  # type: ignore[return-value]


def box_bounds(problem: Formulation) -> tuple[Vector, Vector | None, Vector]:
    """Return p, a and ub of the dual box QP (its lb and delta are 0)."""
    n, y, C = problem.n, problem.y, problem.upper
    if not problem.is_regression:
        return -np.ones(n), (y if problem.intercept else None), C
    sign = np.repeat([1.0, -1.0], n)
    p = np.concatenate([problem.tube - y, problem.tube + y])
    return p, (sign if problem.intercept else None), np.concatenate([C, C])


def to_box_variables(problem: Formulation, alpha: Vector) -> Vector:
    """Return the box QP's variables for `alpha`: itself, or its positive and negative parts."""
    if not problem.is_regression:
        return alpha
    return np.concatenate([np.maximum(alpha, 0.0), np.maximum(-alpha, 0.0)])


def from_box_variables(problem: Formulation, x: Vector) -> Vector:
    """Return `alpha` for the box QP's variables: the inverse of `to_box_variables`."""
    return x[: problem.n] - x[problem.n :] if problem.is_regression else x


def feasible_alpha(problem: Formulation, alpha: Vector) -> Vector:
    """Return the nearest dual feasible point to `alpha` (n,)."""
    C = problem.upper
    if problem.is_regression:
        return project(alpha, -C, C, np.ones(problem.n) if problem.intercept else None)
    return project(alpha, np.zeros(problem.n), C, problem.y if problem.intercept else None)


def _to_box(problem: Formulation, alpha: Vector | None, gram: Gram) -> Reduction[BoxQP]:
    p, a, ub = box_bounds(problem)
    if problem.is_regression:
        Q = SignedGram(gram, np.repeat([1.0, -1.0], problem.n), np.tile(np.arange(problem.n), 2))
    else:
        Q = SignedGram(gram, problem.y)
    start = None if alpha is None else to_box_variables(problem, alpha)
    form = BoxQP(Q, p, a, None, np.zeros(int(a is not None)), np.zeros(p.size), ub, start)

    def recover(point: FormPoint) -> Point:
        return Point(None if point.x is None else from_box_variables(problem, point.x))

    return Reduction(form, recover)


def _to_erm(problem: Formulation, alpha: Vector | None, gram: Gram) -> Reduction[ERM]:
    if problem.family == "hard_margin":
        raise Unsupported("the hard margin has no empirical-risk form: its loss is infinite")
    start = None if alpha is None else problem.beta(alpha)
    form = ERM(gram, problem.y, problem.weight, problem.loss, problem.intercept, start)

    def recover(point: FormPoint) -> Point:
        alpha = None if point.beta is None else problem.alpha(point.beta)
        return Point(alpha, point.x if problem.is_linear else None, point.b)

    return Reduction(form, recover)


def _to_chains(problem: Formulation, form: type[Any]) -> Reduction[Chains]:
    if not isinstance(problem, ChainMargin):
        raise Unsupported("a cutting plane over labellings solves structured margins only")
    if form is not Chains:
        raise Unsupported(
            "a structured margin has a constraint for each of exponentially many labellings: "
            "it takes a solver that finds the violated ones"
        )
    return Reduction(problem.chains, lambda point: Point(point.beta, point.x))


def _to_qp(problem: Formulation, alpha: Vector | None, gram: Gram) -> Reduction[QP]:
    as_dual = problem.face == "dual" or not problem.is_linear
    return _dual_qp(problem, alpha, gram) if as_dual else _primal_qp(problem)


def _dual_qp(problem: Formulation, alpha: Vector | None, gram: Gram) -> Reduction[QP]:
    box = _to_box(problem, alpha, gram)
    A, b_eq = box.form.equality_rows()
    form = QP(box.form.Q, box.form.p, None, None, A, b_eq, box.form.lb, box.form.ub, box.form.start)
    return Reduction(form, box.recover)


def _primal_qp(problem: Formulation) -> Reduction[QP]:
    """Variables (w, b, ξ), for regression (w, b, ξ, ξ*); b and ξ only where the problem has them."""
    n, d = problem.n, problem.d
    rows = _with_intercept(problem)
    slacks = {"hard_margin": 0, "soft_margin": n, "svr": 2 * n}[problem.family]
    size = rows.shape[1] + slacks
    if problem.is_regression:
        plane, h = (
            scipy.sparse.vstack([-rows, rows]),
            np.concatenate([_tube(problem, -1), _tube(problem, 1)]),
        )
    else:
        plane, h = -scipy.sparse.diags_array(problem.y) @ rows, -np.ones(n)
    G = scipy.sparse.hstack([plane, -scipy.sparse.eye_array(slacks)]) if slacks else plane
    P = scipy.sparse.diags_array(np.concatenate([np.ones(d), np.zeros(size - d)]))
    q, lb = np.zeros(size), np.full(size, -np.inf)
    if slacks:
        q[-slacks:], lb[-slacks:] = np.tile(problem.upper, slacks // n), 0.0
    form = QP(
        scipy.sparse.csc_array(P),
        q,
        scipy.sparse.csc_array(G),
        h,
        None,
        None,
        lb,
        np.full(size, np.inf),
    )

    def recover(point: FormPoint) -> Point:
        z, x = point.inequality, point.x
        alpha = None if z is None else from_box_variables(problem, z)
        b = float(x[d]) if x is not None and problem.intercept else None
        return Point(alpha, None if x is None else x[:d], b)

    return Reduction(form, recover)


def _with_intercept(problem: Formulation) -> scipy.sparse.csr_array:
    X = scipy.sparse.csr_array(problem.X)
    return (
        scipy.sparse.csr_array(scipy.sparse.hstack([X, np.ones((problem.n, 1))]))
        if problem.intercept
        else X
    )


def _tube(problem: Formulation, sign: int) -> Vector:
    return problem.tube + sign * problem.y
