"""The interior-point method: its Newton systems written out, and box QPs of every shape."""

from dataclasses import replace

import numpy as np
import pytest
from tests.small_problems import BINARY, NU

from dualgap.problems import (
    RBF,
    BoxQP,
    HardMarginDual,
    HardMarginPrimal,
    Linear,
    NuSVC,
    SoftMarginDual,
    SVRDual,
    reduce,
)
from dualgap.problems.gram.gram import Gram, SignedGram
from dualgap.solvers import InteriorPoint, Status, solve
from dualgap.solvers.interior_point import BoxProgram
from dualgap.solvers.numerics.claims import NO_MARGIN
from dualgap.solvers.numerics.shifted import Dense, shifted_gram

RNG = np.random.default_rng(5)
X = RNG.standard_normal((40, 3))
Y = np.where(RNG.random(40) < 0.4, 1.0, -1.0)
STRUCTURED = BINARY | NU


@pytest.mark.parametrize("name", STRUCTURED)
def test_a_newton_step_solves_the_system_written_out(name: str) -> None:
    form = reduce(STRUCTURED[name], BoxQP).form
    program, rng = BoxProgram(form), np.random.default_rng(1)
    point = program.first_point()
    s, z = (10 ** rng.uniform(-2, 2, point.s.shape) for _ in range(2))
    point = point._replace(
        s=np.where(program.has_room, s, 1.0), z=np.where(program.has_room, z, 0.0)
    )
    (dual, missing), _, _ = program.residuals(point)
    target = rng.uniform(0, 1, s.shape)
    step = program.newton(point, dual, missing)(target)
    Q, A = form.Q.dense(), program.A
    np.testing.assert_allclose(program.product(point.x), Q @ point.x, atol=1e-9)
    stationary = Q @ step.x + step.nu @ A - (program.sign * step.z).sum(axis=0) + dual
    assert np.abs(stationary).max() <= 1e-7 * (1 + np.abs(step.z).max())
    np.testing.assert_allclose(A @ step.x, -missing, atol=1e-9 * (1 + np.abs(step.x).max()))
    np.testing.assert_allclose(step.s, program.sign * step.x)
    products = (point.s * point.z + point.s * step.z + step.s * point.z)[program.has_room]
    np.testing.assert_allclose(products, target[program.has_room], atol=1e-6)


@pytest.mark.parametrize("target_gap", [1e-2, 1e-6])
@pytest.mark.parametrize("below", [0.0, 1e-12, 1e-10, 1e-8, 1e-6, 1e-4])
def test_an_optimum_far_below_the_costs_is_solved(below: float, target_gap: float) -> None:
    epsilon = 0.5 * np.ptp(X[:, 0]) * (1 - below)
    for kernel in (Linear(), RBF(1.0)):
        problem = SVRDual(X[:, 1:], X[:, 0], 1.0, epsilon, kernel)
        solution = solve(problem, InteriorPoint(), target_gap=target_gap)
        assert solution.verdict == "solved"


@pytest.mark.parametrize("offset", [1e3, 1e4, 1e5])
def test_a_constant_added_to_features_permits_no_larger_gap(offset: float) -> None:
    problem = NuSVC(X + offset, Y, 0.3)
    solution = solve(problem, InteriorPoint(), target_gap=1e-2)
    assert solution.verdict == "solved" or solution.claimed != "optimal"


@pytest.mark.parametrize("extreme", [1.0, 1e6, 1e12])
@pytest.mark.parametrize("d", [3, 150])
@pytest.mark.parametrize("kernel", [Linear(), RBF(0.01)])
def test_free_and_bounded_variables_are_solved_together(
    kernel: Linear | RBF, d: int, extreme: float
) -> None:
    rng = np.random.default_rng(2)
    gram = Gram(rng.standard_normal((200, d)), kernel)
    e = np.where(np.arange(200) < 3, 1 / extreme, extreme)
    r = rng.standard_normal(200)
    v = shifted_gram(gram).factor(e)(r)
    residual = gram.matvec(v) + e * v - r
    assert np.abs(residual).max() <= 1e-9


def test_a_matrix_too_singular_for_single_precision_is_factored_in_double() -> None:
    rng = np.random.default_rng(2)
    gram = Gram(rng.standard_normal((300, 2)), RBF(1e-3))
    system = Dense(gram.dense())
    e, r = np.full(300, 1e-9), gram.dense() @ rng.standard_normal(300)
    v = system.factor(e)(r)
    assert system.precision == "d"
    assert np.abs(system.product(v) + e * v - r).max() <= 1e-9 * np.abs(r).max()


def test_the_matrix_of_a_linear_dual_is_never_formed() -> None:
    rng = np.random.default_rng(6)
    y = np.where(rng.random(20_000) < 0.5, 1.0, -1.0)
    problem = SoftMarginDual(rng.standard_normal((20_000, 5)) + 0.5 * y[:, None], y)
    solution = solve(problem, InteriorPoint(tol=1e-9))
    assert solution.counters["kernel_evaluations"] == 0
    assert solution.certificate.relative_gap <= 1e-8


