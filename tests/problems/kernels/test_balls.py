"""Kernel values in balls, against values in decimals, and what is proven of their matrices."""

import decimal
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from flint import arb, ctx, fmpq
from scipy.spatial.distance import cdist
from tests.problems.kernels.cases import CASES
from tests.shown import in_tutorial

from dualgap.problems import (
    RBF,
    Exponential,
    Fisher,
    Linear,
    Point,
    PolynomialOf,
    Precomputed,
    QuadraticForm,
    Sigmoid,
    SoftMarginDual,
    certify,
)
from dualgap.problems.arithmetic.balls import Balls, Unprovable
from dualgap.problems.gram import semidefinite
from dualgap.problems.gram.gram import Gram
from dualgap.problems.gram.semidefinite import psd_shift
from dualgap.problems.gram.tuning import GramTuning
from dualgap.problems.kernels import KERNELS, Kernel, as_dense, kernels_in
from dualgap.solvers import SMO, solve

RNG = np.random.default_rng(0)
X = RNG.standard_normal((12, 3))
Y = np.where(np.arange(12) % 3 > 0, 1.0, -1.0)
A = ((2.0, 1.0, 0.0), (1.0, 1.0, 0.0), (0.0, 0.0, 0.0))


@pytest.mark.parametrize(("kernel", "samples"), CASES.values(), ids=CASES)
def test_balls_are_narrow_and_close_to_the_float64_values(kernel, samples):
    rows, cols = np.array([0, 5, 3]), np.arange(12)
    with ctx.workprec(106):
        block = kernel.balls(samples, rows, cols).matrix()
    K = kernel.bind(samples).block(rows, cols)
    assert (block.nrows(), block.ncols()) == K.shape
    for ball, value in zip(block.entries(), K.ravel(), strict=True):
        assert float(ball.rad()) <= 1e-25 * max(1.0, abs(value))
        assert float(ball.mid()) == pytest.approx(value, rel=1e-12, abs=1e-14)


@pytest.mark.parametrize("offset", [0.0, 3.0, 1e5])
@pytest.mark.parametrize(("kernel", "samples"), CASES.values(), ids=CASES)
def test_values_are_within_the_errors_of_the_operations_stated(kernel, samples, offset):
    if offset and not isinstance(samples, np.ndarray):
        return  # sets, strings and graphs have no origin
    if samples.shape[0] != samples.shape[1]:
        samples = samples + offset
    every = np.arange(samples.shape[0])
    with np.errstate(over="ignore"), ctx.workprec(200):
        K, radius = kernel.bind(samples).block(every, every), Gram(samples, kernel).radius()
        exact = kernel.balls(samples, every, every).mid
        finite = np.isfinite(K) & np.isfinite(exact)
        errors = np.abs(np.where(finite, K, 0.0) - np.where(finite, exact, 0.0))
        assert (errors <= np.outer(radius, radius)).all()


def test_every_kernel_has_ball_arithmetic():
    kernel_types = {type(part) for kernel, _ in CASES.values() for part in kernels_in(kernel)}
    assert set(KERNELS.values()) <= kernel_types | {Fisher}  # which is fitted first


@pytest.mark.parametrize(
    ("kernel", "value"),
    [
        (RBF(0.5), lambda g, n: (-n / 2).exp()),
        (Exponential(Linear()), lambda g, n: g.exp()),
        (Sigmoid(0.5, 0.25), lambda g, n: 1 - 2 / ((g + Decimal("0.5")).exp() + 1)),
        (PolynomialOf(Linear(), (0.25, 0, 0.5)), lambda g, n: Decimal("0.25") + g * g / 2),
    ],
)
@pytest.mark.parametrize("offset", [0.0, 300.0])
def test_the_exact_value_is_inside(kernel, value, offset):
    samples = X[:2] * 1e-3 + offset
    with decimal.localcontext(prec=60), ctx.workprec(106):
        x, z = ([Decimal(v) for v in row] for row in samples.tolist())
        inner = sum(u * v for u, v in zip(x, z, strict=True))
        far = sum((u - v) ** 2 for u, v in zip(x, z, strict=True))
        exact = Fraction(value(inner, far))
        ball = kernel.balls(samples, np.array([0]), np.array([1])).item()
        assert ball.overlaps(arb(fmpq(exact.numerator, exact.denominator)))


