"""Kernels made of kernels: closed forms, semidefiniteness by eigenvalues, feature maps, refusals."""

from dataclasses import fields

import numpy as np
import pytest
import scipy.sparse as sp

from problems import (
    RBF,
    Exponential,
    Fisher,
    Gram,
    Kernel,
    Linear,
    Polynomial,
    PolynomialOf,
    Precomputed,
    QuadraticForm,
    Scaled,
    SetIntersection,
    Sigmoid,
    SoftMarginDual,
    Subset,
    certify,
)
from problems.gram.tiles import Tiles
from problems.kernels import KERNELS, kernels_in
from solvers import SMO, CvxoptQP, ProjectedGradient, solve

rng = np.random.default_rng(0)
X, Z = rng.standard_normal((40, 4)), rng.standard_normal((9, 4))
Y = np.where(X[:, 0] * X[:, 1] > 0.1, 1.0, -1.0)
ROOT = rng.standard_normal((4, 3))
A = ROOT @ ROOT.T  # of rank 3
MATRIX = tuple(map(tuple, ((A + A.T) / 2).tolist()))
FISHER = Fisher(3).fit(X)
FORMULAS = {
    "sum": (Linear() + RBF(0.7), lambda x, z: x @ z + np.exp(-0.7 * np.sum((x - z) ** 2))),
    "product": (
        Polynomial(2) * RBF(0.7),
        lambda x, z: (x @ z + 1) ** 2 * RBF(0.7)(x[None], z[None]),
    ),
    "multiple": (0.3 * RBF(0.7), lambda x, z: 0.3 * np.exp(-0.7 * np.sum((x - z) ** 2))),
    "subset": (Subset(RBF(1.0), (2, 0)), lambda x, z: np.exp(-np.sum((x - z)[[0, 2]] ** 2))),
    "sum of two subsets": (
        Subset(Linear(), (0, 1)) + Subset(Polynomial(2), (1, 3)),
        lambda x, z: x[:2] @ z[:2] + (x[[1, 3]] @ z[[1, 3]] + 1) ** 2,
    ),
    "product of two subsets": (
        Subset(Linear(), (0, 1)) * Subset(RBF(0.2), (3,)),
        lambda x, z: x[:2] @ z[:2] * np.exp(-0.2 * (x[3] - z[3]) ** 2),
    ),
    "exponential": (Exponential(0.3 * Linear()), lambda x, z: np.exp(0.3 * x @ z)),
    "quadratic form": (QuadraticForm(MATRIX), lambda x, z: (ROOT.T @ x) @ (ROOT.T @ z)),
    "polynomial of": (
        PolynomialOf(RBF(0.5), (0.5, 0.0, 2.0, 1.0)),
        lambda x, z: 0.5 + 2 * (k := np.exp(-0.5 * np.sum((x - z) ** 2))) ** 2 + k**3,
    ),
    "nested": (
        Exponential(PolynomialOf(Subset(QuadraticForm(((2, 1), (1, 2))), (1, 2)), (0.1, 0.2))),
        lambda x, z: np.exp(0.1 + 0.2 * x[1:3] @ np.array([[2, 1], [1, 2]]) @ z[1:3]),
    ),
    "fisher": (FISHER, None),
    "sum with fisher": (FISHER + Linear(), None),
}
CLOSED = {name: pair for name, pair in FORMULAS.items() if pair[1] is not None}


def kernels() -> list:
    return [pytest.param(kernel, id=name) for name, (kernel, _) in FORMULAS.items()]


