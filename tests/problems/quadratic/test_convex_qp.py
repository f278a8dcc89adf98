"""Certificates of convex QPs against optima in rationals, and what they refuse."""

from collections import Counter
from fractions import Fraction
from itertools import islice
from math import isfinite
from types import SimpleNamespace

import numpy as np
import pytest
import scipy
from tests.halves import quick_cases
from tests.problems.quadratic.convex_qps import drawn, optimum, problem_of, rational

from dualgap.problems import ConvexQP, QPPoint, certify
from dualgap.problems.quadratic.constraints import Constraints
from dualgap.problems.quadratic.eigenvalues import curvature
from dualgap.problems.quadratic.exact_rows import exact_signs, residuals
from dualgap.solvers import CvxoptQP, solve

ROWS, ONES = np.random.default_rng(0).standard_normal((5, 3)), [[1.0, 1.0]]


def answers(best, problem, rng):
    """Yield points near the optimum and far from it, with and without multipliers."""
    n, m = problem.n, problem.h.size
    x = np.zeros(n) if not isinstance(best, tuple) else np.array(best[1])
    yield QPPoint(x + 1e-9 * rng.standard_normal(n) * np.maximum(1.0, np.abs(x)))
    multipliers = rng.standard_normal(problem.d)
    yield QPPoint(x, multipliers[:m], multipliers[m:])
    for noise in (1.0, 1e-4, 0.0):
        yield QPPoint(x + noise * rng.standard_normal(n) * np.maximum(1.0, np.abs(x)))


def faults_of(seed, points=5, draw=drawn):
    """Return what is wrong with certificates of one problem, and how many verdicts there were."""
    kind, arrays = draw(seed)
    best, wrong, counts = optimum(arrays), list[str](), Counter[str]()
    if (arrays["lb"] > arrays["ub"]).any():
        return wrong, counts
    problem = problem_of(arrays)
    drawn_points = answers(best, problem, np.random.default_rng(seed))
    for point in islice(drawn_points, points):
        c = certify(problem, point)
        exists = isinstance(best, tuple)
        if c.infeasible:
            claimed = "infeasible" if c.primal_objective > 0 else "unbounded"
            truth = "optimal" if exists else "infeasible" if best is None else "unbounded"
            if claimed != truth:
                wrong.append(f"{seed} {kind}: {claimed} is {truth}")
            counts[claimed] += 1
            continue
        if isfinite(c.primal_objective) and best is None:
            wrong.append(f"{seed} {kind}: an upper bound of an infeasible problem")
        if isfinite(c.dual_objective) and (best is not None and not exists):
            wrong.append(f"{seed} {kind}: a lower bound of an unbounded problem")
        if exists and isfinite(c.dual_objective) and rational(c.dual_objective) > best[0]:
            wrong.append(f"{seed} {kind}: lower {c.dual_objective} > {best[0]}")
        if exists and isfinite(c.primal_objective) and rational(c.primal_objective) < best[0]:
            wrong.append(f"{seed} {kind}: upper {c.primal_objective} < {best[0]}")
        counts[
            "solved" if c.relative_gap <= 1e-6 else "bounds" if c.gap >= 0 else "uncertified"
        ] += 1
    return wrong, counts


@pytest.mark.parametrize("part", quick_cases(range(10), [0]))
def test_no_bound_is_on_the_wrong_side_of_a_rational_optimum(part):
    results = [faults_of(seed, points=2) for seed in range(12 * part, 12 * part + 12)]
    assert [fault for faults, _ in results for fault in faults] == []
    counts = sum((counts for _, counts in results), Counter())
    assert counts["solved"] >= 8
    assert counts["uncertified"] <= 3


