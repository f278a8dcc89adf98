"""What all estimators share: `certificate_`, checked parameters, and the way through `solve`."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import cache
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import (
    Interval,
    InvalidParameterError,
    Options,
    make_constraint,
)
from sklearn.utils.validation import check_is_fitted

from problems import Certificate, Formulation, Point, Vector, certify
from problems.certificates.certificate import summed
from problems.dataset import Indices
from problems.dual_problem.offsets import free_offset
from problems.gram.threads import Threads
from problems.kernels import Block
from problems.validation import shown
from solvers import Evaluation, Solver, Status, find_solver, solve
from solvers.smo import SMO
from solvers.smo.small import solve_small

SHARPER = 1e-6  # times `tol`, to which `refine` solves ...
SMALL = 1000  # ... problems of up to so many samples, as it takes milliseconds ...
_FEW_STEPS, _FEW_EPOCHS = 20_000, 200  # ... if SMO, or coordinate descent, needs no more
_AT_BOUND = 1e-8  # relative to Cᵢ: interior points never touch a bound
_CONSTRAINTS: dict[str, Any] = {
    "refine": ["boolean"],
    "warm_start": ["boolean"],
    "fit_intercept": ["boolean"],
    "intercept_scaling": [Interval(Real, 0, None, closed="right")],
    "max_iter": [Interval(Integral, 1, None, closed="left"), Options(Integral, {-1})],
}

_log = logging.getLogger(__name__)
Posed = Callable[[], Formulation]  # makes a problem of an estimator, which takes a while


class Answer(NamedTuple):
    """What one machine was trained to; `margin` is ρ, by which LIBSVM divides ν-SVC's decisions."""

    point: Any  # a Point
    iterations: int
    converged: bool
    margin: float = 1.0


@dataclass(eq=False, repr=False, kw_only=True)
class Certified(BaseEstimator):  # pyright: ignore[reportUntypedBaseClass]
    """Base of the estimators; `SVC` describes the parameters."""

    solver: Any = None
    refine: Any = True
    callback: Any = None

    def __getstate__(self) -> dict[str, Any]:
        """Leave the training samples out; a certificate that was read stays."""
        return {k: v for k, v in super().__getstate__().items() if k != "_answers"}

    @property
    def certificate_(self) -> Certificate:
        """What the answer is worth; of several problems (more than two classes) their sum.

        Its `parts` are those of each problem then. It is of the dual variables with their best
        intercept, which `intercept_` is up to `tol`; of linear machines of the weights too. Computed
        when it is first read, from the samples that were given to `fit`: they are kept for it, but not
        pickled.
        """
        check_is_fitted(self)
        if "_certificate" not in vars(self):
            if not vars(self).get("_answers"):
                raise AttributeError(
                    "certificate_: the samples were left behind when this was pickled; read "
                    "certificate_ before (the answers of penalty='l1' and 'crammer_singer' have none)"
                )
            parts = [certify(posed(), point) for posed, point in self._answers]
            self._certificate = parts[0] if len(parts) == 1 else summed(parts)
        return self._certificate

    def _keep(self, problems: list[Posed], answers: list[Answer]) -> None:
        """Remember what `certificate_` and a warm start need."""
        self._answers = [(p, a.point) for p, a in zip(problems, answers, strict=True)]
        self._last_C = self.C
        self.__dict__.pop("_certificate", None)

    def _validate_params(self) -> None:
        """Check the parameters as scikit-learn does; the message begins with the parameter's name."""
        own: Any = type(self)
        for name, constraints in _constraints(own).items():
            value = getattr(self, name)
            if not any(constraint.is_satisfied_by(value) for constraint in constraints):
                accepted = " or ".join(map(str, constraints))
                raise InvalidParameterError(f"{name}: must be {accepted}, got {value!r}")

    def _chosen(self, default: type[Solver], tol: float | None = None) -> Any:
        """Return the solver: an instance as it is, else one with what it has of the parameters."""
        if isinstance(self.solver, Solver):
            return self.solver
        if not isinstance(self.solver, str | None):
            raise ValueError(
                f"solver: must be a Solver, the name of one, or None, got {shown(self.solver)}"
            )
        cls = default if self.solver is None else find_solver(self.solver)
        settings = {k: v for k, v in vars(self).items() if k in ("cache_size", "shrinking")}
        seed = vars(self).get("random_state") or 0
        if not isinstance(seed, Integral):
            seed = check_random_state(seed).randint(np.iinfo(np.int32).max)
        settings |= {"tol": self.tol if tol is None else tol, "seed": int(seed)}
        if self.max_iter != -1:  # which is no limit
            settings["max_iter"] = int(self.max_iter)
        known = {f.name for f in fields(cls)}
        return cls(**{name: value for name, value in settings.items() if name in known})

    @property
    def _is_quick(self) -> bool:
        """Whether nobody wants a solver of their own, or to see how the answer is obtained."""
        return self.solver is None and not self.verbose and self.callback is None

    def _start(self, at: int, posed: Posed) -> Vector | None:
        """Return a feasible α to begin a machine from, of its last fit; what was at a bound stays."""
        answers = vars(self).get("_answers", []) if self.warm_start else []
        if at >= len(answers):
            return None
        problem, point, ratio = posed(), answers[at][1], self.C / self._last_C
        if problem.loss.is_smooth and point.w.size == problem.d:
            f = problem.X @ point.w + (point.b or 0.0)
            return problem.alpha(-problem.weight * problem.loss.subgradient(problem.y, f))
        known = point.alpha is not None and point.alpha.size == problem.n and np.isfinite(ratio)
        return problem.feasible(ratio * point.alpha) if known else None

    def _by_solver(self, problem: Formulation, solver: Any, start: Vector | None) -> Answer:
        """Solve a problem through `solve`; a small one to 1e-6·`tol`, if a few steps lead there.

        The intercept is LIBSVM's for the default solvers, whose free variables are exact and feasible,
        and the certificate's for others.
        """
        how: dict[str, Any] = {
            "initial": None if start is None else Point(start),
            "callback": None if self._is_quick else self._show,
        }
        solution, by_default = None, self.solver is None and not problem.loss.is_smooth
        if self.refine and by_default and problem.n <= SMALL:
            few = min(solver.max_iter, _FEW_STEPS if isinstance(solver, SMO) else _FEW_EPOCHS)
            sharp = replace(solver, tol=SHARPER * solver.tol, max_iter=few)
            solution = solve(problem, sharp, **how)
        if solution is None or solution.claimed != "optimal":
            solution = solve(problem, solver, **how)
        if self.verbose:
            text = "%s: %d samples, %s after %d iterations, %.3g s"
            end = solution.status, solution.iterations, solution.time_solve
            _log.info(text, solver.name, problem.n, *end)
        if solution.status is Status.INFEASIBLE:
            raise ValueError("C: is infinite, and no surface separates the classes; use a finite C")
        alpha, margin = solution.point.alpha, 1.0
        if (
            by_default
            and not problem.costs.any()
            and alpha is not None
            and np.isfinite(alpha).all()
        ):
            with Threads().limited(1):  # small products
                b = free_offset(problem, alpha) if problem.intercept else 0.0
            point = Point(alpha, b=b)
        elif solution.alpha is None:
            raise ValueError(f"solver: {solver.name} gave no answer: {solution.reason}")
        else:
            size = np.abs(solution.alpha)
            zero = size <= _AT_BOUND * np.minimum(problem.upper, size.max(initial=0.0))
            point = Point(np.where(zero, 0.0, solution.alpha), solution.w, solution.b)
            margin = problem.decision_scale(solution.certificate.offsets)
        converged = solution.claimed == "optimal"
        if not converged:
            converged = solution.certificate.violating_pair <= getattr(solver, "tol", 0.0)
        return Answer(point, max(1, solution.iterations), converged, margin)

    def _show(self, evaluation: Evaluation) -> None:
        """Hand an evaluation to the caller's callback, and to the log."""
        if self.callback is not None:
            self.callback(evaluation)
        if self.verbose:
            gap = evaluation.certificate.relative_gap
            text = "%.3g s, %d iterations, certified relative gap %.2g"
            _log.info(text, evaluation.time, evaluation.iteration, gap)


