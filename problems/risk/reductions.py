"""Reductions of a risk to the forms that solvers take, each with the map of its points back.

Before that a problem is rescaled by powers of two, which changes nothing but its units: for K = 2ᵖK' and
y = 2ᵏy' it is equivalent to that of K' and y' with α = 2ᵏ⁻ᵖα', w = 2ᵏ⁻ᵖᐟ²w', f = 2ᵏf' and C = 2ᵏ⁻ᵖC', or
2⁻ᵖC' for a squared loss. Solvers receive a problem whose targets, and whose features if extreme, have
magnitude 1, so absolute tolerances do not depend on the units of the data.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
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
from dualgap.problems.kernels import Linear, Precomputed
from dualgap.problems.problem import Problem, Reducer, reduce, replace_fields
from dualgap.problems.problem.task import CLASSES
from dualgap.problems.risk.dual_point import project_dual
from dualgap.problems.risk.risk import (
    KernelSamples,
    Risk,
    blocks_of,
    decision_exponent,
    from_box_point,
    in_blocks,
    mean_offset,
)
from dualgap.problems.validation import is_ours


def to_kernel_qp(problem: Any, start: Point | None, gram: Gram | None) -> Reduction[KernelQP]:
    """Return the dual in the coefficients β."""
    gram, risk, beta = _gram_in_memory(problem, gram), problem.risk, _first_beta(problem, start)
    first = None if beta is None else risk.form.of_samples(beta)
    form = replace(risk.form, gram=gram, start=first)

    def recover(point: FormPoint) -> Point:
        if point.x is None:
            return Point(b=point.b)
        if point.x.size != form.n:
            raise ValueError(f"beta has {point.x.size} variables, expected {form.n}")
        return Point(risk.alpha(form.per_sample(point.x)), b=point.b)

    return Reduction(form, recover)


def to_box(problem: Any, start: Point | None, gram: Gram | None) -> Reduction[BoxQP]:
    """Return the dual as a box QP: one variable per sign that a coefficient may have."""
    dual = to_kernel_qp(problem, start, gram)

    def recover(point: FormPoint) -> Point:
        x = None if point.x is None else dual.form.joined_point(point.x)
        return dual.recover(replace(point, x=x))

    return Reduction(dual.form.box, recover)


def to_qp(problem: Any, start: Point | None, gram: Gram | None) -> Reduction[QP]:
    """Return the dual as a QP; the primal with slacks if that is the view and w has coordinates."""
    if problem.view != "dual" and problem.samples.is_linear and not problem.in_blocks:
        return _to_primal_qp(problem.risk)
    dual = to_box(problem, start, gram)
    box, (A, b_eq) = dual.form, dual.form.equality_rows()
    form = QP(box.Q, box.p, None, None, A, b_eq, box.lb, box.ub, box.start)
    return Reduction(form, dual.recover)


def _to_primal_qp(risk: Risk) -> Reduction[QP]:
    """Return the primal with slacks, whose multipliers are the variables of the dual's box QP."""
    d, end = risk.samples.d, risk.samples.d + risk.costs.size

    def recover(point: FormPoint) -> Point:
        z, x = point.inequality, point.x
        alpha = None if z is None else from_box_point(risk, z)
        if x is None:
            return Point(alpha)
        return Point(alpha, x[:d], mean_offset(x[d:end]) if risk.costs.size else None)

    return Reduction(_primal_qp(risk.samples.X, risk.form), recover)


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


def to_erm(problem: Any, start: Point | None, gram: Gram | None) -> Reduction[ERM]:
    """Return the regularised risk, which has at most one offset, without a cost."""
    gram, risk = _gram_in_memory(problem, gram), problem.risk
    if risk.is_hard:
        raise Unsupported("the hard margin has no empirical-risk form: its loss is infinite")
    if risk.groups is not None or risk.costs.any():
        raise Unsupported("an ERM form has at most one intercept, without a cost")
    beta = _first_beta(problem, start)
    form = ERM(gram, risk.y, risk.C, risk.loss, bool(risk.costs.size), beta)

    def recover(point: FormPoint) -> Point:
        alpha = None if point.beta is None else risk.alpha(point.beta)
        return Point(alpha, point.x if risk.samples.is_linear else None, point.b)

    return Reduction(form, recover)


def to_risk(problem: Any, _start: Point | None, _gram: Gram | None) -> Reduction[Risk]:
    """Return the risk itself with its samples in blocks."""
    risk = problem.risk
    if risk.is_hard:
        raise Unsupported("the hard margin has no form in blocks: its loss is infinite")
    form = in_blocks(risk)

    def recover(point: FormPoint) -> Point:
        if form is risk or point.rule is None:
            return Point(None, point.x, point.b, point.rule)
        beta = point.rule.coefficients(risk.loss, blocks_of(form))
        return Point(risk.alpha(beta), point.x, point.b)

    return Reduction(form, recover)


def as_posed(problem: Problem, _start: Point | None, _gram: Gram | None) -> Reduction[Any]:
    """Return the problem itself, whose points are alpha, w or both."""
    return Reduction(problem, lambda point: Point(point.x, point.w, point.b))


def _gram_in_memory(problem: Any, gram: Gram | None) -> Gram:
    """Return `gram`, by default that of the samples; Unsupported if these are in blocks."""
    if problem.in_blocks:
        raise Unsupported(
            "its samples are in blocks, held in memory one at a time, but this solver needs all of "
            "them: use near_rows"
        )
    return problem.samples.gram() if gram is None else gram