def at_an_end_of_float64(seed):
    """Return a problem as `drawn` does, with an objective, rows and bounds of extreme sizes."""
    kind, arrays = drawn(seed)
    rng, exponents = np.random.default_rng([10, seed]), [-1070, -1022, -600, 0, 600, 1018]
    cost, *rows = rng.choice(exponents, 3)
    with np.errstate(over="ignore", under="ignore"):
        for exponent, names in (cost, ("P", "q")), (rows[0], ("G", "h")), (rows[1], ("A", "b_eq")):
            for name in names:
                arrays[name] = np.ldexp(arrays[name], exponent)
    width = rng.choice([1e20, 1e308, np.inf])
    arrays["lb"], arrays["ub"] = np.maximum(arrays["lb"], -width), np.minimum(arrays["ub"], width)
    finite = all(np.isfinite(arrays[name]).all() for name in ("P", "q", "G", "h", "A", "b_eq"))
    return (kind, arrays) if finite else drawn(seed)


@pytest.mark.parametrize("part", quick_cases(range(4), [0]))
def test_no_bound_is_on_the_wrong_side_at_the_ends_of_float64(part):
    seeds = range(12 * part, 12 * part + 12)
    results = [faults_of(seed, points=2, draw=at_an_end_of_float64) for seed in seeds]
    assert [fault for faults, _ in results for fault in faults] == []


def test_an_overflowing_box_width_keeps_the_bounds_valid():
    largest = float(np.finfo(np.float64).max)
    for B in (1e308, largest):
        for end in (-B, B):
            c = certify(ConvexQP(q=[1e-300], lb=-B, ub=B), [end])
            assert c.dual_objective <= -1e-300 * B <= c.primal_objective
            assert (c.relative_gap < 1e-6) == (end < 0)


@pytest.mark.exhaustive
@pytest.mark.parametrize("part", range(6))
def test_no_bound_is_on_the_wrong_side_of_more_rational_optima(part):
    """Of 300 problems; `range(100)` takes half an hour for 5,000."""
    faults = [fault for seed in range(50 * part, 50 * part + 50) for fault in faults_of(seed)[0]]
    assert faults == []


def test_an_equation_that_float64_cannot_meet_is_met_by_an_enclosed_point():
    problem = ConvexQP(P=np.eye(3), A=[[0.1, 0.2, 0.3]], b_eq=[0.7])
    c = certify(problem, np.full(3, 0.1))
    assert c.projection_distance > 0.1
    assert c.primal_objective > 0.7**2 / 0.28 > c.dual_objective


def test_dependent_equations_are_consistent_or_infeasible():
    A = np.array([[1.0, 2.0, -1.0], [2.0, 4.0, -2.0], [3.0, -1.0, 0.5]])
    consistent = ConvexQP(P=np.eye(3), A=A, b_eq=[1.0, 2.0, 3.0])
    assert certify(consistent, np.zeros(3)).relative_gap < 1e-6
    contradiction = ConvexQP(P=np.eye(3), A=A, b_eq=[1.0, 2.5, 3.0])
    assert certify(contradiction, np.zeros(3)).infeasible


def test_an_indefinite_matrix_is_refused_by_name():
    problem = ConvexQP(P=[[1.0, 2.0], [2.0, 1.0]], lb=0, ub=1)
    c = certify(problem, np.zeros(2))
    assert np.isnan(c.gap)
    assert c.reason == "P is indefinite: it provably has a negative eigenvalue"
    assert certify(problem, QPPoint()).reason == f"the solver gave no point; {c.reason}"


def test_a_wrong_answer_has_a_wide_gap():
    problem = ConvexQP(P=np.eye(2), q=[-1.0, -1.0], lb=0, ub=1)
    c = certify(problem, np.zeros(2))
    assert c.primal_objective == 0
    assert c.relative_gap > 0.9


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "q: give at least one"),
        ({"P": [[1.0, 2.0], [0.0, 1.0]]}, "P: must be symmetric"),
        ({"q": [1.0], "G": [[1.0]]}, "G, h: give both or neither"),
        ({"q": [1.0, np.nan]}, "q: entry 1 is nan"),
        ({"q": [1.0], "lb": 1.0, "ub": 0.0}, "lb: must be at most ub"),
        ({"q": [1.0], "A": [[1.0, 2.0]], "b_eq": [1.0]}, "A: must have shape"),
        ({"q": ["a"]}, "q: must be numbers"),
    ],
)
def test_invalid_arguments_of_a_qp_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        ConvexQP(**arguments)


