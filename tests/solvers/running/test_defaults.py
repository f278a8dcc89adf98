"""The default solver takes the problem and solves it to a certificate; else it says why none does."""

from dataclasses import dataclass
from math import inf
from typing import Any, ClassVar

import numpy as np
import pytest
from tests.halves import quick_cases

from dualgap.problems import (
    RBF,
    BoxQP,
    FormPoint,
    Formulation,
    HardMarginDual,
    Kernel,
    Linear,
    OneVsOne,
    RegularizedERM,
    Risk,
    Sigmoid,
    SoftMarginDual,
    SoftMarginPrimal,
    SVRDual,
    Unsupported,
    datasets,
)
from dualgap.problems.arithmetic import entropy
from dualgap.problems.blocks import ArraySource, Blocks
from dualgap.problems.losses import LOSSES, Hinge, ScalarLoss
from dualgap.problems.problem.task import task_of
from dualgap.solvers import (
    LBFGS,
    SDCA,
    SMO,
    DualCoordinateDescent,
    InteriorPoint,
    PlattSMO,
    ProjectedGradient,
    SemismoothNewton,
    Solver,
    Status,
    all_solvers,
    default_solver,
    solve,
)
from dualgap.solvers.estimators import SVC, certified
from dualgap.solvers.running import defaults, solving

N = 40
X = np.random.default_rng(0).standard_normal((N, 3))
TARGETS = X @ [1.0, -2.0, 0.5] + 3.0 + 0.2 * np.random.default_rng(1).standard_normal(N)
LABELS = np.where(TARGETS > 3.2, 1.0, -1.0)


@dataclass(frozen=True)
class LogCosh(ScalarLoss):
    """ln cosh(f − y), a smooth loss from outside; its conjugate is y·s and an entropy of (1 ± s)/2."""

    is_regression: ClassVar[bool] = True
    lipschitz: ClassVar[float] = 1.0  # type: ignore[misc]
    smoothness: ClassVar[float] = 1.0  # type: ignore[misc]

    def value(self, y, f):
        size = abs(f - y)
        return size + np.logaddexp(0.0, -2 * size) - np.log(2)

    def subgradient(self, y, f):
        return np.tanh(f - y)

    def curvature(self, y, f):
        return 1 - np.tanh(f - y) ** 2

    def conjugate(self, y, s):
        return y * s + 0.5 * (entropy(1 + s) + entropy(1 - s))

    def dual_step(self, y, m, t):
        low = np.full(np.broadcast_shapes(np.shape(m), np.shape(t)), -1.0)
        high = -low
        for _ in range(60):
            s = 0.5 * (low + high)
            rises = np.tanh(y - m - t * s) > s
            low, high = np.where(rises, s, low), np.where(rises, high, s)
        return low


@dataclass(frozen=True)
class Staircase(LogCosh):
    """A loss with kinks of which no solver knows the pieces."""

    smoothness: ClassVar[float] = inf  # type: ignore[misc]


@dataclass(frozen=True, eq=False)
class Outside(Formulation):
    """A formulation from outside, of any loss, with or without several offsets."""

    X: Any
    y: Any
    loss: Any = Hinge()  # noqa: RUF009 - frozen
    kernel: Kernel = Linear()  # noqa: RUF009 - frozen
    intercept: bool = True
    groups: Any = None
    C: float = 1.0

    @property
    def task(self):
        return task_of(self.loss)

    def build_risk(self):
        count = int(self.intercept) if self.groups is None else int(np.max(self.groups)) + 1
        return Risk(self.samples, self.y, self.loss, self.C, np.zeros(count), self.groups)


def loss_named(name):
    return LOSSES[name](0.1) if "epsilon" in name else LOSSES[name]()


each_kernel = pytest.mark.parametrize("kernel", [Linear(), RBF(0.5)], ids=["linear", "rbf"])
with_and_without = pytest.mark.parametrize("intercept", [False, True], ids=["", "intercept"])


