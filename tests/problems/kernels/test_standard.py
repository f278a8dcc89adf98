"""Kernels: closed forms, algebra, semidefiniteness, storage, accuracy and refusals."""

import numpy as np
import pytest
import scipy.sparse as sp

from problems import RBF, Linear, Polynomial, Precomputed, Sigmoid, SoftMarginDual
from problems.kernels import Scaled, Sum

rng = np.random.default_rng(0)
X, Z = rng.standard_normal((12, 3)), rng.standard_normal((7, 3))
FORMULAS = {
    "linear": (Linear(), lambda x, z: x @ z),
    "polynomial": (Polynomial(3, 0.5, 2.0), lambda x, z: (0.5 * x @ z + 2.0) ** 3),
    "homogeneous": (Polynomial(2, coef0=0.0), lambda x, z: (x @ z) ** 2),
    "rbf": (RBF(0.7), lambda x, z: np.exp(-0.7 * np.sum((x - z) ** 2))),
    "sigmoid": (Sigmoid(0.3, -0.2), lambda x, z: np.tanh(0.3 * x @ z - 0.2)),
    "sum": (Linear() + RBF(0.7), lambda x, z: x @ z + np.exp(-0.7 * np.sum((x - z) ** 2))),
    "product": (Linear() * RBF(0.7), lambda x, z: x @ z * np.exp(-0.7 * np.sum((x - z) ** 2))),
    "multiple": (3 * Linear(), lambda x, z: 3 * x @ z),
    "mixed": (2 * (Linear() + Polynomial(2)) * RBF(1.0), None),
}
KERNELS = [kernel for kernel, _ in FORMULAS.values()]


@pytest.mark.parametrize(
    ("kernel", "formula"), list(FORMULAS.values())[:-1], ids=list(FORMULAS)[:-1]
)
def test_values_are_the_formula(kernel, formula):
    expected = [[formula(x, z) for z in Z] for x in X]
    np.testing.assert_allclose(kernel(X, Z), expected, rtol=1e-12)


@pytest.mark.parametrize("kernel", KERNELS, ids=FORMULAS)
def test_diagonal_block_and_cross_agree_with_the_values(kernel):
    rows, cols = np.array([3, 0, 5]), slice(2, 9)
    np.testing.assert_allclose(kernel.diagonal(X), np.diag(kernel(X, X)), rtol=1e-12)
    np.testing.assert_allclose(
        kernel.bind(X).block(rows, cols), kernel(X, X)[rows][:, cols], rtol=1e-12
    )
    np.testing.assert_allclose(kernel.bind(X).cross(Z, rows), kernel(Z, X)[:, rows], rtol=1e-12)


@pytest.mark.parametrize("kernel", KERNELS, ids=FORMULAS)
def test_sparse_samples_give_dense_equal_values(kernel):
    sparse = np.where(np.abs(X) > 0.7, X, 0.0)
    for left in (sparse, sp.csr_array(sparse)):
        values = kernel(left, sp.csr_array(Z))
        assert isinstance(values, np.ndarray)
        np.testing.assert_allclose(values, kernel(sparse, Z), rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(kernel.diagonal(sp.csr_array(sparse)), kernel.diagonal(sparse))


@pytest.mark.parametrize("kernel", [k for k in KERNELS if k.is_psd])
def test_declared_semidefinite_kernels_have_no_negative_eigenvalue(kernel):
    values = np.linalg.eigvalsh(kernel(X, X))
    assert values[0] >= -1e-12 * values[-1]


def test_a_combination_is_semidefinite_only_if_both_parts_are():
    assert (Linear() + RBF(1.0) * Polynomial(2)).is_psd is True
    assert (Linear() + Sigmoid(1.0, 0.0)).is_psd is None
    assert (2 * (Precomputed() * Linear())).is_psd is None


@pytest.mark.parametrize("kernel", [k for k in KERNELS if k.monomials is not None])
def test_the_gram_matrix_has_the_rank_of_the_feature_map(kernel):
    line = np.linspace(-1, 1, 9)[:, None]  # in one dimension every degree is one monomial
    assert np.linalg.matrix_rank(kernel(line, line)) == len(kernel.monomials)


def test_precomputed_stands_for_any_kernel():
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


@pytest.mark.parametrize(
    ("build", "message"),
    [
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
        (lambda: Precomputed()(X, X), "between new rows; use bind"),
        (lambda: Precomputed().check(X), r"is square, got shape \(12, 3\)"),
        (
            lambda: Precomputed().check(np.triu(np.ones((3, 3)))),
            "is symmetric, but entries differ by 1",
        ),
        (
            lambda: Precomputed().bind(np.eye(12)).cross(Z, slice(None)),
            "one column for each of the 12",
        ),
        (lambda: SoftMarginDual(1e200 * X, np.ones(12), kernel=RBF(1.0)), "norms overflow float64"),
    ],
)
def test_a_bad_kernel_is_refused_by_name(build, message):
    with pytest.raises(ValueError, match=message):
        build()
