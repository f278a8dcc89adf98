"""`solve`: the clock, the limits, the evaluations, and what becomes of a solver's word."""

import time
from dataclasses import dataclass, replace
from functools import cache
from typing import ClassVar

import numba
import numpy as np
import pytest
from numba.core.event import Listener, install_listener

from dualgap.problems import (
    RBF,
    BoxQP,
    ChainMargin,
    ConvexQP,
    FormPoint,
    Gram,
    HardMarginPrimal,
    Point,
    SoftMarginDual,
    SoftMarginPrimal,
)
from dualgap.problems.forms import QP, Claim
from dualgap.solvers import (
    SMO,
    NotInstalled,
    Solution,
    Solver,
    Status,
    find_solver,
    solve,
)

RNG = np.random.default_rng(0)
Y = np.where(RNG.random(60) < 0.5, 1.0, -1.0)
X = RNG.standard_normal((60, 3)) + 0.5 * Y[:, None]
PROBLEM = SoftMarginDual(X, Y, 1.0, RBF(0.5))


@cache
def best():
    return solve(PROBLEM)


@dataclass(frozen=True)
class Scripted(Solver):
    """Yields what it is given, sleeping before each."""

    points: tuple[np.ndarray | None, ...] = ()
    sleep: float = 0.0
    claim: Claim = "none"
    fails: type[Exception] | None = None

    form: ClassVar = BoxQP

    def prepare(self, form):
        if self.fails is not None:
            raise self.fails("the package is missing")
        return form

    def iterates(self, form):
        for k, x in enumerate(self.points, start=1):
            time.sleep(self.sleep)
            yield FormPoint(x, iterations=k, claim=self.claim)


ZERO = np.zeros(60)


def test_the_default_solves_the_margin_of_sequences_too():
    problem = ChainMargin(X[:12], (Y[:12] > 0).astype(float), length=6, C=1.0)
    assert solve(problem).verdict == "solved"


def test_a_false_claim_of_optimality_is_wrong():
    wrong = solve(PROBLEM, Scripted((ZERO,), claim="optimal"))
    assert (wrong.status, wrong.claimed, wrong.verdict) == (Status.FINISHED, "optimal", "wrong")
    humble = solve(PROBLEM, Scripted((ZERO,), claim="stopped"))
    assert humble.verdict == "inaccurate"
    modest = solve(PROBLEM, Scripted((best().alpha,), claim="stopped"))
    assert modest.verdict == "solved"


def test_weights_alone_are_never_called_wrong():
    problem = SoftMarginPrimal(X, Y)
    answer = Solution(problem, SMO(), Point(w=np.full(3, 5.0)), Status.FINISHED, "optimal")
    assert answer.certificate.bound_source == "recovered from w"
    assert answer.certificate.relative_gap > 0.1
    assert answer.verdict == "inaccurate"


def test_a_refuted_claim_of_infeasibility_is_wrong():
    answer = solve(PROBLEM, Scripted((best().alpha,), claim="infeasible"))
    assert answer.verdict == "wrong"


def test_a_solver_without_a_point_is_reported():
    answer = solve(PROBLEM, Scripted())
    assert answer.verdict == "uncertified"
    assert "without giving a point" in answer.reason
    with pytest.raises(ValueError, match="no answer"):
        answer.decision_function(X)


def test_nan_is_divergence():
    answer = solve(PROBLEM, Scripted((ZERO, np.full(60, np.nan), ZERO)))
    assert answer.status is Status.DIVERGED
    assert answer.verdict == "uncertified"


def test_limits_stop_a_solver_at_its_next_yield():
    points = (ZERO,) * 50
    stopped = solve(PROBLEM, Scripted(points, sleep=0.01), time_limit=0.05)
    assert stopped.status is Status.TIME_LIMIT
    assert 0.05 <= stopped.time_solve < 0.3
    counted = solve(PROBLEM, Scripted(points), max_iter=7)
    assert (counted.status, counted.iterations) == (Status.MAX_ITER, 7)


def test_a_black_box_past_its_time_limit_is_not_finished():
    late = solve(PROBLEM, Scripted((best().alpha,), sleep=0.05, claim="optimal"), time_limit=0.01)
    assert late.status is Status.TIME_LIMIT


def test_the_clock_pauses_during_evaluations():
    def slow_callback(evaluation):
        time.sleep(0.4)

    answer = solve(PROBLEM, Scripted((ZERO,) * 3, sleep=0.01), callback=slow_callback)
    assert len(answer.trace) >= 1
    assert answer.time_solve < 0.4  # else the callback's sleep would be in it


