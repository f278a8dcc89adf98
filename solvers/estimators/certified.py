"""The base of the estimators: `certificate_`, a direct method for small problems, and `solve`."""

import logging
import warnings
from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields, replace
from functools import cache, partial
from math import inf
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import (
    Interval,
    InvalidParameterError,
    Options,
    make_constraint,
)
from sklearn.utils.validation import check_is_fitted

from dualgap.problems import Certificate, Formulation, Matrix, Point, Precomputed, certify
from dualgap.problems.answers.geometry import BOUND_RTOL, upper_limits
from dualgap.problems.dataset import check_weight_range
from dualgap.problems.gram.threads import Threads
from dualgap.problems.kernels import Block
from dualgap.problems.problem.certificate import WRONG_GAP, sum_certificates
from dualgap.problems.risk.dual_point import project_dual
from dualgap.problems.risk.offsets import free_offset
from dualgap.problems.risk.reductions import rescale
from dualgap.problems.risk.risk import decision_exponent
from dualgap.problems.validation import short_repr
from dualgap.solvers import Evaluation, Solver, Status, find_solver, solve
from dualgap.solvers.estimators.direct import Accuracy, Fit, fit_small
from dualgap.solvers.running.defaults import default_solvers, max_pair_steps

REFINED_TOL_FACTOR = 1e-6  # factor on `tol` with `refine`
# samples up to which problems are solved directly and refined, within milliseconds
MAX_DIRECT_SAMPLES = 1000
_CONSTRAINTS: dict[str, Any] = {
    "refine": ["boolean"],
    "warm_start": ["boolean"],
    "fit_intercept": ["boolean"],
    # its square is a kernel value; larger ones are equivalent to inf
    "intercept_scaling": [Interval(Real, 0, 1e100, closed="right"), Options(Real, {inf})],
    "max_iter": [Interval(Integral, 1, None, closed="left"), Options(Integral, {-1})],
}

_log = logging.getLogger(__name__)
ProblemFactory = Callable[[], Formulation]  # creates a problem, whose samples may be a copy
GramMatrices = Callable[[int], Block] | None  # computes the Gram matrix of the k-th problem
GramValues = Callable[[], Block] | None  # computes one problem's Gram matrix