@each_kernel
@with_and_without
@pytest.mark.parametrize("name", LOSSES)
def test_every_loss_kernel_and_intercept_has_a_default_that_solves_it(name, kernel, intercept):
    loss = loss_named(name)
    y = TARGETS if loss.is_regression else LABELS
    assert solve(RegularizedERM(X, y, 0.05, loss, kernel, intercept)).verdict == "solved"


@each_kernel
@with_and_without
@pytest.mark.parametrize("name", ["squared_hinge", "epsilon_insensitive", "own"])
def test_a_plug_in_formulation_has_a_default_solver(name, kernel, intercept):
    loss = LogCosh() if name == "own" else loss_named(name)
    y = TARGETS if loss.is_regression else LABELS
    assert solve(Outside(X, y, loss, kernel, intercept)).verdict == "solved"


@each_kernel
@pytest.mark.parametrize("without", [0, 1], ids=["each in a group", "some in none"])
def test_the_default_solves_a_problem_with_several_offsets(kernel, without):
    groups = np.arange(N) % 4 - without
    solution = solve(Outside(X, LABELS, Hinge(), kernel, groups=groups))
    assert solution.verdict == "solved"
    assert len(solution.certificate.offsets) == 4 - without


@with_and_without
@pytest.mark.parametrize("name", ["hinge", "logistic", "epsilon_insensitive"])
def test_samples_in_blocks_are_solved_by_near_rows(name, intercept):
    loss = loss_named(name)
    y = TARGETS if loss.is_regression else LABELS
    blocks = Blocks.checked(ArraySource(X, y, None, 15))
    solution = solve(RegularizedERM(blocks, None, 0.05, loss, intercept=intercept), target_gap=1e-8)
    assert solution.solver.name == "near_rows"
    assert solution.verdict == "solved"


def test_samples_in_blocks_of_more_than_2000_features_are_refused():
    blocks = Blocks.checked(ArraySource(np.zeros((2, 2001)), LABELS[:2], None, 1))
    solution = solve(SoftMarginPrimal(blocks, None))
    assert solution.status is Status.UNSUPPORTED
    assert "near_rows: requires at most 2000 features" in solution.reason
    assert "at most 2000 features" in solution.reason


@pytest.mark.parametrize(
    ("problem", "reasons"),
    [
        (
            Outside(X, LABELS, loss_named("squared_hinge"), groups=np.arange(N) % 4),
            ["lbfgs, sdca, cvxpy_erm: an ERM form has at most one intercept, without a cost"],
        ),
        (
            Outside(X, LABELS, loss_named("logistic"), Sigmoid(1.0, -1.0)),
            [
                "sdca: requires a problem without",
                "cvxpy_erm, lbfgs: requires a positive semidefinite kernel",
            ],
        ),
        (
            Outside(X, TARGETS, Staircase(), intercept=False),
            [
                "lbfgs: requires a smooth loss",
                "sdca: requires a piece",
                "cvxpy_erm: requires a loss",
            ],
        ),
    ],
    ids=["smooth loss, several offsets", "indefinite kernel", "kinks of an unknown kind"],
)
def test_each_solver_gives_its_reason_if_none_supports_a_problem(problem, reasons):
    solution = solve(problem)
    assert solution.status is Status.UNSUPPORTED
    assert all(reason in solution.reason for reason in reasons), solution.reason
    assert "no_solver" in repr(solution)
    with pytest.raises(Unsupported, match="No default solver supports this problem"):
        default_solver(problem)


def test_the_default_is_the_first_candidate_that_supports_the_problem():
    risk = RegularizedERM(X, LABELS, 0.05, kernel=RBF(0.5))
    assert isinstance(default_solver(risk), SDCA)
    assert isinstance(default_solver(Outside(X, LABELS, Hinge(), groups=np.arange(N) % 4)), SMO)