@cache
def _constraints(cls: Any) -> dict[str, list[Any]]:
    """Return what is accepted for each parameter, made once, as it takes long."""
    accepted = {**cls._parameter_constraints, **_CONSTRAINTS}
    names = accepted.keys() & cls._get_param_names()
    return {name: [make_constraint(each) for each in accepted[name]] for name in names}


def by_pairs(
    problem: Formulation, K: Block, start: Vector | None, tol: float, fine: float, max_iter: int
) -> Answer | None:
    """Solve by the Gram matrix (n, n) to `fine`, or to `tol`; None where that leads nowhere."""
    (lower, upper), costs, groups = problem.loss.kinks(problem.y), problem.costs, problem.groups
    ends = [problem.signs * limit for limit in problem.limits]
    if groups is None:  # of regression with nu both α and α* have a sum
        count = costs.size - 1
        groups = np.repeat([0, 1], problem.n) if count > 0 else np.full(problem.n, count)
    posed = (np.minimum(*ends), np.maximum(*ends)), groups, tuple(costs) if costs.any() else ()
    begun = None if start is None else problem.beta(start)
    beta, b, steps, violation = solve_small(
        K, -0.5 * (lower + upper), problem.tube, *posed, begun, tol, fine, max_iter
    )
    if violation > tol and steps < max_iter:
        return None
    margin = 1.0
    if problem.groups is not None:
        # with the largest nu a class is at its bounds: `solve` finds the interval of its offset
        free = (beta != 0) & (np.abs(beta) < (1.0 - _AT_BOUND) * problem.upper)
        if not np.bincount(groups[free], minlength=costs.size).all():
            return None
        margin = problem.decision_scale(tuple(b))
    point = Point(problem.alpha(beta), b=float(b.mean()) if b.size else 0.0)
    return Answer(point, steps, violation <= tol, margin)


def positive_weights(sample_weight: Any, n: int) -> tuple[Indices, Vector]:
    """Return the samples with a weight above 0, and their weights; None or no weights are ones.

    Raises
    ------
    ValueError
        If there are not n finite weights, one of them positive.
    """
    weight = np.asarray([] if sample_weight is None else sample_weight, dtype=np.float64)
    if weight.size == 0:
        return np.arange(n), np.ones(n)
    if weight.shape not in ((), (n,)):
        raise ValueError(f"sample_weight: expected shape ({n},), got {weight.shape}")
    weight = np.broadcast_to(weight, n)
    if not np.isfinite(weight).all():
        raise ValueError("sample_weight: must be finite; a sample of weight 0 is left out")
    kept = np.flatnonzero(weight > 0)
    if kept.size == 0:
        raise ValueError(
            "sample_weight: Invalid input - all samples have zero or negative weights."
        )
    return kept, weight[kept]


def check_class_weights(weights: Vector, given: Any) -> None:
    """Raise ValueError if a weight is not positive."""
    if not (np.isfinite(weights) & (weights > 0)).all():
        raise ValueError(
            f"class_weight: weights must be positive, got {given!r}; leave a class out "
            "by its samples' weights"
        )
