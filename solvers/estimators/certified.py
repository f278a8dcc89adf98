"""What all estimators share: `certificate_`, a quick way for small problems, and that by `solve`."""

import logging
import warnings
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import cache, partial
from math import inf
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
import scipy
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import (
    Interval,
    InvalidParameterError,
    Options,
    make_constraint,
)
from sklearn.utils.validation import check_is_fitted

from dualgap.problems import Certificate, Formulation, Matrix, Point, Precomputed, Vector, certify
from dualgap.problems.certificates.certificate import summed
from dualgap.problems.dataset import Indices, as_canonical_csr, check_weight_range
from dualgap.problems.dual_problem.offsets import free_offset
from dualgap.problems.dual_problem.units import in_units
from dualgap.problems.gram.threads import Threads
from dualgap.problems.kernels import Block
from dualgap.problems.validation import shown
from dualgap.solvers import Evaluation, Solver, Status, find_solver, solve
from dualgap.solvers.numerics.claims import FAR
from dualgap.solvers.running.defaults import default_solvers, most_pair_steps
from dualgap.solvers.smo.small import solve_small

SHARPER = 1e-6  # times `tol`, to which `refine` solves ...
SMALL = 1000  # ... problems of up to so many samples, as it takes milliseconds
_LARGE = (
    1e6  # from it on a fit may reach its tolerance at a relative gap above FAR: one of SVR at 1e8
)
_AT_BOUND = 1e-8  # relative to Cᵢ: interior points never touch a bound
_CONSTRAINTS: dict[str, Any] = {
    "refine": ["boolean"],
    "warm_start": ["boolean"],
    "fit_intercept": ["boolean"],
    # its square is a kernel value; larger ones are no better than inf
    "intercept_scaling": [Interval(Real, 0, 1e100, closed="right"), Options(Real, {inf})],
    "max_iter": [Interval(Integral, 1, None, closed="left"), Options(Integral, {-1})],
}

_log = logging.getLogger(__name__)
Posed = Callable[[], Formulation]  # makes a problem, whose samples may be a copy
Blocks = Callable[[int], Block] | None
Values = Callable[[], Block] | None  # of one problem's Gram matrix


class Answer(NamedTuple):
    """What one machine was trained to; `margin` is ρ, by which LIBSVM divides ν-SVC's decisions."""

    point: Point
    iterations: int
    converged: bool
    margin: float = 1.0