def test_an_answer_has_the_shape_of_x():
    problem = ConvexQP(q=[1.0, 1.0], lb=0)
    with pytest.raises(ValueError, match="x: must have shape"):
        certify(problem, np.zeros(3))
    with pytest.raises(TypeError, match="must be an array x of 2 numbers"):
        certify(problem, "x")


def test_a_residual_is_enclosed_where_all_of_it_cancels():
    rng = np.random.default_rng(0)
    for _ in range(50):
        E = scipy.sparse.random_array((5, 8), density=0.5, rng=rng, format="csr")
        E.data *= 10.0 ** rng.integers(-8, 8, E.data.size)
        v = rng.standard_normal(8) * 10.0 ** rng.integers(-8, 8, 8)
        e = E @ v
        best, rows = residuals(E, v, e), E.toarray().tolist()
        for i, row in enumerate(rows):
            exact = Fraction(e[i]) - sum(
                Fraction(a) * Fraction(b) for a, b in zip(row, v, strict=True)
            )
            assert abs(exact - Fraction(best.mid[i])) <= Fraction(best.rad[i])
            assert best.rad[i] <= 1e-15 * abs(best.mid[i]) + 1e-300


def test_rounding_that_makes_P_indefinite_is_absorbed_by_bounds_of_variables():
    F = np.random.default_rng(0).standard_normal((20, 61))
    P, A = F.T @ F, np.ones((1, 61))
    assert np.linalg.eigvalsh(P)[0] < 0
    bounded = ConvexQP(P, -np.ones(61), A=A, b_eq=[1.0], lb=0, ub=1)
    x = solve(bounded).certificate.point.x
    assert certify(bounded, x).relative_gap < 1e-6
    free = certify(ConvexQP(P, -np.ones(61), A=A, b_eq=[1.0], lb=0), x)
    assert np.isnan(free.gap)
    assert "variables need bounds" in free.reason


def test_columns_of_different_norms_are_enclosed_at_their_scales():
    n = 50
    differences = scipy.sparse.eye_array(n) - np.roll(np.eye(n), 1, axis=1)  # of rank n - 1
    E = scipy.sparse.csr_array(
        scipy.sparse.hstack([1e-6 * scipy.sparse.eye_array(n), 1e6 * differences])
    )
    u = np.random.default_rng(0).uniform(1.0, 2.0, 2 * n)
    low = np.where(np.arange(2 * n) < n, -np.inf, 0.0)
    none = scipy.sparse.csr_array((0, 2 * n))
    constraints = Constraints(E, E @ u, none, np.zeros(0), low, np.full(2 * n, np.inf))
    assert next(constraints._enclosures_in_units(u, lambda: None), None) is None
    ball = constraints.enclosure(u, lambda: None)
    assert ball is not None
    assert np.abs(residuals(E, ball.mid, E @ u).mid).max() < 1e-9
    assert (ball.rad[n:] < 1e-6).all()


def test_a_point_is_made_feasible_at_the_smallest_cost():
    n = 200
    G, t = np.diff(np.eye(n), 3, axis=0), np.linspace(0, 1, n)
    noise = 0.1 * np.random.default_rng(0).standard_normal(n)
    problem = ConvexQP(np.eye(n), -10 * np.sqrt(t) - noise, G, np.zeros(n - 3))
    x, program = solve(problem).certificate.point.x, problem.program
    balls = [*program.constraints.enclosures(x, lambda: program.interior)]
    bounds = [program._upper_in(ball, np.zeros(0))[0] for ball in balls]
    assert len(bounds) == 3
    assert min(bounds) < bounds[0]
    assert program.upper(x, np.zeros(0))[0] in bounds[1:]


def test_small_errors_of_multipliers_cost_second_order_with_a_diagonal_P():
    program = ConvexQP(P=np.eye(4), A=np.ones((1, 4)), b_eq=[1.0], lb=0.0, ub=1.0).program
    for off in (0.0, 1e-4, -1e-4):
        bound = next(program.lower_bounds(np.full(4, 0.25), np.array([off - 0.25]), np.zeros(0)))
        assert 0.125 - 1e-7 <= bound <= 0.125