def from_outside(values):
    """A kernel that states its values and its diagonal, and nothing else."""

    @dataclass(frozen=True)
    class Outside(Kernel):
        width: float = 0.5

        def __call__(self, X, Z):
            return values(self, X, Z)

        def diagonal(self, X):
            return np.ones(X.shape[0])

    return Outside()


def squared_distances(X, Z):
    return ((X[:, None, :] - Z) ** 2).sum(axis=2)


@pytest.mark.parametrize("samples", [X, sp.csr_array(np.where(np.abs(X) > 0.5, X, 0.0))])
@pytest.mark.parametrize(
    "values",
    [
        lambda k, X, Z: 1 / (1 + k.width * squared_distances(X, Z)),
        lambda k, X, Z: np.exp(-k.width * np.sqrt(squared_distances(X, Z))),
        lambda k, X, Z: np.cos(X - Z[:, 0]) if X.shape[1] == 1 else np.exp(X @ Z.T / 8)[:, :],
        lambda k, X, Z: np.einsum("ij,kj->ik", X, Z) + np.maximum(X[:, :1], -9.0) @ Z[:, :1].T / 2,
    ],
    ids=["Cauchy", "Laplace", "exponential", "linear"],
)
def test_a_plug_in_kernel_of_two_methods_is_proven(values, samples):
    kernel = from_outside(lambda k, *XZ: values(k, *(as_dense(M) for M in XZ)))
    problem = SoftMarginDual(samples, Y, 1.0, kernel)
    solution = solve(problem, SMO(tol=1e-9))
    proven, estimated = (certify(problem, solution, rigorous=r) for r in (True, False))
    assert proven.bound_source.startswith("proven")
    assert estimated.dual_objective <= proven.dual_objective <= proven.primal_objective
    assert proven.primal_objective <= estimated.primal_objective
    assert proven.relative_gap < 1e-6


def test_the_kernel_of_the_tutorial_is_proven():
    namespace = {"__name__": "cauchy"}
    exec(in_tutorial("add_a_problem", "cauchy.py"), namespace)
    kernel: Kernel = namespace["Cauchy"](2.0)  # type: ignore[operator]
    far, every = X + 1e6, np.arange(12)
    values, radius = kernel.bind(far).block(every, every), Gram(far, kernel).radius()
    with ctx.workprec(200):
        exact = kernel.balls(far, every, every).mid
    assert (np.abs(values - exact) <= np.outer(radius, radius)).all()
    for combined in (kernel, 0.5 * kernel + Linear() * kernel):
        problem = SoftMarginDual(X, Y, 1.0, combined)
        assert certify(problem, solve(problem), rigorous=True).bound_source == "proven: alpha"


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        (lambda k, X, Z: cdist(X, Z), "the array of balls is converted to float64"),
        (lambda k, X, Z: 1.0 * (X @ Z.T > 1), "numpy.greater has no ball arithmetic"),
        (lambda k, X, Z: np.linalg.norm(X[:, None] - Z, axis=2), "numpy.norm has no ball"),
        (lambda k, X, Z: np.add.outer(X[:, 0], Z[:, 0]), "numpy.add has no ball arithmetic"),
        (lambda k, X, Z: np.exp(X @ Z.T, out=np.ones((12, 12))), "written to a float64 array"),
        (lambda k, X, Z: np.ones((X.shape[0], Z.shape[0])), "its values are not an array of balls"),
        (lambda k, X, Z: X @ Z.T * np.longdouble(0.1), "float128 numbers have no ball arithmetic"),
        (lambda k, X, Z: X.dot(Z.T), "'Balls' object has no attribute 'dot'"),
        (lambda k, X, Z: float(X[0, 0]) * (X @ Z.T), "must be a string or a real number"),
    ],
)
def test_kernel_values_that_balls_cannot_enclose_are_refused(values, reason):
    with pytest.raises(Unprovable, match=f"Outside has no ball arithmetic: .*{reason}"):
        from_outside(values).balls(X, np.arange(12), np.arange(12))


def test_a_kernel_without_ball_arithmetic_is_refused_by_name():
    kernel = from_outside(lambda k, X, Z: np.exp(-cdist(X, Z)))
    c = certify(SoftMarginDual(X, Y, 1.0, kernel), Point(np.full(12, 0.1)), rigorous=True)
    reason = "Outside has no ball arithmetic: the array of balls is converted to float64"
    assert c.reason.endswith(reason)
    assert np.isnan(c.gap)