@dataclass(eq=False, repr=False, kw_only=True)
class Certified(BaseEstimator):  # pyright: ignore[reportUntypedBaseClass]
    """Base of the estimators; `SVC` describes the parameters."""

    solver: Any = None
    refine: Any = True
    callback: Any = None

    _counts_epochs = False  # as iterations, each of n steps

    def __getstate__(self) -> dict[str, Any]:
        """Leave the training samples out, and keep the certificate, which is computed from them."""
        answers = vars(self).get("_answers")
        if answers and not answers[0][0]().in_blocks:  # whose files or cluster may be gone
            _ = self.certificate_
        return {k: v for k, v in super().__getstate__().items() if k != "_answers" or not v}

    @property
    def certificate_(self) -> Certificate:
        """What the answer is worth; of several problems (more than two classes) their sum.

        Its `parts` are those of each problem then. It is of the dual variables with their best
        intercept, which `intercept_` is up to `tol`; of linear machines of the weights too. Computed
        when it is first read or when the estimator is pickled, from the samples that were given to
        `fit`: they are kept for it, but not pickled. For samples in blocks pickling does not compute it,
        as it takes a pass over the data.
        """
        check_is_fitted(self)
        if self._certificate is None:
            if not vars(self).get("_answers"):
                raise AttributeError(
                    "certificate_: It needs the samples in blocks, which are not pickled; read it "
                    "before the estimator is pickled."
                    if "_answers" not in vars(self)
                    else "certificate_: There is none, as LIBLINEAR solved penalty='l1' or "
                    "multi_class='crammer_singer', for which dualgap has no bounds."
                )
            parts = [certify(posed(), point) for posed, point in self._answers]
            self._certificate = parts[0] if len(parts) == 1 else summed(parts)
        return self._certificate

    def _validate_params(self) -> None:
        """Check the parameters as scikit-learn does; the message begins with the parameter's name."""
        own: Any = type(self)
        for name, constraints in _constraints(own).items():
            value = getattr(self, name)
            if not any(constraint.is_satisfied_by(value) for constraint in constraints):
                accepted = " or ".join(map(str, constraints))
                raise InvalidParameterError(f"{name}: must be {accepted}, got {value!r}")

    def _answered(self, problems: list[Posed], blocks: Blocks = None) -> list[Answer]:
        """Return the answers to the problems, which `certificate_` and a warm start go by.

        Large problems, and those for which somebody wants a solver of their own or to see progress,
        are solved through `solve`. `blocks` returns each Gram matrix, where they are parts of one.
        """
        found: list[Answer | None] = [None] * len(problems)
        if self.solver is None and self.callback is None and not self.verbose:
            with Threads().limited(1):  # several wait for each other longer than they work
                found = [self._in_units(at, posed(), blocks) for at, posed in enumerate(problems)]
        answers = [known or self._by_solver(at, problems[at]()) for at, known in enumerate(found)]
        self._answers = [(p, a.point) for p, a in zip(problems, answers, strict=True)]
        self._certificate, self._last_C = None, self.C
        converged = all(answer.converged for answer in answers) and (
            np.isinf(self.C)
            or not any(is_extreme(posed()) for posed in problems)
            or self.certificate_.relative_gap <= FAR
        )
        self.fit_status_ = int(not converged)
        if self.fit_status_:
            warnings.warn(
                f"the solver ended without reaching its tolerance (max_iter={self.max_iter}); scale the "
                "features, raise max_iter, or read certificate_ for what the answer is worth",
                ConvergenceWarning,
                stacklevel=4,
            )
        return answers

    def _start(self, at: int, problem: Formulation) -> Point:
        """Return where to begin a machine: at the last answer, of which what was at a bound stays."""
        answers = vars(self).get("_answers", []) if self.warm_start else []
        if at >= len(answers):
            return Point()
        last, ratio = answers[at][1], self.C / self._last_C
        if last.alpha is None:  # of a squared loss
            return last if last.w.size == problem.d else Point()
        known = last.alpha.size == problem.n and np.isfinite(ratio)
        return Point(problem.feasible(ratio * last.alpha)) if known else Point()

    @property
    def _most_iterations(self) -> int:
        """What `max_iter` allows, of which −1 is no limit."""
        return 10_000_000 if self.max_iter == -1 else int(self.max_iter)

    def _in_units(self, at: int, problem: Formulation, blocks: Blocks) -> Answer | None:
        """Solve quickly in units of the data, which the tolerance is relative to."""
        units = in_units(problem, features=blocks is None)
        start = units.inside(self._start(at, problem))
        values = None if blocks is None else partial(blocks, at)
        answer = self._quickly(units.problem, start, values)
        if answer is None:
            return None
        margin = (
            answer.margin if problem.groups is None else np.ldexp(answer.margin, units.decision)
        )
        return answer._replace(point=units.outside(answer.point), margin=float(margin))

    def _quickly(self, problem: Formulation, start: Point, values: Values) -> Answer | None:
        """Solve by the whole Gram matrix, which is at hand; None if that leads nowhere."""
        n, costs, groups = problem.n, problem.costs, problem.groups
        if n > SMALL or not problem.is_bounded:
            return None
        limit = self._most_iterations * (n if self._counts_epochs else 1)
        most = min(limit, most_pair_steps(n))
        if groups is None:  # of regression with nu both α and α* have a sum
            groups = np.repeat([0, 1], n) if costs.size > 1 else np.full(n, costs.size - 1)
        K = problem.gram().dense() if values is None else values()
        linear, tube, limits = linear_terms(problem)
        beta = None if start.alpha is None else problem.beta(start.alpha)
        beta, b, steps, violation = solve_small(
            K, linear, tube, limits, groups, tuple(costs) if costs.any() else (), beta,
            self.tol, self.tol * (SHARPER if self.refine else 1.0), most,
        )  # fmt: skip
        if violation > self.tol and steps < limit:
            return None
        margin = 1.0
        if problem.groups is not None:
            # with the largest nu a class is at its bounds: `solve` finds the interval of its offset
            free = (beta != 0) & (np.abs(beta) < (1.0 - _AT_BOUND) * problem.upper)
            if not np.bincount(groups[free], minlength=costs.size).all():
                return None
            f = K @ beta
            loss = problem.weight @ problem.losses(problem.y, f, b)
            if 0.5 * (beta @ f) + costs @ b + loss >= 0:  # no better than w = 0, without a margin
                return None
            margin = problem.decision_scale(tuple(b))
        w = problem.X.T @ beta if problem.is_linear else None
        point = Point(problem.alpha(beta), w, float(b.mean()))
        return Answer(point, steps, violation <= self.tol, margin)

    def _default_solvers(self, problem: Formulation) -> list[Any]:
        """Return the solvers of what is not solved quickly: those of `solve`, but for `tol`."""
        first, *successors = default_solvers(problem, from_start=True)  # to a relative gap of 1e-6
        small = self.refine and problem.n <= SMALL
        settings: Any = {} if small else {"tol": self.tol, "gap": None}
        return [replace(first, **settings), *successors]

    def _chosen(self, problem: Formulation) -> list[Any]:
        """Return the solver: an instance as it is, else one with what it has of the parameters.

        After a default one come its successors.
        """
        if isinstance(self.solver, Solver):
            return [self.solver]
        if not isinstance(self.solver, str | None):
            raise ValueError(
                f"solver: must be a Solver, the name of one, or None, got {shown(self.solver)}"
            )
        names, settings = {"cache_size", "shrinking"}, self.get_params(deep=False)
        if isinstance(self.random_state, Integral):
            names, settings["seed"] = names | {"seed"}, int(self.random_state)
        if self.solver is None:
            solver, *successors = self._default_solvers(problem)
        else:
            solver, successors = find_solver(self.solver)(), []
            names.add("tol")
        names &= {field.name for field in fields(solver)} & settings.keys()
        return [replace(solver, **{name: settings[name] for name in names}), *successors]

    def _by_solver(self, at: int, problem: Formulation) -> Answer:
        """Solve a problem through `solve`.

        The intercept is LIBSVM's for the default solvers, whose free variables are exact and feasible,
        and the certificate's for others.
        """
        solvers, start = self._chosen(problem), self._start(at, problem)
        initial = None if start.alpha is None else Point(start.alpha)
        listener = self._show if self.callback is not None or self.verbose else None
        unlimited = self.max_iter == -1 or isinstance(self.solver, Solver)
        known: Any = {"initial": initial, "callback": listener}
        known["max_iter"] = None if unlimited else self._most_iterations
        with np.errstate(over="ignore", invalid="ignore"):  # the certificate says what came of it
            solution = solve(problem, solvers, **known)
            is_flat = problem.groups is not None and solution.certificate.primal_objective >= 0
            if is_flat and self.solver is None:  # its margin may be less than `tol`
                solution = solve(problem, **known)
                is_flat = solution.certificate.primal_objective >= 0
        is_flat = is_flat and solution.verdict == "solved"  # else more steps may find a margin
        solver = solution.solver
        if problem.in_blocks and solution.point.w is not None:
            converged = solution.claimed == "optimal"
            return Answer(solution.point, max(1, solution.iterations), converged)
        if solution.status is Status.INFEASIBLE:
            raise ValueError("C: is infinite, and no surface separates the classes; use a finite C")
        alpha, margin = solution.point.alpha, 1.0
        exact = self.solver is None and not problem.costs.any() and type(solver) is type(solvers[0])
        if exact and alpha is not None and np.isfinite(alpha).all():
            with Threads().limited(1):  # small products
                b = free_offset(problem, alpha) if problem.intercept else 0.0
                w = problem.X.T @ problem.beta(alpha) if problem.is_linear else None
            point = Point(alpha, w, b)
        elif solution.alpha is None:
            raise ValueError(f"solver: {solver.name} gave no answer: {solution.reason}")
        else:
            size = np.abs(solution.alpha)
            zero = size <= _AT_BOUND * np.minimum(problem.upper, size.max(initial=0.0))
            point = Point(np.where(zero, 0.0, solution.alpha), solution.w, solution.b)
            reached = solution.certificate.relative_gap
            if zero.any() and certify(problem, point).relative_gap > max(
                solution.target_gap, reached
            ):
                point = Point(solution.alpha, solution.w, solution.b)
            margin = 0.0 if is_flat else problem.decision_scale(solution.certificate.offsets)
        converged = solution.claimed == "optimal" or solution.verdict == "solved"
        unit = 2.0**problem.decision_exponent
        converged = converged or solution.certificate.violating_pair <= self.tol * unit
        return Answer(point, max(1, solution.iterations), converged, margin)

    def _show(self, evaluation: Evaluation) -> None:
        """Hand an evaluation to the caller's callback, and to the log."""
        if self.callback is not None:
            self.callback(evaluation)
        if self.verbose:
            text = "%d samples: %.3g s, %d iterations, certified relative gap %.2g"
            gap = evaluation.certificate.relative_gap
            _log.info(text, evaluation.problem.n, evaluation.time, evaluation.iteration, gap)