def test_a_bound_is_exact_where_the_bounds_of_variables_hold_the_answer():
    program = ConvexQP(P=np.eye(4), q=[-3.0, 3.0, -0.5, 0.0], lb=0.0, ub=1.0).program
    bound = next(program.lower_bounds(np.array([1.0, 0.0, 0.5, 0.0]), np.zeros(0), np.zeros(0)))
    assert -2.625 - 1e-12 <= bound <= -2.625


def test_dual_equations_that_depend_on_each_other_inexactly_are_satisfied_by_zeros():
    # x may grow in both directions of each row, so that y = 0; column 5 is 0.1 y₁ + 0.7 y₂ ≥ 0
    A = [[0.0, 1.0, -1.0, 0.3, -0.1, 0.1], [0.0, 0.0, 0.0, 1.0, -1.0, 0.7]]
    x, ub = np.eye(6)[0], [2.0, *[np.inf] * 5]
    problem = ConvexQP(np.diag(x), -x, A=A, b_eq=[0.0, 0.0], lb=0.0, ub=ub)
    for point in (QPPoint(x), QPPoint(x, y=np.full(2, 1e-9))):
        c = certify(problem, point)
        assert -0.5 - 1e-8 <= c.dual_objective <= c.primal_objective <= -0.5 + 1e-8


@pytest.mark.parametrize("near_zero", [0.0, 1e-14])
def test_variables_whose_only_feasible_value_is_zero_need_no_perturbed_side(near_zero):
    # x₁ + x₂ = 0 with x ≥ 0, beside two equations for x₃ that hold only but for rounding
    A = [[1.0, 1.0, 0.0], [0.0, 0.0, 0.1], [0.0, 0.0, 1.0]]
    problem = ConvexQP(np.eye(3), A=A, b_eq=[0.0, 0.1 * 3, 3.0], lb=0.0)
    nearby = certify(problem, [near_zero, near_zero, 3.0]).nearby
    assert 0 < nearby.backward_error < 1e-15
    assert nearby.relative_gap < 1e-9


def test_rounding_of_zeros_needs_no_perturbed_side():
    # 0.985 x₁ = 0.015 x₂, beside two equations for x₃ that hold only but for rounding
    A = [[0.985, -0.015, 0.0], [0.0, 0.0, 0.1], [0.0, 0.0, 1.0]]
    problem = ConvexQP(np.eye(3), A=A, b_eq=[0.0, 0.1 * 3, 3.0], lb=0.0)
    assert certify(problem, [1e-38, 0.0, 3.0]).nearby.backward_error < 1e-15


def test_multipliers_are_corrected_for_an_error_of_x_with_wide_bounds():
    # 10⁴ x₁ = x₂ − x₃, where x₂ and x₃ may move by 500 for nothing: y is 0 at x₁ = 1
    limits = {"lb": [0.0, 1e4, 0.0], "ub": [np.inf, 1.1e4, 1e3]}
    problem = ConvexQP(np.diag([1.0, 0, 0]), [-1.0, 0, 0], A=[[1e4, -1, 1]], b_eq=[0.0], **limits)
    x = np.array([1 + 2.0**-20, 10500 + 1e4 * 2.0**-20, 500])
    (_, first, _), (corrected, second, _), *_ = problem.program.multipliers(x)
    assert abs(first[0]) == pytest.approx(1e-4 * 2.0**-20)
    assert corrected[0] == pytest.approx(1.0, abs=1e-13)
    assert abs(second[0]) < 1e-17
    assert certify(problem, x).relative_gap < 1e-11


def test_multipliers_of_degenerate_constraints_move_by_rounding_only():
    # each variable is at most a multiple of the two before it, and the last one is maximised
    n, rng = 14, np.random.default_rng(62)
    rows = np.eye(n)[1:] - 1.1 * np.eye(n)[:-1] - 0.5 * np.eye(n, k=-2)[1:]
    P, q = np.diag(rng.choice([0.0, 0.0, 7.0], n)), -np.eye(n)[-1]
    P[0, 0] = 1.0
    program = ConvexQP(P, q, np.vstack([rows, np.eye(n)]), [0.0] * (n - 1) + [1e3] * n, lb=0.0)
    answer = solve(program, CvxoptQP(tol=1e-9))
    assert answer.certificate.relative_gap < 1e-9


