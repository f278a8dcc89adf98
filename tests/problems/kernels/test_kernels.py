"""Kernels: closed forms, algebra, semidefiniteness by eigenvalues, feature maps, storage, refusals."""

from dataclasses import fields

import numpy as np
import pytest
import scipy.sparse as sp
from tests.problems.kernels.cases import CASES, CLOSED, MATRIX, ROOM, X, Z

from dualgap.problems import (
    RBF,
    Exponential,
    Gram,
    Kernel,
    Linear,
    Point,
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
from dualgap.problems.gram.tiles import Tiles
from dualgap.problems.kernels import KERNELS, Sum, as_dense
from dualgap.solvers import SMO, solve

Y = np.where(X[:, 0] * X[:, 1] > 0.1, 1.0, -1.0)
each = pytest.mark.parametrize("name", CASES)


@pytest.mark.parametrize(("kernel", "formula"), CLOSED.values(), ids=CLOSED)
def test_values_are_the_formula(kernel, formula):
    expected = [[float(formula(x, z)) for z in Z] for x in X]
    np.testing.assert_allclose(kernel(X, Z), expected, rtol=1e-11, atol=1e-13)


@each
def test_every_access_shows_the_same_values(name):
    kernel, samples = CASES[name]
    rows, cols = np.array([7, 1, 20]), np.arange(2, 23)
    gram, v = Gram(samples, kernel), np.random.default_rng(1).standard_normal(samples.shape[0])
    full = gram.dense()
    close = {"rtol": 1e-10, "atol": 1e-12 * np.abs(full).max()}
    kernel.check(samples)
    bound = kernel.bind(samples)
    np.testing.assert_allclose(kernel.diagonal(samples), np.diag(full), **close)
    np.testing.assert_allclose(bound.block(rows, cols), full[rows][:, cols], **close)
    np.testing.assert_allclose(bound.block(rows, slice(2, 23)), full[rows][:, cols], **close)
    np.testing.assert_allclose(gram.block(rows, cols), full[rows][:, cols], **close)
    np.testing.assert_allclose(Gram(samples, kernel).diagonal(), np.diag(full), **close)
    np.testing.assert_allclose(gram.matvec(v), full @ v, rtol=1e-9, atol=1e-9 * np.abs(full).max())
    if name == "precomputed":  # of new samples the rows of kernel values are given
        np.testing.assert_allclose(bound.cross(samples[:4], rows), full[:4][:, rows], **close)
    else:
        values = kernel(samples, samples)
        assert isinstance(values, np.ndarray)
        np.testing.assert_allclose(values, full, **close)
        np.testing.assert_allclose(bound.cross(samples[:4], rows), full[:4][:, rows], **close)
        dense = as_dense(samples)
        np.testing.assert_allclose(kernel(dense, samples), full, **close)
        np.testing.assert_allclose(kernel(dense, dense), full, **close)
    extra = ROOM.get(name.removesuffix(", normalised"))
    if extra:
        zeros = sp.csr_array((samples.shape[0], extra))
        wide = sp.csr_array(sp.hstack([sp.csr_array(samples), zeros]))
        np.testing.assert_allclose(kernel(wide, wide), full, **close)
    for dtype in (np.float32, np.float64):
        with Tiles(gram, 1) as tiles:
            block = tiles.block(rows, tiles.columns(np.arange(samples.shape[0]), dtype))
        tolerance = max(10 * np.finfo(dtype).eps, 1e-12)
        assert np.abs(block - full[rows]).max() <= tolerance * np.abs(full).max()


def test_a_kernel_that_is_declared_semidefinite_has_no_negative_eigenvalue():
    for name, (kernel, samples) in CASES.items():
        assert kernel.is_psd is (None if name.startswith(("sigmoid", "precomputed")) else True)
        if kernel.is_psd:
            values = np.linalg.eigvalsh(kernel(samples, samples))
            assert values[0] >= -1e-10 * values[-1], name


def test_a_kernel_is_the_same_as_one_with_the_same_settings():
    kernels = [kernel for kernel, _ in CASES.values()]
    again = [type(k)(*(getattr(k, f.name) for f in fields(k))) for k in kernels]
    assert again == kernels
    assert [*map(repr, again)] == [*map(repr, kernels)]
    assert [*map(hash, again)] == [*map(hash, kernels)]


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
def test_an_indefinite_kernel_is_detected_and_reported(kernel):
    problem = SoftMarginDual(X, Y, 1.0, kernel)
    assert kernel.is_psd is None
    assert np.linalg.eigvalsh(kernel(X, X))[0] < -0.1
    solution = solve(problem, SMO(), time_limit=5.0)
    assert solution.verdict == "uncertified"
    assert "the kernel is indefinite: only stationarity can be checked" in solution.reason
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


def test_matrices_and_lists_are_accepted_as_settings():
    assert QuadraticForm(np.array(MATRIX)) == QuadraticForm(MATRIX)  # type: ignore[arg-type]
    assert PolynomialOf(Linear(), [0, 1]) == PolynomialOf(Linear(), (0.0, 1.0))  # type: ignore[arg-type]
    assert Subset(Linear(), np.array([1, 2])) == Subset(Linear(), (1, 2))  # type: ignore[arg-type]


def test_a_combination_is_semidefinite_only_if_both_parts_are():
    assert (Linear() + RBF(1.0) * Polynomial(2)).is_psd is True
    assert (Linear() + Sigmoid(1.0, 0.0)).is_psd is None
    assert (2 * (Precomputed() * Linear())).is_psd is None


def test_precomputed_replaces_any_kernel():
    K, new = RBF(0.7)(X, X), RBF(0.7)(Z, X)
    kernel, rows = Precomputed(), np.array([4, 1])
    for matrix in (K, sp.csr_array(K)):
        np.testing.assert_array_equal(kernel.bind(matrix).block(rows, slice(None)), K[rows])
        np.testing.assert_array_equal(kernel.diagonal(matrix), np.diag(K))
    np.testing.assert_array_equal(kernel.bind(K).cross(new, rows), new[:, rows])


def test_numbers_of_numpy_and_of_python_name_the_same_kernel():
    assert repr(RBF(np.float64(0.5))) == repr(RBF(0.5))
    assert repr(Polynomial(np.int64(2), np.float32(1))) == repr(Polynomial(2))
    assert repr(np.float64(2.0) * Linear()) == repr(2 * Linear())


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
        (lambda: PolynomialOf(Linear(), (0, 0)), "coefficients: one must be positive"),
        (lambda: PolynomialOf(Linear(), ()), "coefficients: one must be positive"),
        (lambda: PolynomialOf(Linear(), 3), "coefficients: must be a list of numbers, got 3"),
        (lambda: Subset(Linear(), ()), "features: must be one or more distinct column numbers"),
        (lambda: Subset(Linear(), (1, 1)), "features: must be one or more distinct column numbers"),
        (lambda: Subset(Linear(), (-1,)), "features: must be a whole number of 0 or more, got -1"),
        (lambda: Subset(Linear(), 2), "features: must be a list of column numbers, got 2"),
        (
            lambda: _problem(Subset(Linear(), (4,))),
            "features: column 4 does not exist; X has",
        ),
        (lambda: QuadraticForm(((1, 2), (3, 4))), "matrix: must be square and symmetric"),
        (lambda: QuadraticForm(((1, 2, 3), (2, 3, 4))), "matrix: must be square and symmetric"),
        (
            lambda: QuadraticForm(((1, 2), (2, 1))),
            "its smallest eigenvalue is -1",
        ),
        (lambda: QuadraticForm(((1, np.nan), (np.nan, 1))), "matrix: has 2 NaN"),
        (lambda: QuadraticForm(((1, 2), (3,))), "matrix: rows of unequal length"),
        (
            lambda: _problem(QuadraticForm(((1, 0), (0, 1)))),
            "matrix: has 2 rows, but X has 4 features",
        ),
        (lambda: _problem(Exponential(Scaled(Linear(), 1e4))), "kernel values overflow float64"),
        (lambda: _problem(Exponential(Precomputed())), "X: a precomputed kernel must be square"),
        (lambda: Scaled(Linear(), -2), "factor: must be a finite number above 0, got -2"),
        (lambda: RBF(0.0), "gamma: must be a finite number above 0"),
        (lambda: RBF(float("nan")), "gamma: .* got nan"),
        (lambda: RBF("wide"), "gamma: .* got 'wide'"),
        (lambda: Polynomial(0), "degree: must be a whole number of 1 or more, got 0"),
        (lambda: Polynomial(1.5), "degree: must be a whole number"),
        (lambda: Polynomial(None), "degree: must be a whole number of 1 or more, got None"),
        (lambda: Polynomial(2, gamma=-1.0), "gamma: must be a finite number above 0"),
        (lambda: Polynomial(2, coef0=-1.0), "coef0: must be a finite number, 0 or above"),
        (lambda: Sigmoid(float("inf"), 0.0), "gamma: must be a finite number"),
        (lambda: Sigmoid(1.0, "a"), "coef0: must be a finite number, got 'a'"),
        (lambda: Sum(Linear(), 1), "right: must be a kernel"),
        (lambda: Linear() + 1, "right: must be a kernel, got 1"),
        (lambda: Scaled("rbf", 1.0), "kernel: must be a kernel"),
        (lambda: -1 * Linear(), "factor: must be a finite number above 0, got -1"),
        (lambda: Precomputed()(X, X), "cannot be evaluated on rows; use bind"),
        (lambda: Precomputed().check(X), r"must be square, got shape \(40, 4\)"),
        (
            lambda: Precomputed().check(np.triu(np.ones((3, 3)))),
            "must be symmetric, but entries differ by 1",
        ),
        (
            lambda: Precomputed().bind(np.eye(12)).cross(Z, slice(None)),
            "one column for each of the 12",
        ),
        (lambda: SoftMarginDual(1e200 * X, Y, kernel=RBF(1.0)), "norms overflow float64"),
    ],
)
def test_a_bad_setting_is_refused_by_name(build, message):
    with pytest.raises(ValueError, match=message):
        build()