@cache
def _constraints(cls: Any) -> dict[str, list[Any]]:
    """Return what is accepted for each parameter, made once, as it takes long."""
    accepted = {**cls._parameter_constraints, **_CONSTRAINTS}
    names = accepted.keys() & cls._get_param_names()
    return {name: [make_constraint(each) for each in accepted[name]] for name in names}


def pose(formulation: type[Formulation], X: Matrix, rows: Any = None, **others: Any) -> Posed:
    """Return what makes the problem of some of the samples, of all for None, and its other fields.

    All but the weights was checked, which would take as long again as solving a small problem.
    """
    C = others.get("C", 1.0)
    check_weight_range(C, "C, class_weight, sample_weight: their product for a sample")

    def problem() -> Formulation:
        own = X if rows is None else X[rows]
        gram = rows is not None and isinstance(others.get("kernel"), Precomputed)
        made = object.__new__(formulation)
        vars(made).update(others, X=own[:, rows] if gram else own)
        return made

    return problem


def balanced(counts: Any) -> Vector:
    """Return the weight (K,) of each class that gives all the same total, from the classes' totals."""
    return counts.sum() / (counts.size * counts)


def canonical(X: Any) -> Any:
    """Return a sparse matrix with each entry stored once, as LIBSVM needs it; anything else as is."""
    if scipy.sparse.issparse(X) and X.ndim == 2 and X.dtype.kind in "bifu":
        return as_canonical_csr(X, "X")
    return X