@pytest.mark.parametrize(
    ("large", "inner", "bits"), [(1.0, 1.0, 0), (1.0, 1e-4, 0), (1024.0, 1e-4, 5), (1e9, 1.0, 0)]
)
def test_the_unit_of_variables_is_between_q_over_p_and_the_largest_side(large, inner, bits):
    sides = [large, inner, inner] * 5
    problem = ConvexQP(np.eye(3), [-1.0] * 3, np.eye(3)[[0, 1, 2] * 5], sides)
    assert (problem.program.normalised.columns == bits).all()


def test_cached_results_do_not_change_the_hash_of_a_problem():
    one, other = (ConvexQP(P=np.eye(1), q=[1.0]) for _ in range(2))
    certify(other, [-1.0])
    assert one.hash == other.hash


def test_a_point_whose_residual_overflows_has_no_bound():
    problem = ConvexQP(q=[1.0, 1.0], A=[[1.0, 1.0]], b_eq=[0.0])
    assert not certify(problem, [1e308, 1e308]).gap < np.inf


def test_a_row_of_zeros_can_prove_infeasibility():
    assert certify(ConvexQP(q=[1e9]), [0.0]).primal_objective == -np.inf
    assert certify(ConvexQP(A=[[0.0, 0.0]], b_eq=[1e9]), [0.0, 0.0]).primal_objective == np.inf


def test_overflowing_multipliers_are_replaced_by_recovered_ones():
    problem = ConvexQP(q=[1.0], G=[[10.0]], h=[10.0], lb=0.0, ub=1.0)
    answer = SimpleNamespace(x=np.zeros(1), z=np.array([1e308]))
    assert certify(problem, answer).relative_gap == 0.0


@pytest.mark.parametrize("size", [1e80, 1e160, 1e-160])
def test_rows_of_any_size_are_certified(size):
    A, b = size * np.array([[2.0, 1.0], [1.0, -2.0]]), size * np.array([3.0, -1.0])
    assert certify(ConvexQP(np.eye(2), [1.0, 1.0], A=A, b_eq=b), [1.0, 1.0]).relative_gap < 1e-9


def test_an_objective_beyond_float64_has_no_bounds():
    assert np.isnan(certify(ConvexQP(P=[[2.0]], q=[1.0]), [1e308]).gap)
    large = ConvexQP(P=1e170 * np.array([[2.0, 1.0], [1.0, 2.0]]), q=[1.0, 1.0], lb=-1, ub=1)
    assert certify(large, [0.0, 0.0]).dual_objective < 0


@pytest.mark.parametrize("width", [1e3, 1e9, 1e20, 1e308, np.inf])
def test_wide_bounds_cost_no_more_than_no_bounds(width):
    P, q = np.array([[2.0, 0.5], [0.5, 1.0]]), np.array([1.0, -2.0])
    x = np.linalg.solve(P, -q)
    assert certify(ConvexQP(P, q, lb=-width, ub=width), x).relative_gap < 1e-13
    # the first two variables have no curvature
    A, x = np.array([[0.1, 0.3, 0.0], [0.7, 0.0, 0.1]]), np.array([0.5, 0.5, 0.5])
    line = ConvexQP(
        np.diag([0.0, 0.0, 1.0]), [0.8, 0.3, -0.4], A=A, b_eq=A @ x, lb=-width, ub=width
    )
    assert certify(line, x).relative_gap < 1e-9


def exact_answer(P, A, rng):
    """Return a problem within [0, 1], and the x that is its only answer but for rounding of q and b."""
    n = P.shape[0]
    x = np.where(rng.random(n) < 0.5, 0.0, rng.uniform(0.1, 0.9, n))
    q = np.where(x == 0, rng.random(n), 0.0) - P @ x - A.T @ rng.standard_normal(A.shape[0])
    return ConvexQP(P, q, A=A, b_eq=A @ x, lb=0.0, ub=1.0), x


