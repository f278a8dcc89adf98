"""Reductions of a problem with samples to the forms that solvers take."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dualgap.problems.blocks import Blocks, DualRule
from dualgap.problems.dataset import Matrix, Vector
from dualgap.problems.dual_problem.dual import DualProblem, times
from dualgap.problems.dual_problem.primal_qp import primal_qp
from dualgap.problems.forms import ERM, QP, BoxQP, FormPoint, Point, Reduction, Sharded, Unsupported
from dualgap.problems.gram.gram import Gram, SignedGram
from dualgap.problems.problem import Problem, Reducer


def as_posed(problem: DualProblem, _start: Point | None, _gram: Gram | None) -> Reduction[Any]:
    """Return the problem itself, whose points are alpha, w or both."""
    return Reduction(problem, lambda point: Point(point.x, point.w, point.b))


def to_box(problem: DualProblem, start: Point | None, gram: Gram) -> Reduction[BoxQP]:
    """Return the dual as a box QP: one variable Cᵢxᵢ per sample and piece of the loss."""
    pieces, C = problem.linear_pieces, problem.weight
    several = len(pieces) > 1
    sign = np.concatenate([p.sign for p in pieces])
    Q = SignedGram(gram, sign, np.tile(np.arange(problem.n), len(pieces)) if several else None)
    form = BoxQP(
        Q,
        np.concatenate([p.cost for p in pieces]),
        sign if problem.costs.size else None,
        None if problem.groups is None else np.tile(problem.groups, len(pieces)),
        problem.costs,
        np.concatenate([times(C, p.low) for p in pieces]),
        np.concatenate([times(C, p.high) for p in pieces]),
        _initial(problem, start, problem.to_box_variables),
    )

    def recover(point: FormPoint) -> Point:
        return Point(None if point.x is None else problem.from_box_variables(point.x), b=point.b)

    return Reduction(form, recover)


def to_qp(problem: DualProblem, start: Point | None, gram: Gram) -> Reduction[QP]:
    """Return the primal with slacks if the view is primal and the kernel linear, else the dual."""
    pieces = problem.linear_pieces
    if problem.view != "dual" and problem.is_linear and all(p.low == 0 for p in pieces):
        form = primal_qp(problem.X, problem.weight, problem.costs, problem.groups, pieces)

        def recover(point: FormPoint) -> Point:
            z, x, end = point.inequality, point.x, problem.d + problem.costs.size
            alpha = None if z is None else problem.from_box_variables(z)
            if x is None:
                return Point(alpha)
            b = problem.decision_offset(x[problem.d : end]) if problem.costs.size else None
            return Point(alpha, x[: problem.d], b)

        return Reduction(form, recover)
    dual = problem.reduce(BoxQP, start, gram)
    box, (A, b_eq) = dual.form, dual.form.equality_rows()
    form = QP(box.Q, box.p, None, None, A, b_eq, box.lb, box.ub, box.start)
    return Reduction(form, dual.recover)


def to_erm(problem: DualProblem, start: Point | None, gram: Gram) -> Reduction[ERM]:
    """Return the regularised risk, which has at most one offset, without a cost."""
    if problem.groups is not None or problem.costs.any():
        raise Unsupported("an ERM form has at most one intercept, without a cost")
    beta = _initial(problem, start, problem.beta)
    form = ERM(gram, problem.y, problem.weight, problem.loss, problem.intercept, beta)

    def recover(point: FormPoint) -> Point:
        alpha = None if point.beta is None else problem.alpha(point.beta)
        return Point(alpha, point.x if problem.is_linear else None, point.b)

    return Reduction(form, recover)


def to_sharded(
    problem: DualProblem, _start: Point | None, _gram: Gram | None
) -> Reduction[Sharded]:
    """Return the risk over samples in blocks; arrays in memory are split into blocks."""
    if not problem.takes_blocks or not problem.is_linear or problem.redefined:
        raise Unsupported(
            "samples in blocks need a linear kernel, a soft margin, a tube or another risk, and no "
            "weights or offsets other than those stored with them"
        )
    X: Any = problem.X
    C, in_blocks = problem.slack_weight, isinstance(X, Blocks)
    if in_blocks:
        blocks: Blocks = X
    else:
        weight = None if np.ndim(C) == 0 else np.asarray(C)
        rows = max(1, 2**27 // _row_bytes(X))  # blocks of 128 MiB
        blocks = Blocks.from_arrays(X, problem.y, weight, rows)
    form = Sharded(blocks, 1.0 if np.ndim(C) else float(C), problem.loss, problem.intercept)

    def recover(point: FormPoint) -> Point:
        if in_blocks or point.beta is None or point.x is None:
            return Point(None, point.x, point.b, point.beta)
        rule = DualRule.from_vector(point.beta, problem.d)
        beta = [rule.beta(problem.loss, k, s, form.weights(s)) for k, s in enumerate(blocks)]
        return Point(problem.alpha(np.concatenate(beta)), point.x, point.b)

    return Reduction(form, recover)


def _initial(
    problem: DualProblem, start: Point | None, convert: Callable[[Vector], Vector]
) -> Vector | None:
    """Return the initial variables from `start`, which is made feasible first."""
    return None if start is None or start.alpha is None else convert(problem.feasible(start.alpha))


def _row_bytes(X: Matrix) -> int:
    """Return the approximate number of bytes per row."""
    dense = isinstance(X, np.ndarray)
    return max(1, (X.nbytes if dense else 12 * X.nnz) // X.shape[0])


FORMS: dict[type, Reducer] = {
    Problem: as_posed,
    BoxQP: to_box,
    QP: to_qp,
    ERM: to_erm,
    Sharded: to_sharded,
}