def test_every_iteration_can_be_evaluated() -> None:
    points = list(InteriorPoint(tol=1e-9).iterates(reduce(SoftMarginDual(X, Y), BoxQP).form))
    assert [p.iterations for p in points] == sorted(p.iterations for p in points)
    assert len(points) >= points[-1].iterations
    assert {p.claim for p in points[:-1]} == {"stopped"}


@pytest.mark.parametrize("view", [HardMarginPrimal, HardMarginDual])
def test_an_inseparable_hard_margin_stops_within_10_iterations(view: type) -> None:
    rng = np.random.default_rng(8)
    samples, y = rng.standard_normal((300, 10)), np.where(rng.random(300) < 0.5, 1.0, -1.0)
    last = list(InteriorPoint(tol=1e-9).iterates(reduce(view(samples, y), BoxQP).form))[-1]
    assert (last.claim, last.note) == ("stopped", NO_MARGIN)
    assert last.iterations <= 10


@pytest.mark.parametrize("size", [1e-10, 1e-4, 1e4])
@pytest.mark.parametrize("view", [HardMarginPrimal, HardMarginDual])
def test_the_units_of_a_margin_do_not_make_it_infeasible(view: type, size: float) -> None:
    samples = RNG.standard_normal((30, 3))
    samples[:, 0] = Y[:30] * (1 + np.abs(samples[:, 0]))
    solution = solve(view(size * samples, Y[:30]), InteriorPoint(tol=1e-9))
    assert solution.claimed != "infeasible"


def random_box(seed: int) -> BoxQP:
    """Return a box QP with groups, some variables in none, shifted boxes and some without width."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(6, 60))
    samples = rng.standard_normal((n, 4))
    samples[: n // 3] = samples[n // 3 : 2 * (n // 3)]  # duplicates
    kernel = (Linear(), RBF(0.3), RBF(1e-3))[seed % 3]
    size = 10.0 ** rng.uniform(-4, 4)
    lb = size * rng.uniform(-1, 1, n)
    ub = lb + size * rng.uniform(0, 1, n) * (rng.random(n) < 0.9)
    inside = lb + rng.uniform(0, 1, n) * (ub - lb)
    count = seed % 4
    groups = rng.integers(-1, count, n)
    groups[:count] = np.arange(count)
    a = rng.choice([-1.0, 1.0], n)
    delta = np.bincount(groups + 1, a * inside, count + 1)[1:]
    Q = SignedGram(Gram(samples, kernel), rng.choice([-1.0, 1.0], n))
    return BoxQP(
        Q, rng.standard_normal(n), *((a, groups, delta) if count else (None, None, delta)), lb, ub
    )


@pytest.mark.parametrize("seed", range(24))
def test_random_boxes_with_groups_are_solved(seed: int) -> None:
    form = random_box(seed)
    last = list(InteriorPoint(tol=1e-9).iterates(form))[-1]
    assert last.x is not None
    assert (last.x >= form.lb - 1e-9).all()
    assert (last.x <= form.ub + 1e-9 * np.abs(form.ub)).all()
    x = form.project(last.x)
    g = form.Q.matvec(x) + form.p
    terms = float(np.abs(form.p) @ np.abs(x)) + float(np.abs(x) @ np.abs(g))
    assert last.claim == "optimal"
    assert form.gap_terms(g, x).sum() <= 1e-7 * terms


@pytest.mark.parametrize("gamma", [1e-8, 1e-3])
def test_a_singular_matrix_with_a_large_slack_weight_causes_no_false_claim(gamma: float) -> None:
    solution = solve(
        SoftMarginDual(np.vstack([X, X]), np.r_[Y, Y], 1e6, RBF(gamma)), InteriorPoint(tol=1e-9)
    )
    assert solution.status in (Status.FINISHED, Status.MAX_ITER)
    assert solution.verdict != "wrong"
    if solution.claimed == "optimal":
        assert solution.certificate.relative_gap <= 1e-6


def test_a_variable_without_bounds_is_refused() -> None:
    form = reduce(SoftMarginDual(X, Y), BoxQP).form
    ub, lb = form.ub.copy(), form.lb.copy()
    ub[3], lb[3] = np.inf, -np.inf
    assert "a bound" in (InteriorPoint(tol=1e-9).refuses(replace(form, lb=lb, ub=ub)) or "")


@pytest.mark.parametrize("delta", [0.0, 1.0])
def test_a_box_of_one_point_is_optimal_if_it_meets_the_equality(delta: float) -> None:
    zero = np.zeros(40)
    form = BoxQP(
        SignedGram(Gram(X, RBF(0.5)), Y), -np.ones(40), Y, None, np.array([delta]), zero, zero
    )
    last = list(InteriorPoint(tol=1e-9).iterates(form))[-1]
    assert last.claim == ("stopped" if delta else "optimal")
    np.testing.assert_array_equal(last.x, zero)