@pytest.mark.parametrize("n", [60, 450])
def test_x_alone_is_enough_for_a_dense_matrix(n):
    rng = np.random.default_rng(n)
    F = rng.standard_normal((n, n)) / np.sqrt(n)
    P = F.T @ F + np.eye(n)
    problem, x = exact_answer((P + P.T) / 2, np.ones((1, n)), rng)
    c = certify(problem, x)
    assert c.bound_source == "proven: recovered from x"
    assert c.relative_gap < 1e-9


@pytest.mark.parametrize("unit", [1.0, 2.0**-20, 2.0**20])
def test_x_alone_is_enough_for_a_singular_matrix_and_an_inexact_answer(unit):
    rng = np.random.default_rng(0)
    F, q = rng.standard_normal((20, 60)), -rng.random(60)
    problem = ConvexQP(unit * F.T @ F, unit * q, A=np.ones((1, 60)), b_eq=[1.0], lb=0.0, ub=1.0)
    x = solve(problem, CvxoptQP(tol=1e-10)).certificate.point.x
    moved = x + np.where(x > 1e-6, 1e-7 * rng.standard_normal(60), 0.0)
    assert certify(problem, moved).relative_gap < 1e-6


def test_x_alone_is_enough_for_20000_variables():
    n, rng = 20_000, np.random.default_rng(0)
    D = scipy.sparse.eye_array(n) + scipy.sparse.diags_array(np.full(n - 1, 0.3), offsets=1)
    A = scipy.sparse.random_array((50, n), density=3 / n, rng=rng, format="csr")
    problem, x = exact_answer(scipy.sparse.csr_array(D.T @ D), A, rng)
    assert certify(problem, x).relative_gap < 1e-9


def test_curvature_is_at_most_that_of_the_matrix():
    rng = np.random.default_rng(0)
    for n in (1, 3, 40, 150):
        F = rng.standard_normal((n, n)) * 10.0 ** rng.integers(-3, 4, n)
        P = F.T @ F
        mu = curvature(scipy.sparse.csr_array((P + P.T) / 2))
        unit = np.sqrt(P.diagonal())
        assert (mu > 0).all()
        assert np.linalg.eigvalsh((P - np.diag(mu)) / unit / unit[:, None])[0] > -1e-12


def degenerate(seed):
    """Return a problem at whose only candidate, x₀, many rows are tight but for their rounding."""
    rng = np.random.default_rng([11, seed])
    n, m, e = (int(rng.integers(1, high)) for high in (8, 8, 3))
    x, G, A = rng.standard_normal(n), rng.standard_normal((m, n)), rng.standard_normal((e, n))
    h = G @ x + rng.choice([0.0, 1.0], m)
    q = -x - A.T @ rng.standard_normal(e) - G.T @ np.where(h == G @ x, rng.random(m), 0.0)
    return ConvexQP(np.eye(n), q, G, h, A, A @ x, x - rng.choice([0.0, 1.0], n), x + 1.0), x


@pytest.mark.parametrize("seed", quick_cases(range(40), range(3)))
def test_a_point_feasible_up_to_rounding_solves_a_nearby_problem(seed):
    problem, x = degenerate(seed)
    c = certify(problem, x)
    if np.isfinite(c.primal_objective):
        assert c.nearby is None
        assert c.relative_gap < 1e-6
        return
    assert c.nearby.backward_error < 1e-15
    assert c.nearby.relative_gap < 1e-6
    assert "within a backward error of" in c.reason
    # exact sides of the nearby problem lie between these
    value = sum(Fraction(float(v)) ** 2 for v in x) / 2
    value += sum(Fraction(float(a)) * Fraction(float(v)) for a, v in zip(problem.q, x, strict=True))
    assert value <= Fraction(c.nearby.primal_objective)