def test_the_choice_by_K_is_made_once_and_counts_as_solving_time(monkeypatch):
    looks, seconds = [], iter(range(10**6))

    def look(_, form):
        looks.append(form)
        for _ in range(1000):
            next(seconds)

    monkeypatch.setattr(SemismoothNewton, "state_if_default", look)
    problem = RegularizedERM(X, LABELS, 0.05, Hinge(), RBF(0.5))
    solution = solve(problem, clock=lambda: next(seconds))
    assert len(looks) == 1
    assert isinstance(solution.solver, SMO)
    assert solution.time_setup < 1000 < solution.time_solve
    assert solve(problem, time_limit=500, clock=lambda: next(seconds)).status is Status.TIME_LIMIT


def test_the_interior_point_method_takes_over_after_too_many_pair_steps():
    rng = np.random.default_rng(5)
    X = rng.standard_normal((600, 3))
    y = np.sin(X.sum(axis=1)) + 0.1 * rng.standard_normal(600)
    problem = SVRDual(X, y, C=837.0, epsilon=0.01, kernel=RBF(1.15))
    answer = solve(problem)
    assert answer.solver.name == "interior_point"
    assert answer.certificate.relative_gap <= 1e-6
    assert solve(problem, max_iter=1000).solver.name == "smo"  # a limit is one of the first solver


def test_a_default_solver_without_a_successor_has_no_step_limit():
    """An interior-point method goes on in `solve` alone, and from each of several binary problems."""
    problem = SVRDual(X, TARGETS, C=10.0, epsilon=0.01, kernel=RBF(1.0))
    assert default_solver(problem).max_iter == SMO.max_iter
    assert solve(problem).solver.max_iter < SMO.max_iter


def test_a_default_solver_is_chosen_for_each_binary_problem(monkeypatch):
    sizes = []

    def choose(units, *arguments):
        sizes.append(units.original.n)
        return defaults.choose(units, *arguments)

    monkeypatch.setattr(solving, "choose", choose)
    labels = np.repeat([0.0, 1.0, 2.0], [20, 10, 10])
    assert solve(OneVsOne(X, labels, 1.0, RBF(0.5))).verdict == "solved"
    assert sizes == [30, 30, 20]


@pytest.mark.parametrize(
    ("end", "claim"), [(0.0, "stopped"), (0.0, "optimal"), (np.nan, "stopped")]
)
def test_the_better_answer_is_returned_if_the_successor_is_worse(monkeypatch, end, claim):
    @dataclass(frozen=True)
    class Worse(Solver):
        form: ClassVar = BoxQP

        def iterates(self, form):
            yield FormPoint(np.full(form.n, end), claim=claim)

    monkeypatch.setattr(defaults, "_candidates", lambda *_: iter([SMO(tol=1e-9, max_iter=60)]))
    monkeypatch.setattr(solving, "successors_of", lambda *_: [Worse()])
    answer = solve(RegularizedERM(X, LABELS, 0.05, Hinge(), RBF(0.5), True), target_gap=1e-12)
    assert answer.solver.name == "smo"
    assert answer.point.alpha.any()


@pytest.mark.parametrize("exponent", [-20, 20])
def test_a_successor_gets_kernel_values_of_the_samples_that_it_solves_for(exponent):
    """Features that are extreme are scaled for solvers, and the first one's Gram matrix is of these."""
    problem = SoftMarginDual(np.ldexp(X, exponent), LABELS, np.ldexp(1.0, -2 * exponent))
    answer = solve(problem, [DualCoordinateDescent(max_iter=1), InteriorPoint()])
    assert (answer.solver.name, answer.verdict) == ("interior_point", "solved")


@dataclass(frozen=True)
class Counting(Solver):
    """Yields scaled steps towards an optimum, and notes where it began."""

    fraction: float = 0.0
    seconds: float = 0.0
    best: Any = None
    began: Any = None

    form: ClassVar = BoxQP

    def iterates(self, form):
        self.began.append(form.start)
        for count in range(1, 4):
            yield FormPoint(self.fraction * self.best, iterations=count, claim="stopped")