def test_evaluations_happen_only_on_request_and_at_a_limited_rate():
    silent = solve(PROBLEM, Scripted((ZERO,) * 20, sleep=0.002))
    assert silent.trace == ()
    calls = []
    answer = solve(PROBLEM, Scripted((ZERO,) * 20, sleep=0.002), callback=calls.append)
    assert list(answer.trace) == calls
    assert len(calls) < 20
    times = [evaluation.time for evaluation in calls]
    assert times == sorted(times)
    assert answer.trace[-1].iteration == 20


def test_the_last_evaluation_is_of_the_answer_even_without_another_iteration():
    @dataclass(frozen=True)
    class Refining(Scripted):
        def iterates(self, form):
            time.sleep(0.01)
            yield FormPoint(ZERO, iterations=1)
            yield FormPoint(best().alpha, iterations=1, claim="optimal")

    answer = solve(PROBLEM, Refining(), callback=lambda _: None)
    assert len(answer.trace) == 2
    assert answer.trace[-1].certificate.relative_gap == answer.certificate.relative_gap


def test_stop_at_target_stops_a_solver_that_would_continue():
    endless = Scripted((ZERO,) + (best().alpha,) * 1000, sleep=0.002)
    answer = solve(PROBLEM, endless, target_gap=1e-4, stop_at_target=True)
    assert answer.status is Status.FINISHED
    assert answer.iterations < 1000


def test_a_missing_package_is_a_status():
    answer = solve(PROBLEM, Scripted(fails=NotInstalled))
    assert answer.status is Status.NOT_INSTALLED
    assert answer.reason == "the package is missing"


def test_an_exception_of_a_solver_propagates():
    with pytest.raises(ZeroDivisionError):
        solve(PROBLEM, Scripted(fails=ZeroDivisionError))


def test_an_infeasible_margin_ends_the_solver_early():
    overlapping = HardMarginPrimal(X, Y)
    answer = solve(overlapping, Scripted((ZERO + 1e-3,) * 1000, sleep=0.002))
    assert answer.status is Status.INFEASIBLE
    assert answer.iterations < 1000
    assert answer.certificate.primal_objective == answer.certificate.dual_objective == np.inf


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"target_gap": 0}, "target_gap: must be"),
        ({"time_limit": -1}, "time_limit: must be"),
        ({"max_iter": "10"}, "max_iter: must be a whole number"),
        ({"gram": np.eye(60)}, "gram: must be a dualgap.problems.Gram"),
        ({"initial": np.zeros(3)}, r"initial: must have finite .* of shape \(60,\)"),
        ({"initial": Point(w=np.zeros(3))}, r"initial: must have finite .* of shape \(60,\)"),
        ({"initial": np.full(60, np.nan)}, r"initial: must have finite .* of shape \(60,\)"),
    ],
)
def test_bad_arguments_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        solve(PROBLEM, SMO(), **arguments)


def test_a_shared_gram_matrix_keeps_its_values_for_the_next_problem():
    gram = Gram(PROBLEM.X, PROBLEM.kernel, keep=True)
    solve(PROBLEM, SMO(tol=1e-6), gram=gram)
    computed = gram.evaluations
    again = solve(replace(PROBLEM, C=2.0), SMO(tol=1e-6), gram=gram, target_gap=1e-4)
    assert again.verdict == "solved"
    assert gram.evaluations < 1.5 * computed


def test_a_warm_start_does_not_certify_its_answer():
    first = solve(PROBLEM, SMO(tol=1e-6))
    again = solve(replace(PROBLEM, C=1.1), SMO(tol=1e-6), initial=first)
    assert "certificate" not in vars(first)
    assert again.iterations < solve(replace(PROBLEM, C=1.1), SMO(tol=1e-6)).iterations


@pytest.mark.parametrize("X_other", [X[:30], X])
def test_a_gram_matrix_of_other_samples_or_kernel_is_refused(X_other):
    with pytest.raises(ValueError, match="gram: must be that of the problem's 60 samples"):
        solve(PROBLEM, SMO(), gram=Gram(X_other, RBF(0.7)))