@pytest.mark.parametrize(("kernel", "formula"), CLOSED.values(), ids=CLOSED)
def test_values_are_the_formula(kernel, formula):
    expected = [[float(np.squeeze(formula(x, z))) for z in Z] for x in X]
    np.testing.assert_allclose(kernel(X, Z), expected, rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("kernel", kernels())
def test_every_closure_is_semidefinite_by_its_eigenvalues(kernel):
    for samples in (X, 100 * X[:5] if kernel.monomials else X[:5], np.vstack([X, X])):
        values = np.linalg.eigvalsh(kernel(samples, samples))
        assert values[0] >= -1e-10 * values[-1]
    assert kernel.is_psd is True


@pytest.mark.parametrize("kernel", kernels())
def test_every_access_shows_the_same_values(kernel):
    rows, cols = np.array([3, 0, 25]), np.arange(2, 9)
    full = kernel(X, X)
    close = {"rtol": 1e-10, "atol": 1e-12}
    np.testing.assert_allclose(kernel.diagonal(X), np.diag(full), **close)
    np.testing.assert_allclose(kernel.bind(X).block(rows, cols), full[rows][:, cols], **close)
    np.testing.assert_allclose(kernel.bind(X).block(rows, cols), full[rows][:, cols], **close)
    np.testing.assert_allclose(kernel.bind(X).cross(Z, rows), kernel(Z, X)[:, rows], **close)
    thin = np.where(np.abs(X) > 0.7, X, 0.0)
    np.testing.assert_allclose(
        kernel(sp.csr_array(thin), sp.csr_array(Z)), kernel(thin, Z), **close
    )
    np.testing.assert_allclose(kernel.diagonal(sp.csr_array(thin)), kernel.diagonal(thin), **close)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kernel", kernels())
def test_tiles_and_products_are_those_of_the_gram_matrix(kernel, dtype):
    gram, rows, v = Gram(X, kernel), np.array([7, 1, 30]), rng.standard_normal(40)
    full = kernel(X, X)
    np.testing.assert_allclose(gram.matvec(v), full @ v, rtol=1e-9, atol=1e-9)
    with Tiles(gram, 1) as tiles:
        block = tiles.block(rows, tiles.columns(np.arange(40), dtype))
    tolerance = 10 * np.finfo(dtype).eps
    assert np.abs(block - full[rows]).max() <= max(tolerance, 1e-12) * np.abs(full).max()


@pytest.mark.parametrize("kernel", kernels())
def test_solvers_of_three_kinds_agree_within_their_certificates(kernel):
    problem = SoftMarginDual(X, Y, 1.0, kernel)
    solvers = (SMO(tol=1e-8), ProjectedGradient(tol=1e-7), CvxoptQP())
    solutions = [solve(problem, solver, time_limit=20.0) for solver in solvers]
    certificates = [s.certificate for s in solutions]
    assert {s.verdict for s in solutions} == {"solved"}
    lower = max(c.dual_objective for c in certificates)
    upper = min(c.primal_objective for c in certificates)
    assert lower <= upper * (1 + 1e-12)
    assert np.isfinite(solutions[0].decision_function(Z)).all()


def test_the_squared_inner_product_has_the_feature_map_of_the_textbook():
    phi = [[a * a, np.sqrt(2) * a * b, b * b] for a, b in X[:, :2]]
    square = PolynomialOf(Linear(), (0, 0, 1))
    np.testing.assert_allclose(Subset(square, (0, 1))(X, X), np.dot(phi, np.transpose(phi)))
    np.testing.assert_allclose(square(X, Z), Polynomial(2, coef0=0.0)(X, Z))


def test_the_inhomogeneous_square_has_its_feature_map():
    a, b = X[:, 0], X[:, 1]
    r = np.sqrt(2)
    phi = np.column_stack([np.ones(40), r * a, r * b, a * a, r * a * b, b * b])
    np.testing.assert_allclose(Polynomial(2)(X[:, :2], X[:, :2]), phi @ phi.T)
    expanded = PolynomialOf(Linear(), (1, 2, 1))
    np.testing.assert_allclose(expanded(X, Z), Polynomial(2)(X, Z))


def test_the_features_of_a_product_are_all_products_of_features():
    left, right = X[:, :2], X[:, 2:]
    phi = np.einsum("ni,nj->nij", left, right).reshape(40, -1)
    kernel = Subset(Linear(), (0, 1)) * Subset(Linear(), (2, 3))
    np.testing.assert_allclose(kernel(X, X), phi @ phi.T)


def test_a_normalised_exponential_of_inner_products_is_the_gaussian_kernel():
    gamma = 0.3
    values = Exponential(2 * gamma * Linear())
    scale = np.sqrt(np.outer(values.diagonal(X), values.diagonal(Z)))
    np.testing.assert_allclose(values(X, Z) / scale, RBF(gamma)(X, Z), rtol=1e-12)


def test_a_quadratic_form_is_linear_on_transformed_samples():
    problem = SoftMarginDual(X, Y, 1.0, QuadraticForm(MATRIX))
    other = SoftMarginDual(X @ ROOT, Y, 1.0)
    values = [solve(p, SMO(tol=1e-10)).certificate.dual_objective for p in (problem, other)]
    assert values[0] == pytest.approx(values[1], rel=1e-8)


@pytest.mark.parametrize(
    ("kernel", "degrees"),
    [
        (Linear(), {1}),
        (Polynomial(3), {0, 1, 2, 3}),
        (Linear() + 5 * Polynomial(3, coef0=0.0), {1, 3}),
        (Polynomial(2) * Linear(), {1, 2, 3}),
        (Linear() * RBF(1.0), None),
        (QuadraticForm(MATRIX), {1}),
        (Subset(Polynomial(2), (0,)), {0, 1, 2}),
        (PolynomialOf(Linear(), (0, 0, 3)), {2}),
        (PolynomialOf(Polynomial(2, coef0=0.0), (1, 0, 3)), {0, 4}),
        (PolynomialOf(RBF(1.0), (1, 1)), None),
        (Exponential(Linear()), None),
        (SetIntersection(), None),
    ],
    ids=str,
)
def test_the_monomials_of_a_finite_feature_map(kernel, degrees):
    assert kernel.monomials == degrees


@pytest.mark.parametrize(
    "kernel",
    [
        Sigmoid(1.0, -1.0),
        Sigmoid(1.0, -1.0) + 0.01 * Linear(),
        Subset(Sigmoid(1.0, -1.0), (0, 1)),
        2 * Sigmoid(1.0, -1.0),
    ],
    ids=str,
)
def test_an_indefinite_kernel_is_detected_and_said(kernel):
    problem = SoftMarginDual(X, Y, 1.0, kernel)
    assert kernel.is_psd is None
    assert np.linalg.eigvalsh(kernel(X, X))[0] < -0.1
    solution = solve(problem, SMO(), time_limit=5.0)
    assert solution.verdict == "uncertified"
    assert "indefinite kernel, stationarity only" in solution.reason
    assert np.isnan(certify(problem, solution).gap)


def test_a_sigmoid_whose_matrix_is_semidefinite_is_certified():
    near_linear = Sigmoid(1e-9, 0.0)
    assert np.linalg.eigvalsh(near_linear(X, X))[0] >= -1e-16
    assert solve(SoftMarginDual(X, Y, 1e9, near_linear), SMO(tol=1e-6)).verdict == "solved"


def test_every_kernel_has_a_name_a_source_and_a_description():
    assert set(KERNELS) >= {"rbf", "set_intersection", "weisfeiler_lehman", "quadratic_form"}
    for name, cls in KERNELS.items():
        assert cls.name == name
        assert cls.source
        assert cls.__doc__
        assert not cls.__doc__.startswith(cls.__name__ + "(")


@pytest.mark.parametrize("kernel", kernels())
def test_a_kernel_is_the_same_as_one_with_the_same_settings(kernel):
    again = type(kernel)(*(getattr(kernel, f.name) for f in fields(kernel)))
    assert repr(again) == repr(kernel)
    assert again == kernel
    assert hash(again) == hash(kernel)


def test_matrices_and_lists_are_accepted_as_settings():
    assert QuadraticForm(np.array(MATRIX)) == QuadraticForm(MATRIX)  # type: ignore[arg-type]
    assert PolynomialOf(Linear(), [0, 1]) == PolynomialOf(Linear(), (0.0, 1.0))  # type: ignore[arg-type]
    assert Subset(Linear(), np.array([1, 2])) == Subset(Linear(), (1, 2))  # type: ignore[arg-type]


def _problem(kernel: Kernel) -> SoftMarginDual:
    return SoftMarginDual(X, Y, 1.0, kernel)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Exponential(2.0), "kernel: must be a kernel, got 2.0"),
        (
            lambda: PolynomialOf(Linear(), (1, -1)),
            "coefficients: must be a finite number, 0 or above",
        ),
        (lambda: PolynomialOf(Linear(), (0, 0)), "coefficients: needs one above 0"),
        (lambda: PolynomialOf(Linear(), ()), "coefficients: needs one above 0"),
        (lambda: PolynomialOf(Linear(), 3), "coefficients: must be a list of numbers, got 3"),
        (lambda: Subset(Linear(), ()), "features: must be different column numbers, at least one"),
        (lambda: Subset(Linear(), (1, 1)), "features: must be different column numbers"),
        (lambda: Subset(Linear(), (-1,)), "features: must be a whole number of 0 or more, got -1"),
        (lambda: Subset(Linear(), 2), "features: must be a list of column numbers, got 2"),
        (
            lambda: _problem(Subset(Linear(), (4,))),
            "features: column 4 is not there, X has",
        ),
        (lambda: QuadraticForm(((1, 2), (3, 4))), "matrix: must be square and symmetric"),
        (lambda: QuadraticForm(((1, 2, 3), (2, 3, 4))), "matrix: must be square and symmetric"),
        (
            lambda: QuadraticForm(((1, 2), (2, 1))),
            "its smallest eigenvalue is -1",
        ),
        (lambda: QuadraticForm(((1, np.nan), (np.nan, 1))), "matrix: has 2 NaN"),
        (
            lambda: _problem(QuadraticForm(((1, 0), (0, 1)))),
            "matrix: has 2 rows, but X has 4 features",
        ),
        (lambda: _problem(Exponential(Scaled(Linear(), 1e4))), "kernel values overflow float64"),
        (lambda: _problem(Exponential(Precomputed())), "X: a precomputed kernel is square"),
        (lambda: Scaled(Linear(), -2), "factor: must be a finite number above 0, got -2"),
    ],
)
def test_a_bad_setting_is_refused_by_name(build, message):
    with pytest.raises(ValueError, match=message):
        build()


def test_a_kernel_class_that_is_not_a_dataclass_is_told_what_to_write():
    class Plain(Linear):
        pass

    class Cauchy(Kernel):
        __call__ = diagonal = None

    assert list(kernels_in(Plain())) == [Plain()]
    with pytest.raises(
        TypeError, match=r"Cauchy is not a dataclass; write @dataclass\(frozen=True\)"
    ):
        list(kernels_in(Cauchy()))