@dataclass(eq=False, repr=False, kw_only=True)
class Certified(BaseEstimator):
    """Base of the estimators; `SVC` describes the parameters."""

    solver: Any = None
    refine: Any = True
    callback: Any = None

    _counts_epochs = False  # whether iterations are epochs of n steps

    def __getstate__(self) -> dict[str, Any]:
        """Return the state without the training samples, but with their certificate."""
        answers = vars(self).get("_answers")
        if answers and not answers[0][0]().in_blocks:  # files or cluster may be gone
            _ = self.certificate_
        return {k: v for k, v in super().__getstate__().items() if k != "_answers" or not v}

    @property
    def certificate_(self) -> Certificate:
        """The certificate of the answer; the sum over problems for more than two classes.

        Its `parts` are then those of the problems. It is for the dual variables with their best
        intercept, which equals `intercept_` up to `tol`, and for the weights of linear machines.
        Computed at first access or when the estimator is pickled, from the samples passed to `fit`,
        which are kept but not pickled. For samples in blocks pickling does not compute it, as that takes
        a pass over the data.
        """
        check_is_fitted(self)
        if self._certificate is None:
            if not vars(self).get("_answers"):
                raise AttributeError(
                    "certificate_: the training samples in blocks are not pickled; read certificate_ "
                    "before pickling"
                    if "_answers" not in vars(self)
                    else "certificate_: not available, as LIBLINEAR solved penalty='l1' or "
                    "multi_class='crammer_singer', for which dualgap has no bounds"
                )
            parts = [certify(make_problem(), point) for make_problem, point in self._answers]
            self._certificate = parts[0] if len(parts) == 1 else sum_certificates(parts)
        return self._certificate

    def _validate_params(self) -> None:
        """Check the parameters as scikit-learn does, but start messages with the parameter's name."""
        cls: Any = type(self)
        for name, constraints in _constraints(cls).items():
            value = getattr(self, name)
            if not any(constraint.is_satisfied_by(value) for constraint in constraints):
                accepted = " or ".join(map(str, constraints))
                raise InvalidParameterError(f"{name}: must be {accepted}, got {value!r}")

    def _solve_all(
        self, problems: list[ProblemFactory], matrices: GramMatrices = None
    ) -> list[Fit]:
        """Solve all problems, and keep the answers for `certificate_` and a warm start.

        Large problems, and all if a solver, `callback` or `verbose` is set, are solved through `solve`.
        `matrices` returns the Gram matrix of each problem, if they have values in common.
        """
        direct: list[Fit | None] = [None] * len(problems)
        if self.solver is None and self.callback is None and not self.verbose:
            with Threads().limited(1):  # several would mostly wait for each other
                direct = [
                    self._solve_in_units(k, make(), matrices) for k, make in enumerate(problems)
                ]
        answers = [fit or self._solve_by_solver(k, problems[k]()) for k, fit in enumerate(direct)]
        self._answers = [(p, a.point) for p, a in zip(problems, answers, strict=True)]
        self._certificate, self._last_C = None, self.C
        converged = all(answer.converged for answer in answers) and (
            np.isinf(self.C)
            or not any(is_extreme(make_problem()) for make_problem in problems)
            or self.certificate_.relative_gap <= WRONG_GAP
        )
        self.fit_status_ = int(not converged)
        if self.fit_status_:
            warnings.warn(
                f"the solver stopped before reaching its tolerance (max_iter={self.max_iter}); scale "
                "the features, raise max_iter, or see certificate_ for the accuracy of the answer",
                ConvergenceWarning,
                stacklevel=4,
            )
        return answers

    def _starting_point(self, index: int, problem: Formulation) -> Point:
        """Return the starting point: the last answer, scaled so that variables at a bound stay there."""
        answers = vars(self).get("_answers", []) if self.warm_start else []
        if index >= len(answers):
            return Point()
        last = answers[index][1]
        ratio = 1.0 if self._last_C == self.C else self.C / self._last_C  # both may be inf
        if last.alpha is None:  # a squared loss
            return last if last.w.size == problem.d else Point()
        fits = last.alpha.size == problem.n and np.isfinite(ratio)
        return Point(project_dual(problem.risk, ratio * last.alpha)) if fits else Point()

    @property
    def _iteration_limit(self) -> int:
        """The limit on iterations; 10⁷ for `max_iter=-1`."""
        return 10_000_000 if self.max_iter == -1 else int(self.max_iter)

    def _solve_in_units(
        self, index: int, problem: Formulation, matrices: GramMatrices
    ) -> Fit | None:
        """Solve directly, in units of the data, which the tolerance is relative to."""
        units = rescale(problem, features=matrices is None)
        start = units.scale_point(self._starting_point(index, problem))
        values = None if matrices is None else partial(matrices, index)
        answer = self._solve_directly(units.problem, start, values)
        if answer is None:
            return None
        margin = (
            answer.margin
            if problem.risk.groups is None
            else np.ldexp(answer.margin, units.decision)
        )
        return answer._replace(point=units.unscale_point(answer.point), margin=float(margin))

    def _accuracy(self, n: int) -> Accuracy:
        """Return how far to solve a problem of n samples directly."""
        limit = self._iteration_limit * (n if self._counts_epochs else 1)
        fine = self.tol * (REFINED_TOL_FACTOR if self.refine else 1.0)
        return Accuracy(self.tol, fine, min(limit, max_pair_steps(n)), limit)

    def _solve_directly(self, problem: Formulation, start: Point, values: GramValues) -> Fit | None:
        """Solve with the full Gram matrix; None if the problem is too large, or it makes no progress."""
        if problem.n > MAX_DIRECT_SAMPLES or problem.risk.is_hard:
            return None
        K = problem.samples.gram().dense() if values is None else values()
        return fit_small(problem, start, self._accuracy(problem.n), K)

    def _default_solvers(self, problem: Formulation) -> list[Any]:
        """Return the solvers for problems not solved directly: those of `solve`, with `tol`."""
        first, *successors = default_solvers(problem)  # to a relative gap of 1e-6
        is_refined = self.refine and problem.n <= MAX_DIRECT_SAMPLES
        settings: Any = {} if is_refined else {"tol": self.tol, "gap": None}
        return [replace(first, **settings), *successors]

    def _choose_solvers(self, problem: Formulation) -> list[Any]:
        """Return the solver: an instance unchanged, else one with the parameters that it has.

        A default solver is followed by its successors.
        """
        if isinstance(self.solver, Solver):
            return [self.solver]
        if not isinstance(self.solver, str | None):
            raise ValueError(
                f"solver: must be a Solver, its name or None, got {short_repr(self.solver)}"
            )
        names, settings = {"cache_size", "shrinking"}, self.get_params(deep=False)
        if isinstance(self.random_state, Integral):
            names, settings["seed"] = names | {"seed"}, int(self.random_state)
        if self.solver is None:
            solver, *successors = self._default_solvers(problem)
        else:
            solver, successors = self._named_solver(self.solver), []
            names.add("tol")
        names &= {field.name for field in fields(solver)} & settings.keys()
        return [replace(solver, **{name: settings[name] for name in names}), *successors]

    def _named_solver(self, name: str) -> Solver:
        """Return a solver with its default settings; ValueError if a setting has no default."""
        cls = find_solver(name)
        required = [f.name for f in fields(cls) if f.default is f.default_factory is MISSING]
        if required:
            settings = ", ".join(f"{setting}=..." for setting in required)
            raise ValueError(
                f"solver: the solver {name!r} has no default for {', '.join(required)}; pass the solver "
                f"itself, solver={cls.__name__}({settings})"
            )
        return cls()

    def _solve_by_solver(self, index: int, problem: Formulation) -> Fit:
        """Solve a problem through `solve`.

        The intercept is computed as in LIBSVM for the default solvers, whose variables are exact and
        feasible, and taken from the certificate for others.
        """
        solvers, start = self._choose_solvers(problem), self._starting_point(index, problem)
        initial = None if start.alpha is None else Point(start.alpha)
        listener = self._report_progress if self.callback is not None or self.verbose else None
        unlimited = self.max_iter == -1 or isinstance(self.solver, Solver)
        options: Any = {"initial": initial, "callback": listener}
        options["max_iter"] = None if unlimited else self._iteration_limit
        with np.errstate(over="ignore", invalid="ignore"):  # the certificate shows the effect
            solution = solve(problem, solvers, **options)
            is_flat = problem.risk.groups is not None and solution.certificate.primal_objective >= 0
            if is_flat and self.solver is None:  # the margin may be below `tol`
                solution = solve(problem, **options)
                is_flat = solution.certificate.primal_objective >= 0
        is_flat = is_flat and solution.verdict == "solved"  # else more steps may find a margin
        solver = solution.solver
        if problem.in_blocks and solution.point.w is not None:
            converged = solution.claimed == "optimal"
            return Fit(solution.point, max(1, solution.iterations), converged)
        if solution.status is Status.INFEASIBLE:
            raise ValueError("C: must be finite, as no surface separates the classes")
        alpha, margin = solution.point.alpha, 1.0
        exact = (
            self.solver is None
            and not problem.risk.costs.any()
            and type(solver) is type(solvers[0])
        )
        if exact and alpha is not None and np.isfinite(alpha).all():
            with Threads().limited(1):  # small products
                b = free_offset(problem.risk, alpha) if problem.intercept else 0.0
                w = problem.X.T @ problem.risk.beta(alpha) if problem.samples.is_linear else None
            point = Point(alpha, w, b)
        elif solution.alpha is None:
            raise ValueError(f"solver: {solver.name} gave no answer: {solution.reason}")
        else:
            size = np.abs(solution.alpha)
            zero = size <= BOUND_RTOL * np.minimum(upper_limits(problem), size.max(initial=0.0))
            point = Point(np.where(zero, 0.0, solution.alpha), solution.w, solution.b)
            gap = solution.certificate.relative_gap
            if zero.any() and certify(problem, point).relative_gap > max(solution.target.gap, gap):
                point = Point(solution.alpha, solution.w, solution.b)
            margin = 0.0 if is_flat else problem.decision(solution.certificate.offsets).margin
        converged = solution.claimed == "optimal" or solution.verdict == "solved"
        unit = 2.0 ** decision_exponent(problem.risk)
        converged = converged or solution.certificate.violating_pair <= self.tol * unit
        return Fit(point, max(1, solution.iterations), converged, margin)

    def _report_progress(self, evaluation: Evaluation) -> None:
        """Pass an evaluation to the user's callback, and to the log."""
        if self.callback is not None:
            self.callback(evaluation)
        if self.verbose:
            text = "%d samples: %.3g s, %d iterations, certified relative gap %.2g"
            gap = evaluation.certificate.relative_gap
            _log.info(text, evaluation.problem.n, evaluation.time, evaluation.iteration, gap)


