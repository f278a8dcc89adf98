"""Reductions of a risk to the forms that solvers take, each with the map of its points back."""

from dataclasses import replace
from typing import Any

import numpy as np
import scipy

from dualgap.problems.dataset import Matrix, Vector
from dualgap.problems.forms import (
    ERM,
    QP,
    BoxQP,
    FormPoint,
    KernelQP,
    Point,
    Reduction,
    Unsupported,
)
from dualgap.problems.gram.gram import Gram
from dualgap.problems.problem import Problem, Reducer
from dualgap.problems.risk.offsets import mean_offset
from dualgap.problems.risk.recovery import project_dual
from dualgap.problems.risk.risk import Risk, blocks_of, from_box_point, in_blocks


def to_kernel_qp(risk: Risk, start: Point | None, gram: Gram) -> Reduction[KernelQP]:
    """Return the dual in the coefficients β."""
    initial = _start(risk, start)
    variables = None if initial is None else risk.form.of_samples(initial)
    form = replace(risk.form, gram=gram, start=variables)

    def recover(point: FormPoint) -> Point:
        beta = point.x
        if beta is not None and beta.size != form.n:
            raise ValueError(f"beta has {beta.size} variables, expected {form.n}")
        return Point(None if beta is None else risk.alpha(form.per_sample(beta)), b=point.b)

    return Reduction(form, recover)


def to_box(risk: Risk, start: Point | None, gram: Gram) -> Reduction[BoxQP]:
    """Return the dual as a box QP: one variable per sign that a coefficient may have."""
    dual = to_kernel_qp(risk, start, gram)

    def recover(point: FormPoint) -> Point:
        x = None if point.x is None else dual.form.joined_point(point.x)
        return dual.recover(replace(point, x=x))

    return Reduction(dual.form.box, recover)


def to_dual_qp(risk: Risk, start: Point | None, gram: Gram) -> Reduction[QP]:
    """Return the dual as a QP."""
    dual = to_box(risk, start, gram)
    box, (A, b_eq) = dual.form, dual.form.equality_rows()
    form = QP(box.Q, box.p, None, None, A, b_eq, box.lb, box.ub, box.start)
    return Reduction(form, dual.recover)


def to_primal_qp(risk: Risk, start: Point | None, gram: Gram) -> Reduction[QP]:
    """Return the primal with slacks if w has coordinates, else the dual."""
    samples = risk.samples
    if not samples.is_linear:
        return to_dual_qp(risk, start, gram)
    form = _primal_qp(samples.X, risk.form)

    def recover(point: FormPoint) -> Point:
        z, x, end = point.inequality, point.x, samples.d + risk.costs.size
        alpha = None if z is None else from_box_point(risk, z)
        if x is None:
            return Point(alpha)
        b = mean_offset(x[samples.d : end]) if risk.costs.size else None
        return Point(alpha, x[: samples.d], b)

    return Reduction(form, recover)


def _primal_qp(X: Matrix, dual: KernelQP) -> QP:
    """Return the QP in w, the offsets u, and one slack per variable x of the split dual if bounded.

    min ½‖w‖² + cᵀu + Σ ubⱼξⱼ   s.t.  −sign·(Xw + u) − ξ ≤ p,  ξ ≥ 0
    """
    box, d, count = dual.box, X.shape[1], dual.sums.size
    rows = scipy.sparse.csr_array(X)[box.Q.index]
    if count:  # one column per offset: 1 for its samples
        group = np.zeros(box.n, np.intp) if box.groups is None else box.groups
        has = np.eye(count + 1)[group][:, :count]
        rows = scipy.sparse.csr_array(scipy.sparse.hstack([rows, has]))
    slacks = box.n if np.isfinite(box.ub).all() else 0
    size = rows.shape[1] + slacks
    plane = -scipy.sparse.diags_array(box.Q.sign) @ rows
    G = scipy.sparse.hstack([plane, -scipy.sparse.eye_array(slacks)]) if slacks else plane
    P = scipy.sparse.diags_array(np.concatenate([np.ones(d), np.zeros(size - d)]))
    q, lb = np.zeros(size), np.full(size, -np.inf)
    q[d : rows.shape[1]] = dual.sums
    if slacks:
        q[-slacks:], lb[-slacks:] = box.ub, 0.0
    return QP(
        scipy.sparse.csc_array(P),
        q,
        scipy.sparse.csc_array(G),
        box.p,
        None,
        None,
        lb,
        np.full(size, np.inf),
    )


def to_erm(risk: Risk, start: Point | None, gram: Gram) -> Reduction[ERM]:
    """Return the regularised risk, which has at most one offset, without a cost."""
    if risk.is_hard:
        raise Unsupported("the hard margin has no empirical-risk form: its loss is infinite")
    if risk.groups is not None or risk.costs.any():
        raise Unsupported("an ERM form has at most one intercept, without a cost")
    form = ERM(gram, risk.y, risk.C, risk.loss, bool(risk.costs.size), _start(risk, start))

    def recover(point: FormPoint) -> Point:
        alpha = None if point.beta is None else risk.alpha(point.beta)
        return Point(alpha, point.x if risk.samples.is_linear else None, point.b)

    return Reduction(form, recover)


def to_risk(risk: Risk) -> Reduction[Risk]:
    """Return the risk itself with its samples in blocks."""
    form = in_blocks(risk)

    def recover(point: FormPoint) -> Point:
        if form is risk or point.rule is None:
            return Point(None, point.x, point.b, point.rule)
        beta = point.rule.coefficients(risk.loss, blocks_of(form))
        return Point(risk.alpha(beta), point.x, point.b)

    return Reduction(form, recover)


def _start(risk: Risk, start: Point | None) -> Vector | None:
    """Return the initial coefficients β from `start`, which is made feasible first."""
    if start is None or start.alpha is None:
        return None
    return risk.beta(project_dual(risk, start.alpha))


def as_posed(problem: Problem, _start: Point | None, _gram: Gram | None) -> Reduction[Any]:
    """Return the problem itself, whose points are alpha, w or both."""
    return Reduction(problem, lambda point: Point(point.x, point.w, point.b))


FORMS: dict[type, Reducer] = {
    Problem: as_posed,
    KernelQP: lambda problem, start, gram: to_kernel_qp(problem.risk, start, gram),
    BoxQP: lambda problem, start, gram: to_box(problem.risk, start, gram),
    QP: lambda problem, start, gram: (to_dual_qp if problem.view == "dual" else to_primal_qp)(
        problem.risk, start, gram
    ),
    ERM: lambda problem, start, gram: to_erm(problem.risk, start, gram),
    Risk: lambda problem, _start, _gram: to_risk(problem.risk),
}
