"""Kernel values in balls, against values in decimals, and what is proven of their matrices."""

import decimal
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
from flint import arb, ctx, fmpq

from problems import (
    RBF,
    Exponential,
    Fisher,
    Linear,
    Point,
    Polynomial,
    PolynomialOf,
    Precomputed,
    QuadraticForm,
    SetIntersection,
    Sigmoid,
    SoftMarginDual,
    Spectrum,
    Subset,
    WeisfeilerLehman,
    certify,
    encode_graphs,
    encode_sets,
    encode_strings,
)
from problems.certificates.proofs.balls import Unprovable
from problems.certificates.proofs.kernels import ball_gram, eigenvalue_shift
from problems.kernels import KERNELS, Kernel, kernels_in
from solvers import SMO, solve

RNG = np.random.default_rng(0)
X = RNG.standard_normal((12, 3))
Y = np.where(np.arange(12) % 3 > 0, 1.0, -1.0)
LETTERS = encode_strings(["".join(RNG.choice(list("AB"), k)) for k in range(12)])
SETS = encode_sets([set(np.flatnonzero(RNG.random(9) < 0.5).tolist()) for _ in range(12)])
GRAPHS = encode_graphs([nx.gnp_random_graph(6, 0.5, seed=k) for k in range(12)])
A = ((2.0, 1.0, 0.0), (1.0, 1.0, 0.0), (0.0, 0.0, 0.0))
CASES = {
    "linear": (Linear(), X),
    "sparse": (Polynomial(3, 0.3, 0.7), sp.csr_array(X)),
    "sigmoid": (Sigmoid(0.3, -0.1), X),
    "sum and multiple": (0.3 * RBF(0.2) + Linear() * Polynomial(2), X),
    "exponential": (Exponential(0.1 * Linear()), X),
    "polynomial of": (PolynomialOf(RBF(0.2), (0.5, 0.0, 2.0)), X),
    "subset": (Subset(RBF(0.2), (0, 2)), X),
    "quadratic form": (QuadraticForm(A), X),
    "precomputed": (Precomputed() + Precomputed(), X @ X.T),
    "fisher": (Fisher(2).fit(X), X),
    "sets": (SetIntersection(), SETS),
    "sets, normalised": (SetIntersection(normalize=True), SETS),
    "strings": (Spectrum(2), LETTERS),
    "strings, normalised": (Spectrum(1, normalize=True), LETTERS),
    "graphs": (WeisfeilerLehman(1), GRAPHS),
    "graphs, normalised": (WeisfeilerLehman(2, normalize=True), GRAPHS),
}


@pytest.mark.parametrize(("kernel", "samples"), CASES.values(), ids=CASES)
def test_balls_are_narrow_and_beside_the_float64_values(kernel, samples):
    rows, cols = np.array([0, 5, 3]), np.arange(12)
    with ctx.workprec(106):
        block = ball_gram(kernel, samples)(rows, cols)
    K = kernel.block(samples, rows, cols)
    assert (block.nrows(), block.ncols()) == K.shape
    for ball, value in zip(block.entries(), K.ravel(), strict=True):
        assert float(ball.rad()) <= 1e-25 * max(1.0, abs(value))
        assert float(ball.mid()) == pytest.approx(value, rel=1e-12, abs=1e-14)


def test_every_kernel_has_ball_arithmetic():
    known = {type(part) for kernel, _ in CASES.values() for part in kernels_in(kernel)}
    assert set(KERNELS.values()) <= known | {Fisher}  # which is fitted first


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
        (ball,) = ball_gram(kernel, samples)(np.array([0]), np.array([1])).entries()
        assert ball.overlaps(arb(fmpq(exact.numerator, exact.denominator)))


@dataclass(frozen=True)
class Cosine(Kernel):
    """cos(x − z) in one dimension."""

    def __call__(self, X, Z):
        return np.cos(X - Z.T)

    def diagonal(self, X):
        return np.ones(len(X))


def test_a_kernel_without_ball_arithmetic_is_refused_by_name():
    c = certify(SoftMarginDual(X[:, :1], Y, 1.0, Cosine()), Point(0 * Y), rigorous=True)
    assert c.reason == "not proven: Cosine has no ball arithmetic"
    assert np.isnan(c.gap)


@pytest.mark.parametrize("kernel", [QuadraticForm(A), RBF(0.2) * QuadraticForm(A)])
def test_a_singular_form_is_exactly_semidefinite(kernel):
    assert eigenvalue_shift(kernel, X) == 0.0


def test_a_form_that_is_semidefinite_but_for_rounding_is_shifted():
    root = np.array([[0.1], [0.2], [0.3]])
    form = root @ root.T
    form[2, 2] -= 2.0**-50
    kernel = QuadraticForm(tuple(map(tuple, form.tolist())))
    assert 0 < eigenvalue_shift(kernel, X) < 1e-12
    proven = certify(p := SoftMarginDual(X, Y, 1.0, kernel), solve(p, SMO(tol=1e-9)), rigorous=True)
    assert proven.relative_gap < 1e-6


def test_a_matrix_of_few_samples_is_tested_in_rationals():
    whole = np.outer([1.0, 2.0, 3.0], [1.0, 2.0, 3.0])
    assert eigenvalue_shift(Precomputed(), whole) == 0.0
    whole[0, 0] -= 2.0**-52
    assert 0 < eigenvalue_shift(Precomputed(), whole) < 1e-12
    whole[0, 0] = 0.0
    with pytest.raises(Unprovable, match="eigenvalues below 0, by more than rounding"):
        eigenvalue_shift(Precomputed(), whole)


def test_a_sigmoid_is_proven_where_its_matrix_is_semidefinite():
    samples = np.eye(3) + 0.1
    kernel = Sigmoid(0.5, 0.0)
    assert 0 <= eigenvalue_shift(kernel, samples) < 1e-12
    problem = SoftMarginDual(samples, [1.0, -1.0, 1.0], 1.0, kernel)
    assert certify(problem, solve(problem, SMO(tol=1e-9)), rigorous=True).relative_gap < 1e-6


def test_too_many_samples_for_a_test_are_refused(monkeypatch):
    monkeypatch.setattr("problems.certificates.proofs.kernels._MOST_TESTED", 11)
    with pytest.raises(Unprovable, match="12 are too many to test it"):
        eigenvalue_shift(Sigmoid(0.5, 0.0), X)