@cache
def _constraints(cls: Any) -> dict[str, list[Any]]:
    """Return the constraints of each parameter; cached, as creating them is slow."""
    accepted = {**cls._parameter_constraints, **_CONSTRAINTS}
    names = accepted.keys() & cls._get_param_names()
    return {name: [make_constraint(constraint) for constraint in accepted[name]] for name in names}


def problem_factory(
    formulation: type[Formulation], X: Matrix, rows: Any = None, **other_fields: Any
) -> ProblemFactory:
    """Return a function that creates the problem on given `rows` of the samples; None means all.

    It checks only the weights, as checking the other fields takes as long as solving a small problem.
    """
    C = other_fields.get("C", 1.0)
    check_weight_range(C, "C, class_weight, sample_weight: their product for a sample")

    def problem() -> Formulation:
        samples = X if rows is None else X[rows]
        gram = rows is not None and isinstance(other_fields.get("kernel"), Precomputed)
        instance = object.__new__(formulation)
        vars(instance).update(other_fields, X=samples[:, rows] if gram else samples)
        return instance

    return problem


def is_extreme(problem: Formulation) -> bool:
    """Whether values are so large or small that a violation or a step says little about the gap."""
    if problem.in_blocks:
        return False
    values = problem.risk.C * problem.kernel.diagonal(problem.X), problem.risk.y
    sizes = [float(np.abs(value).max()) for value in values]
    # above it a fit may reach its tolerance at a gap above FAR: an SVR did at 1e8
    return any(size > 1e6 or 0 < size < 1e-6 for size in sizes)