def is_extreme(problem: Formulation) -> bool:
    """Whether numbers are so large or small that a violation or a step says little of the gap."""
    if problem.in_blocks:
        return False
    values = problem.weight * problem.kernel.diagonal(problem.X), problem.y
    sizes = [float(np.abs(value).max()) for value in values]
    return any(size > _LARGE or 0 < size < 1 / _LARGE for size in sizes)


def linear_terms(problem: Formulation) -> tuple[Vector, float, tuple[Vector, Vector]]:
    """Return q, tube and the limits of min ½βᵀKβ + qᵀβ + tube·Σ|βᵢ|, the dual in coefficients β."""
    lower, upper = problem.loss.kinks(problem.y)
    ends = [problem.signs * limit for limit in problem.limits]
    return -0.5 * (lower + upper), problem.tube, (np.minimum(*ends), np.maximum(*ends))


def positive_weights(sample_weight: Any, n: int) -> tuple[Indices, Vector]:
    """Return the samples with a weight above 0, and their weights; None or no weights are ones."""
    weight = np.asarray([] if sample_weight is None else sample_weight, dtype=np.float64)
    if weight.size == 0:
        return np.arange(n), np.ones(n)
    if weight.shape not in ((), (n,)) or not np.isfinite(weight).all():
        raise ValueError(f"sample_weight: must be {n} finite numbers, got {shown(sample_weight)}")
    weight = np.broadcast_to(weight, n)
    kept = np.flatnonzero(weight > 0)
    if kept.size == 0:
        raise ValueError(
            "sample_weight: Invalid input - all samples have zero or negative weights."
        )
    return kept, weight[kept]