def test_a_chain_of_solvers_starts_each_at_the_best_point_within_common_limits():
    problem, began = RegularizedERM(X, LABELS, 0.05, Hinge(), RBF(0.5)), []
    best = solve(problem, target_gap=1e-9).alpha
    chain = [Counting(fraction, best=best, began=began) for fraction in (0.9, 0.5, 0.8, 1.0, 0.0)]
    answer = solve(problem, chain, target_gap=1e-4)
    assert [start is None for start in began] == [True, False, False, False]
    assert all(np.allclose(start, 0.9 * best) for start in began[1:])
    assert (answer.verdict, answer.iterations) == ("solved", 12)
    assert answer.note.count("so counting was tried next") == 3
    assert solve(problem, chain[:2], target_gap=1e-4).solver.fraction == 0.9
    limited = solve(problem, chain, target_gap=1e-4, max_iter=5)
    assert (limited.status, limited.iterations) == (Status.MAX_ITER, 5)


def test_every_successor_in_the_table_is_a_solver():
    assert {*defaults.SUCCESSORS, *sum(defaults.SUCCESSORS.values(), ())} <= {*all_solvers()}


def test_the_default_is_as_accurate_as_the_interior_point_and_lists_its_attempts():
    cancer = datasets.load("breast_cancer", limit=300, seed=0)
    problem = SoftMarginPrimal(cancer.X, cancer.y, C=1e5)
    # too fine for coordinate descent, on any processor
    answer, other = (solve(problem, solver, target_gap=1e-8) for solver in (None, InteriorPoint()))
    assert answer.certificate.relative_gap <= 1.01 * other.certificate.relative_gap < 1e-3
    assert "so interior_point was tried next" in answer.reason


def test_estimators_continue_with_the_successors_of_solve(monkeypatch):
    for module in (defaults, certified):
        monkeypatch.setattr(module, "max_pair_steps", lambda n: 1000)
    cancer = datasets.load("breast_cancer", limit=300, seed=0)
    model = SVC(kernel="poly", degree=3, gamma=1.0, coef0=1.0).fit(cancer.X / 100, cancer.y)
    assert (model.fit_status_, *(model.n_iter_ < 2000)) == (0, True)
    assert model.certificate_.relative_gap <= 1e-6


def test_newton_cg_takes_over_if_lbfgs_stops_above_the_gap():
    X = np.array([[-2.0, -1], [-1, -1], [-1, -2], [1, 1], [1, 2], [2, 1]])
    problem = RegularizedERM(X, np.sign(X[:, 0]), 1e-10, "squared_hinge")
    assert solve(problem, LBFGS()).claimed == "stopped"
    answer = solve(problem)
    assert (answer.solver.name, answer.verdict) == ("newton_cg", "solved")
    assert abs(answer.objective / 0.25e-10 - 1) < 1e-6


FIRST = (None, PlattSMO(), ProjectedGradient())  # None ends with dual coordinate descent


@pytest.mark.parametrize("distance", quick_cases([1e-6, 1e-8], [1e-8]))
@pytest.mark.parametrize("solver", quick_cases([*FIRST, DualCoordinateDescent()], FIRST))
def test_a_hard_margin_of_any_width_stops_at_its_gap(solver, distance):
    """Scores of weights of 1/distance are not known to the tolerance of a violation."""
    problem = HardMarginDual([[0.0], [1.0], [1.0 + distance], [3.0]], [1.0, 1, -1, -1])
    answer = solve(problem, solver)
    assert (answer.status, answer.verdict) == (Status.FINISHED, "solved")
    optimum = 2 / (problem.X[2, 0] - 1.0) ** 2
    assert answer.certificate.primal_objective == pytest.approx(optimum, rel=1e-6)


@pytest.mark.parametrize("solver", [None, SMO(), InteriorPoint()])
@pytest.mark.parametrize("kernel", [Linear(), RBF(1.0)])
def test_nearly_equal_samples_do_not_prove_infeasibility(kernel, solver):
    problem = HardMarginDual([[1.0], [1.0 + 1e-8]], [1.0, -1.0], kernel)
    answer = solve(problem, solver)
    assert answer.status is Status.FINISHED
    assert answer.claimed != "infeasible"
    assert answer.verdict == "solved" if solver is None else answer.verdict != "infeasible"
    assert answer.reason or answer.verdict == "solved"
