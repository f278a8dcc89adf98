"""Small problems in one call, without `solve`: `fit_small`, with all of K or with the features."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dualgap.problems import Formulation, Point, Vector
from dualgap.problems.answers.geometry import BOUND_RTOL
from dualgap.problems.kernels import Block
from dualgap.problems.risk.risk import losses_at, mean_offset
from dualgap.solvers.dual_coordinate_descent.small import minimise_linear
from dualgap.solvers.smo.small import SmallProblem


class Fit(NamedTuple):
    """The fit of one machine; `margin` is ρ, by which LIBSVM divides ν-SVC's decisions."""

    point: Point
    iterations: int
    converged: bool
    margin: float = 1.0


class Accuracy(NamedTuple):
    """How far to solve: to a violation of `tol` and from there to `fine`, in at most `max_steps`.

    Fewer steps than `limit`, the user's, without reaching `tol` are no answer.
    """

    tol: float
    fine: float
    max_steps: int
    limit: int


def fit_small(
    problem: Formulation, start: Point, accuracy: Accuracy, K: Block | None = None
) -> Fit | None:
    """Solve a problem with finite bounds from `start`; None if `solve` has to.

    `K` (n, n) is the Gram matrix; without it, X is dense, its kernel linear, and there is no offset.
    """
    risk = problem.risk
    form = risk.form
    terms = form.terms
    tol, fine, max_steps, limit = accuracy
    z = form.first_point()
    if start.alpha is not None:
        z = form.of_samples(risk.beta(start.alpha))
    if K is None:
        w, steps, violation = minimise_linear(problem.X, z, terms, tol, fine, max_steps)
        if violation > tol and steps < limit:
            return None
        return Fit(Point(risk.alpha(form.per_sample(z)), w), max(1, steps), violation <= tol)
    matrix = K if form.sample is None else K[np.ix_(form.sample, form.sample)]
    f = matrix @ z if z.any() else np.zeros(z.size)
    fit = SmallProblem(matrix, terms).minimise(z, f, tol, fine, max_steps)
    if fit.violation > tol and fit.steps < limit:
        return None
    beta, margin = form.per_sample(z), 1.0
    if risk.groups is not None:
        margin = _margin(problem, K, beta, fit.b)
    if margin is None:
        return None
    w = problem.X.T @ beta if problem.samples.is_linear else None
    point = Point(risk.alpha(beta), w, mean_offset(fit.b))
    return Fit(point, fit.steps, fit.violation <= tol, margin)


def _margin(problem: Formulation, K: Block, beta: Vector, b: Vector) -> float | None:
    """Return ρ of a ν-machine; None if w = 0 is as good, or a class has no free coefficient.

    At the largest nu a matrix class is at its bounds: `solve` finds the offset's interval.
    """
    risk = problem.risk
    assert risk.groups is not None
    free = (beta != 0) & (np.abs(beta) < (1.0 - BOUND_RTOL) * risk.C)
    if not np.bincount(risk.groups[free], minlength=risk.costs.size).all():
        return None
    f = K @ beta
    loss = risk.C @ losses_at(risk, risk.y, f, b)
    if 0.5 * (beta @ f) + risk.costs @ b + loss >= 0:
        return None
    return problem.decision(tuple(b)).margin