@pytest.mark.parametrize(
    ("arguments", "x"),
    [
        ({"q": [1.0, 2.0, 3.0], "A": ROWS, "b_eq": np.zeros(5)}, np.zeros(3)),
        ({"q": [1.0, 2.0, 3.0], "A": ROWS[:3], "b_eq": np.zeros(3)}, np.zeros(3)),
        ({"q": [1.0], "A": [[1.1], [2.04]], "b_eq": [0.55, 1.02]}, [0.5]),
        (
            {"q": [1.0], "A": [[2.04]], "b_eq": [1.02], "G": [[1.0], [-3.7]], "h": [0.5, -1.85]},
            [0.5],
        ),
        ({"q": np.ones(2), "G": ROWS[:, :2], "h": np.zeros(5)}, np.zeros(2)),
    ],
)
def test_a_point_that_meets_all_constraints_exactly_is_recognised(arguments, x):
    n = len(x)
    c = certify(ConvexQP(P=np.eye(n), **arguments), x)
    assert c.projection_distance == 0
    assert c.relative_gap < 1e-9
    off = certify(ConvexQP(P=np.eye(n), **arguments), np.asarray(x) + 1e-9)
    assert not np.isfinite(off.primal_objective) or off.projection_distance > 0


def test_exact_signs_are_those_of_rationals():
    rng = np.random.default_rng(0)
    E = scipy.sparse.random_array((40, 6), density=0.5, rng=rng, format="csr")
    E.data *= 2.0 ** rng.choice([-1060, -600, 0, 600], E.data.size)
    v = rng.standard_normal(6) * 2.0 ** rng.choice([-500, 0, 300], 6)
    e = np.where(rng.random(40) < 0.5, E @ v, 0.0)
    for row, sign in enumerate(exact_signs(E, v, e)):
        entries = zip(E.toarray()[row].tolist(), v.tolist(), strict=True)
        exact = sum(Fraction(a) * Fraction(b) for a, b in entries) - Fraction(float(e[row]))
        assert sign == (exact > 0) - (exact < 0)


@pytest.mark.parametrize(
    "arguments",
    [
        {
            "q": [0.0, 0.0],
            "G": [[1.0, 2.0], [3.0, -1.0]],
            "h": [4.0, 5.0],
            "A": ONES,
            "b_eq": [1.0],
        },
        {"P": np.eye(2), "q": [1.0, 2.0], "lb": 0},
        {"q": [1.0, 2.0], "G": ONES, "h": [1.0], "lb": 0},
    ],
)
def test_an_optimum_of_zero_is_certified_on_the_scale_of_the_data(arguments):
    problem = ConvexQP(**arguments)
    x = solve(problem, CvxoptQP(tol=1e-9)).certificate.point.x
    assert certify(problem, x).relative_gap < 1e-6
    if arguments["q"][0]:
        assert certify(problem, [0.01, 0.01]).relative_gap > 1e-3


def test_rows_that_are_bounds_are_certified_as_bounds_and_have_their_multipliers():
    rng = np.random.default_rng(0)
    L = rng.standard_normal((3, 40))
    eye, q = np.eye(40), -rng.random(40)
    G, h = np.vstack([-eye, eye, -eye[:1]]), np.concatenate([np.zeros(40), np.ones(40), [0.0]])
    problem = ConvexQP(L.T @ L, q, G, h, np.ones((1, 40)), [5.0])
    x = solve(problem).certificate.point.x
    c = certify(problem, x)
    assert c.relative_gap < 1e-6
    z, y = c.point.z, c.point.y
    assert (z >= 0).all()
    assert np.abs(problem.P @ x + q + G.T @ z + y).max() < 1e-5


@pytest.mark.parametrize("size", quick_cases([1e-16, 1e-12, 1e-10], [1e-12]))
def test_variables_near_their_bounds_are_set_to_them_where_no_projection_satisfies_a_row(
    size: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    # x₁ = x₂ + x₃ is violated by a third of its terms, as in QSIERRA; no exact point has 0.1 x₄ = 0.3
    A = np.array([[1.0, -1.0, -1.0, 0.0], [0.0, 0.0, 0.0, 0.1], [0.0, 0.0, 0.0, 0.3]])
    problem = ConvexQP(np.eye(4), [1.0, 1.0, 1.0, 0.0], A=A, b_eq=[0.0, 0.3, 0.9], lb=0.0)
    monkeypatch.setattr(Constraints, "nearest", lambda c, u: np.clip(u, c.lb, c.ub))
    nearby = certify(problem, [size, size, size, 3.0]).nearby
    assert nearby is not None
    assert nearby.backward_error <= 1e-15
    assert nearby.relative_gap <= 1e-9
