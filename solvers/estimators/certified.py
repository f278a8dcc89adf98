"""What all estimators share: `certificate_`, checked parameters, and the way through `solve`."""

from __future__ import annotations

import logging
from dataclasses import dataclass, fields, replace
from functools import cache
from numbers import Integral, Real
from typing import Any

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

from problems import Certificate, Point, Vector, certify
from problems.certificates.certificate import summed
from problems.dataset import Indices
from problems.dual_problem.offsets import free_offset
from problems.gram.threads import Threads
from problems.validation import shown
from solvers import Evaluation, Solver, Status, find_solver, solve
from solvers.estimators.small import SHARPER, SMALL, Answer, Task
from solvers.smo import SMO

_FEW_STEPS = 20_000  # of SMO, which take a microsecond or two ...
_FEW_EPOCHS = 200  # ... and of dual coordinate descent
_AT_ZERO = 1e-8  # relative to Cᵢ: interior points never touch a bound
_BALANCED = 1e-9  # relative size of Σβ that may be rounding
_CONSTRAINTS: dict[str, Any] = {
    "refine": ["boolean"],
    "warm_start": ["boolean"],
    "fit_intercept": ["boolean"],
    "intercept_scaling": [Interval(Real, 0, None, closed="right")],
    "max_iter": [Interval(Integral, 1, None, closed="left"), Options(Integral, {-1})],
}

_log = logging.getLogger(__name__)


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
            parts = [certify(problem(), point) for problem, point in self._answers]
            self._certificate = parts[0] if len(parts) == 1 else summed(parts)
        return self._certificate

    def _keep(self, tasks: list[Task], answers: list[Answer]) -> None:
        """Remember what `certificate_` needs."""
        each = zip(tasks, answers, strict=True)
        self._answers = [(task.problem, answer.point) for task, answer in each]
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

    def _last(self, at: int, n: int) -> Vector | None:
        """Return α (n,) of a machine's last fit, to begin from: what was at a bound stays."""
        answers = vars(self).get("_answers", []) if self.warm_start else []
        alpha = answers[at][1].alpha if at < len(answers) else None
        known = alpha is not None and alpha.size == n and np.isfinite(self.C / self._last_C)
        return self.C / self._last_C * alpha if known else None

    def _by_solver(self, task: Task, solver: Any) -> Answer:
        """Solve a task through `solve`; a small one to a millionth of `tol`, if a few steps lead there.

        The intercept is LIBSVM's for the default solvers, whose free variables are exact and feasible,
        and the certificate's for others.
        """
        problem, by_default = task.problem(), self.solver is None
        start = None if task.start is None else Point(alpha=problem.alpha(task.start))
        how: dict[str, Any] = {"initial": start, "callback": None if self._is_quick else self._show}
        solution, smooth = None, problem.loss.is_smooth
        if self.refine and by_default and not smooth and problem.n <= SMALL:
            few = _FEW_STEPS if isinstance(solver, SMO) else _FEW_EPOCHS
            few = min(solver.max_iter, few)
            solution = solve(
                problem, replace(solver, tol=SHARPER * solver.tol, max_iter=few), **how
            )
        if solution is None or solution.claimed != "optimal":
            solution = solve(problem, solver, **how)
        if self.verbose:
            text = "%s: %d samples, %s after %d iterations, %.3g s"
            end = solution.status, solution.iterations, solution.time_solve
            _log.info(text, solver.name, problem.n, *end)
        if solution.status is Status.INFEASIBLE:
            raise ValueError("C: is infinite, and no surface separates the classes; use a finite C")
        point: Any = solution.point
        margin = 1.0
        given = point.w if smooth and point.w is not None else point.alpha
        if not by_default or task.sums or given is None or not np.isfinite(given).all():
            if solution.alpha is None:
                raise ValueError(f"solver: {solver.name} gave no answer: {solution.reason}")
            size = np.abs(solution.alpha)
            zero = size <= _AT_ZERO * np.minimum(problem.upper, size.max(initial=0.0))
            point = Point(np.where(zero, 0.0, solution.alpha), solution.w, solution.b)
            if not problem.is_regression:
                margin = problem.margin_at(solution.certificate.offsets)
        elif not task.intercept:
            point = replace(point, b=0.0)
        else:
            with Threads().limited(1):  # small products
                b = solution.b if smooth else free_offset(problem, point.alpha)
            point = replace(point, b=b)
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
    given = {**cls._parameter_constraints, **_CONSTRAINTS}
    names = given.keys() & cls._get_param_names()
    return {name: [make_constraint(each) for each in given[name]] for name in names}


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


def within(beta: Vector, lower: Vector, upper: Vector, balanced: bool) -> Vector | None:
    """Return β of another fit, shrunk to its new limits; None where it has the wrong signs.

    None also if Σβ = 0 is wanted (`balanced`), and does not hold.
    """
    if balanced and abs(beta.sum()) > _BALANCED * np.abs(beta).sum():
        return None
    used = beta != 0
    room = np.where(beta > 0, upper, lower)
    share = min(1.0, float((room[used] / beta[used]).min(initial=1.0)))
    return np.clip(share * beta, lower, upper) if share > 0 else None
