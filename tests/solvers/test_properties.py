"""What theory says of every problem, on problems drawn at random and solved.

Two optima are compared through their certified bounds: they agree if the intervals
[dual, primal] overlap, and both are within the target gap.
"""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from dualgap.problems import (
    RBF,
    HingeERM,
    KernelQP,
    Linear,
    Point,
    Polynomial,
    SoftMarginDual,
    SoftMarginPrimal,
    SVRDual,
    certify,
    reduce,
)
from dualgap.problems.risk.dual_point import project_dual
from dualgap.solvers import (
    SMO,
    DualCoordinateDescent,
    InteriorPoint,
    Pegasos,
    ProjectedGradient,
    SemismoothNewton,
    solve,
)

TARGET = 1e-6
SHARP = SMO(tol=1e-10, gap=1e-8)
fewer_examples = settings(max_examples=max(12, settings().max_examples // 6))


KERNELS = (Linear(), RBF(0.5), Polynomial(2, 0.5))


@st.composite
def problems(draw, kernels=KERNELS, regression=True):
    """A soft margin or a regression with 4 to 30 samples, both labels, some of them repeated."""
    local = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, d = draw(st.integers(4, 30)), draw(st.integers(1, 4))
    X = local.standard_normal((n, d))
    X[n // 2] = X[0]
    C = draw(st.sampled_from([0.01, 1.0, 30.0])) * local.uniform(0.5, 2.0, n)
    kernel, intercept = draw(st.sampled_from(kernels)), draw(st.booleans())
    if regression and draw(st.booleans()):
        targets = X.sum(1) + local.standard_normal(n)
        return SVRDual(X, targets, C, draw(st.sampled_from([0.0, 0.2])), kernel, intercept)
    y = np.where(np.arange(n) < draw(st.integers(1, n - 1)), 1.0, -1.0)
    return SoftMarginDual(X, y, C, kernel, intercept)


def optimum(problem, solver=SHARP):
    """Certified bounds on the optimum, within the target gap of each other."""
    solution = solve(problem, solver)
    certificate = solution.certificate
    assert certificate.relative_gap <= TARGET, solution
    return np.array([certificate.dual_objective, certificate.primal_objective])


def assert_equal_optima(one, other):
    size = max(abs(one).max(), abs(other).max())
    assert one[0] <= other[1] + 1e-12 * size
    assert other[0] <= one[1] + 1e-12 * size


@fewer_examples
@given(problem=problems(), seed=st.integers(0, 1000))
def test_permuting_the_samples_preserves_the_optimum(problem, seed):
    order = np.random.default_rng(seed).permutation(problem.n)
    other = replace(problem, X=problem.X[order], y=problem.y[order], C=problem.C[order])
    assert_equal_optima(optimum(problem), optimum(other))


@fewer_examples
@given(problem=problems())
def test_flipping_the_labels_preserves_the_optimum(problem):
    assert_equal_optima(optimum(problem), optimum(replace(problem, y=-problem.y)))


@fewer_examples
@given(problem=problems(), times=st.integers(2, 4))
def test_repeating_the_data_is_multiplying_C(problem, times):
    repeated = replace(
        problem,
        X=np.tile(problem.X, (times, 1)),
        y=np.tile(problem.y, times),
        C=np.tile(problem.C, times),
    )
    assert_equal_optima(optimum(repeated), optimum(replace(problem, C=times * problem.C)))


@fewer_examples
@given(
    problem=problems(kernels=(Linear(),), regression=False),
    power=st.integers(-20, 20),
)
def test_scaling_the_features_is_dividing_C_by_the_square(problem, power):
    s = 2.0**power  # exact, so that both are the same problem to the last digit
    scaled = replace(problem, X=s * problem.X, C=problem.C / s**2)
    assert_equal_optima(optimum(problem), s**2 * optimum(scaled))


@fewer_examples
@given(problem=problems(kernels=(RBF(0.5),)), power=st.integers(-8, 8))
def test_scaling_the_features_of_an_rbf_is_dividing_gamma_by_the_square(problem, power):
    s = 2.0**power
    scaled = replace(problem, X=s * problem.X, kernel=RBF(0.5 / s**2))
    assert_equal_optima(optimum(problem), optimum(scaled))


@fewer_examples
@given(problem=problems(), shift=st.floats(-3, 3))
def test_shifting_rbf_samples_or_regression_targets_preserves_the_optimum(problem, shift):
    if isinstance(problem, SVRDual):
        assume(problem.intercept)
        other = replace(problem, y=problem.y + shift)
    else:
        problem = replace(problem, kernel=RBF(0.5))
        other = replace(problem, X=problem.X + shift)
    one, moved = optimum(problem), optimum(other)
    assert moved == pytest.approx(one, rel=10 * TARGET)


@settings(max_examples=15)
@given(problem=problems(kernels=(RBF(0.05), RBF(20.0), Polynomial(2, 0.5))))
def test_the_solver_never_changes_the_certified_optimum(problem):
    one = optimum(problem)
    for solver in (SemismoothNewton(tol=1e-10, gap=1e-8), InteriorPoint(), None):
        assert_equal_optima(one, optimum(problem, solver))


ITERATIVE = [
    SMO(tol=1e-8),
    DualCoordinateDescent(tol=1e-8),
    ProjectedGradient(tol=1e-6),
    Pegasos(batch_size=3, seed=1),
]


@pytest.mark.parametrize("solver", ITERATIVE, ids=lambda s: s.name)
@settings(max_examples=12)
@given(problem=problems(kernels=(Linear(),)))
def test_weak_duality_holds_at_every_iterate(solver, problem):
    reduction = reduce(problem, solver.form)
    if solver.refuses(reduction.form):
        problem = replace(problem, intercept=False)
        reduction = reduce(problem, solver.form)
    lower, upper = optimum(problem)
    state = solver.prepare(reduction.form)
    for k, point in enumerate(solver.iterates(state)):
        certificate = certify(problem, reduction.recover(point))
        assert certificate.gap >= 0
        assert certificate.dual_objective <= upper * (1 + 1e-12)
        assert certificate.primal_objective >= lower * (1 - 1e-12)
        if k == fewer_examples.max_examples:
            break


@fewer_examples
@given(problem=problems())
def test_smos_dual_never_decreases(problem):
    values = []
    form = reduce(problem, KernelQP).form
    for limit in (1, 2, 4, 8, 16, 64, 10_000):  # the same path, cut at ever later steps
        for point in SMO(tol=1e-8, max_iter=limit).iterates(form):
            last = point.x
        linear = form.q @ last + form.eps @ np.abs(last)
        values.append(0.5 * last @ form.gram.matvec(last) + linear)
    size = max(map(abs, values))
    assert (np.diff(values) <= 1e-12 * size).all()


@fewer_examples
@given(problem=problems(), seed=st.integers(0, 2**32 - 1), scale=st.floats(0.0, 2.0))
def test_the_gap_is_0_only_at_the_optimum(problem, seed, scale):
    solution = solve(problem, SMO(tol=1e-10, gap=1e-9))
    lower, upper = solution.certificate.dual_objective, solution.certificate.primal_objective
    noise = scale * problem.C * np.random.default_rng(seed).standard_normal(problem.n)
    certificate = certify(problem, Point(project_dual(problem.risk, solution.alpha + noise)))
    size = max(abs(lower), abs(upper))
    assert certificate.gap >= 0
    assert certificate.projection_distance <= 1e-9 * (1 + np.linalg.norm(problem.C))
    # the gap is at least what the dual value is short of the optimum
    assert certificate.gap >= lower - certificate.dual_objective - 1e-9 * size
    if certificate.gap == 0:
        assert certificate.dual_objective >= lower - 1e-9 * size


@fewer_examples
@given(problem=problems(kernels=(Linear(),), regression=False))
def test_every_formulation_of_a_soft_margin_has_one_optimum(problem):
    C = float(problem.C[0])
    dual = replace(problem, C=C)
    risk = HingeERM(problem.X, problem.y, 1 / (problem.n * C), problem.intercept)
    primal = SoftMarginPrimal(problem.X, problem.y, C, problem.intercept)
    assert_equal_optima(optimum(dual), optimum(risk))
    assert_equal_optima(optimum(dual), optimum(primal))