@pytest.mark.parametrize(
    ("problem", "solver", "message"),
    [
        (PROBLEM, SMO, r"solver: got the class SMO; write solve\(problem, SMO\(\)\)"),
        (PROBLEM, "smo", r"got the name 'smo'; write solve\(problem, find_solver\('smo'\)\(\)\)"),
        (PROBLEM, 3, r"solver: must be a solver such as SMO\(\), got 3"),
        (PROBLEM, solve, r"a solver such as SMO\(\), got the function solve$"),
        (PROBLEM, SMO().iterates, r"a solver such as SMO\(\), got the function iterates$"),
        (PROBLEM, int, r"a solver such as SMO\(\), got the class int$"),
        (PROBLEM, object(), r"a solver such as SMO\(\), got an instance of object$"),
        (SMO(), PROBLEM, r"problem: got the solver SMO; the problem comes first: solve\(problem, "),
        (SMO, PROBLEM, r"problem: got the solver SMO; the problem comes first: solve\(problem, "),
        (SoftMarginDual, SMO(), "must be a formulation .* got the class SoftMarginDual"),
        ((PROBLEM.X, PROBLEM.y), SMO(), "must be a formulation such as SoftMarginDual"),
    ],
)
def test_an_invalid_problem_or_solver_is_refused_with_a_hint(problem, solver, message):
    with pytest.raises(ValueError, match=message):
        solve(problem, solver)


@pytest.mark.parametrize("name", [3, None, SMO, SMO()])
def test_find_solver_accepts_only_a_name(name):
    with pytest.raises(ValueError, match=r"^solver: must be a name, got "):
        find_solver(name)


def test_a_function_yielded_instead_of_an_array_is_named():
    scope = {"iterates": lambda self, form: iter([FormPoint(self.refuses)]), "form": BoxQP}
    solver = dataclass(frozen=True)(type("Uncalled", (Solver,), scope))
    with pytest.raises(TypeError, match="x: must be an array of floats, got the function refuses"):
        solve(PROBLEM, solver())


@pytest.mark.parametrize("body", ["return FormPoint(x)", "yield FormPoint(x)\nreturn FormPoint(x)"])
def test_returning_a_point_suggests_yield(body):
    scope = {"FormPoint": FormPoint, "x": np.zeros(60)}
    exec("def iterates(self, form):\n    " + body.replace("\n", "\n    "), scope)
    solver = dataclass(frozen=True)(type("Returning", (Solver,), {**scope, "form": BoxQP}))
    with pytest.raises(TypeError, match="returned a FormPoint; write `yield` instead of `return`"):
        solve(PROBLEM, solver())


def test_a_solver_without_a_form_is_refused_with_a_hint():
    with pytest.raises(ValueError, match=r"Formless: needs .* `form: ClassVar = BoxQP`"):
        dataclass(frozen=True)(type("Formless", (Solver,), {"iterates": lambda *_: iter(())}))()


@dataclass(frozen=True)
class Compiling(Solver):
    """Compiles a new function in each of its steps, of which it takes two."""

    form: ClassVar = BoxQP

    def iterates(self, form):
        for _ in range(2):
            numba.njit(lambda x: x + 1)(1)
            yield FormPoint(form.first_point())


def test_compilation_during_solving_counts_as_set_up():
    """Whatever it is, of ours or from outside: the clocks stand still, and so does the time limit."""
    compiled, starts = [], []
    clock = lambda: float(len(compiled))  # noqa: E731
    with install_listener("numba:compile", Recorder(compiled)):
        solution = solve(
            PROBLEM,
            Compiling(),
            clock=clock,
            started=lambda: starts.append(clock()),
            time_limit=0.5,
        )
    assert solution.status is Status.FINISHED
    assert len(compiled) >= starts[0] + 2
    assert solution.time_solve == 0.0
    assert solution.time_setup == clock()


class Recorder(Listener):
    """Notes what is compiled."""

    def __init__(self, calls):
        self.calls = calls

    def on_start(self, event):
        """Do nothing."""

    def on_end(self, event):
        """Note the function."""
        self.calls.append(event.data["dispatcher"])


@pytest.mark.parametrize("problem", [PROBLEM, SoftMarginPrimal(X, Y), ConvexQP(q=[1.0], lb=0)])
def test_a_solver_of_qps_may_be_warmed_up_too(problem):
    @dataclass(frozen=True)
    class Lazy(Solver):
        form: ClassVar = QP
        warm_up_size: ClassVar[int] = 32

        def iterates(self, form):
            yield FormPoint(np.zeros(form.n), claim="stopped")

    assert solve(problem, Lazy()).status is Status.FINISHED