def test_a_kernel_class_that_is_not_a_dataclass_names_the_missing_decorator():
    class Plain(Linear):
        pass

    class Cauchy(Kernel):
        def __call__(self, X, Z):
            return 1.0 + X @ Z.T

        def diagonal(self, X):
            return 1.0 + (X**2).sum(axis=1)

    assert SoftMarginDual(X, Y, kernel=Plain()).kernel == Plain()
    for kernel in (Cauchy(), 2.0 * Cauchy()):
        with pytest.raises(
            TypeError, match=r"Cauchy is not a dataclass; write @dataclass\(frozen=True\)"
        ):
            SoftMarginDual(X, Y, kernel=kernel)


@pytest.mark.parametrize("name", ["exponential", "polynomial of", "nested"])
def test_a_problem_with_a_nested_kernel_is_solved_to_a_certificate(name):
    assert solve(SoftMarginDual(X, Y, 1.0, CASES[name][0]), SMO(tol=1e-8)).verdict == "solved"


def test_a_form_with_an_eigenvalue_below_0_is_not_declared_semidefinite():
    """Large samples make of it one of K: these bounds contradicted each other."""
    kernel = QuadraticForm(((1.0, 0.0), (0.0, -4e-15)))
    assert kernel.is_psd is None
    assert QuadraticForm(((1.0, 1.0), (1.0, 1.0))).is_psd
    problem = SoftMarginDual([[0.0, 1e8], [0.0, -1e8]], [1.0, -1.0], 1.0, kernel)
    low, high = (certify(problem, Point(alpha=np.full(2, value))).bounds for value in (1.0, 0.0))
    assert not low.lower > high.upper