@pytest.mark.parametrize(
    ("function", "low", "high"),
    [
        (np.sqrt, 0.0, 1.5),
        (np.abs, 0.0, 2.0),
        (np.square, 0.0, 4.0),
        (lambda v: v**2, 0.0, 4.0),
        (np.exp2, 0.25, 4.0),
        (np.arctan, -1.10, 1.10),
        (lambda v: np.maximum(v, 0.5), 0.5, 2.0),
        (lambda v: np.minimum.reduce(np.hstack([v, v + 1]), axis=0), -2.0, 2.0),
        (lambda v: np.power(v, 3) - v.sum() / 2 + 1 // 1, -8.0, 10.0),
    ],
)
def test_functions_of_a_wide_ball_contain_both_ends(function, low, high):
    result = function(Balls([arb(0, 2)])).reshape(-1).entries[0]
    assert result.contains(low)
    assert result.contains(high) or function is np.sqrt
    assert result.upper() < 2 * abs(high) + 9


@pytest.mark.parametrize("kernel", [QuadraticForm(A), RBF(0.2) * QuadraticForm(A)])
def test_a_singular_form_is_exactly_semidefinite(kernel):
    assert psd_shift(Gram(X, kernel), proven=True) == 0.0


def test_a_form_that_is_semidefinite_up_to_rounding_is_shifted():
    root = np.array([[0.1], [0.2], [0.3]])
    form = root @ root.T
    form[2, 2] -= 2.0**-50
    kernel = QuadraticForm(tuple(map(tuple, form.tolist())))
    assert 0 < psd_shift(Gram(X, kernel), proven=True) < 1e-12
    proven = certify(p := SoftMarginDual(X, Y, 1.0, kernel), solve(p, SMO(tol=1e-9)), rigorous=True)
    assert proven.relative_gap < 1e-6


def test_a_small_matrix_is_tested_in_rational_arithmetic():
    rank_one = np.outer([1.0, 2.0, 3.0], [1.0, 2.0, 3.0])
    assert psd_shift(Gram(rank_one, Precomputed()), proven=True) == 0.0
    rank_one[0, 0] -= 2.0**-52
    assert 0 < psd_shift(Gram(rank_one, Precomputed()), proven=True) < 1e-12
    rank_one[0, 0] = 0.0
    with pytest.raises(Unprovable, match="negative eigenvalues, by more than rounding"):
        psd_shift(Gram(rank_one, Precomputed()), proven=True)


def test_a_sigmoid_is_proven_if_its_matrix_is_semidefinite():
    samples = np.eye(3) + 0.1
    kernel = Sigmoid(0.5, 0.0)
    assert 0 <= psd_shift(Gram(samples, kernel), proven=True) < 1e-12
    problem = SoftMarginDual(samples, [1.0, -1.0, 1.0], 1.0, kernel)
    assert certify(problem, solve(problem, SMO(tol=1e-9)), rigorous=True).relative_gap < 1e-6


def test_the_semidefiniteness_test_refuses_more_than_its_maximum_of_samples(monkeypatch):
    monkeypatch.setattr(semidefinite, "TUNING", GramTuning(max_ball_rows=11))
    with pytest.raises(Unprovable, match="12 samples are too many to test it"):
        psd_shift(Gram(X, Sigmoid(0.5, 0.0)), proven=True)


@pytest.mark.parametrize("make", [lambda s: PolynomialOf(s, (1.0, 0.0, 0.0, 1.0)), lambda s: s * s])
def test_errors_of_a_combined_indefinite_kernel_are_within_its_radius(make):
    """Its diagonal is 0, and no measure of what is beside it."""
    rows = np.array([[1e5 / 3, 0.5], [1e5 / 3, -0.5]])
    inside = Sigmoid(1.0, -float(rows[0] @ rows[0]))
    kernel, both = make(inside), np.arange(2)
    radius, values = Gram(rows, kernel).radius(), kernel.bind(rows).block(both, both)
    with ctx.workprec(200):
        exact = kernel.balls(rows, both, both).mid
    assert (np.abs(values - exact) <= np.outer(radius, radius)).all()


def test_a_large_form_is_proven_without_rationals(monkeypatch):
    monkeypatch.setattr("dualgap.problems.gram.semidefinite.is_semidefinite", None)  # takes hours
    kernel = QuadraticForm(2.0 * np.eye(150))
    samples = np.random.default_rng(0).standard_normal((20, 150))
    assert psd_shift(Gram(samples, kernel), proven=True) == 0.0