def _first_beta(problem: Any, start: Point | None) -> Vector | None:
    """Return the initial coefficients β from `start`, which is made feasible first."""
    if start is None or start.alpha is None:
        return None
    return problem.risk.beta(project_dual(problem.risk, start.alpha))


FORMS: dict[type, Reducer] = {
    Problem: as_posed,
    KernelQP: to_kernel_qp,
    BoxQP: to_box,
    QP: to_qp,
    ERM: to_erm,
    Risk: to_risk,
}


@dataclass(frozen=True, eq=False)
class RescaledProblem:
    """A rescaled problem, and the maps of points to and from it.

    Attributes
    ----------
    original : the problem in its own units.
    problem : the rescaled problem.
    decision, alpha, weights : binary exponents of the units of f and b, of α, and of w.
    """

    original: Any
    problem: Any
    decision: int = 0
    alpha: int = 0
    weights: int = 0

    def scale_point(self, point: Point) -> Point:
        """Return a point of the original problem as one of the rescaled problem."""
        return self._times(point, -1)

    def unscale_point(self, point: Point) -> Point:
        """Return a point of the rescaled problem as one of the original problem."""
        return self._times(point, 1)

    def reduce(
        self, form: type[Any], start: Point | None = None, gram: Gram | None = None
    ) -> Reduction[Any]:
        """Return `reduce` of the rescaled problem, with its map back to the original.

        Parameters
        ----------
        form : as for `reduce`. `Problem`, which is written to files, is the original problem.
        start : a point of the original problem.
        gram : the Gram matrix of the rescaled problem; None creates a new one.
        """
        if self.problem is self.original or form is Problem:
            return reduce(self.original, form, start, gram)
        scaled_start = None if start is None else self.scale_point(start)
        reduction = reduce(self.problem, form, scaled_start, gram)
        return Reduction(reduction.form, lambda point: self.unscale_point(reduction.recover(point)))

    @np.errstate(over="ignore")  # an infinite point has no bounds
    def _times(self, point: Point, sign: int) -> Point:
        exponents = {"alpha": self.alpha, "w": self.weights, "b": self.decision}
        values = {name: (getattr(point, name), sign * k) for name, k in exponents.items() if k}
        scaled = {name: np.ldexp(v, k) for name, (v, k) in values.items() if v is not None}
        return replace(point, **scaled) if scaled else point


def rescale(problem: Any, features: bool = True) -> RescaledProblem:
    """Return the rescaled problem; the problem itself if that is inexact or its class is user-defined.

    `features` is whether these may be scaled: not if kernel values are already cached.
    """
    if problem.task is None or problem.in_blocks or not is_ours(type(problem)):
        return RescaledProblem(problem, problem)
    samples = problem.samples
    fixed = samples.shared_gram is not None or not features
    m, k = 0 if fixed else _exponent_of_features(samples), 0
    p = 2 * m if samples.is_linear else m
    exponents = {"X": m, "C": -p}
    if problem.task is not CLASSES:
        loss, k = problem.risk.loss, decision_exponent(problem.risk)
        exponents["C"] += k * (2 - (loss.degree or 2))
        exponents |= {"y": k, "epsilon": k} if loss.is_regression else {}
    if not any(exponents.values()):
        return RescaledProblem(problem, problem)
    exponents["lam"] = -exponents["C"]
    names = {"y", "C", *(field.name for field in fields(problem))}
    values = {n: (getattr(problem, n, None), e) for n, e in exponents.items() if e and n in names}
    values = {n: (v, e) for n, (v, e) in values.items() if v is not None}
    scaled = {name: _times(value, -e) for name, (value, e) in values.items()}
    if not scaled or any(value is None for value in scaled.values()):
        return RescaledProblem(problem, problem)
    if k and "loss" in names and hasattr(problem.loss, "epsilon"):
        scaled["loss"] = replace(problem.loss, epsilon=float(np.ldexp(problem.loss.epsilon, -k)))
    if "X" in scaled:
        with np.errstate(over="ignore"):  # squares of subnormal features
            factor = float(np.ldexp(1.0, -p))
        scaled["samples"] = samples.derived(scaled["X"], factor=factor)
    return RescaledProblem(problem, replace_fields(problem, **scaled), k, k - p, k - p // 2)


def _exponent_of_features(samples: KernelSamples) -> int:
    """Return the binary exponent of the largest entry of X, 0 if moderate or fixed by the kernel."""
    X = samples.X
    if not isinstance(samples.kernel, Linear | Precomputed):
        return 0
    values = X if isinstance(X, np.ndarray) else X.data
    size = max(float(values.max(initial=0.0)), -float(values.min(initial=0.0)))
    exponent = int(np.frexp(size)[1])
    # smaller ones are not scaled, as that copies X: the squares of features only have to exceed absolute
    # constants of libraries, such as LIBSVM's minimum curvature of 1e-12
    return exponent if abs(exponent) > 12 else 0


def _times(value: Any, exponent: int) -> Any:
    """Return a number or an array times 2^exponent, or None if that is inexact."""
    if scipy.sparse.issparse(value):
        data = _times(value.data, exponent)
        arrays = (data, value.indices, value.indptr)
        return None if data is None else type(value)(arrays, shape=value.shape)
    scaled = np.ldexp(value, exponent)
    if not np.array_equal(np.ldexp(scaled, -exponent), value):
        return None
    if np.ndim(value) == 0:
        return float(scaled)
    scaled.flags.writeable = value.flags.writeable
    return scaled
