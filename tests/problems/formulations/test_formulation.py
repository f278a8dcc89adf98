"""Formulations: what they refuse, that they never change, and what names them."""

from dataclasses import FrozenInstanceError, dataclass, replace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from dualgap.problems import (
    RBF,
    Formulation,
    HardMarginDual,
    HardMarginPrimal,
    Hinge,
    HingeERM,
    Linear,
    Polynomial,
    Precomputed,
    QuadraticForm,
    Risk,
    Sigmoid,
    SoftMarginDual,
    SoftMarginPrimal,
    SVRDual,
    SVRPrimal,
)
from dualgap.problems.problem import replace_fields

rng = np.random.default_rng(0)
X = rng.standard_normal((10, 2))
Y = np.where(np.arange(10) % 2 == 0, 1.0, -1.0)
T = rng.standard_normal(10)
BUILD = {
    "hard primal": HardMarginPrimal,
    "hard dual": lambda X, y: HardMarginDual(X, y, RBF(1.0)),
    "soft primal": lambda X, y: SoftMarginPrimal(X, y, np.arange(1.0, 11.0)),
    "soft dual": lambda X, y: SoftMarginDual(X, y, 2.0, RBF(1.0)),
    "risk": lambda X, y: HingeERM(X, y, 0.1),
    "regression primal": lambda X, y: SVRPrimal(X, y, 1.0, 0.1),
    "regression dual": lambda X, y: SVRDual(X, y, 1.0, 0.1, RBF(1.0)),
}
BAD_X, BAD_Y = X.copy(), T.copy()
BAD_X[3, 1], BAD_Y[2] = np.nan, np.inf
each = pytest.mark.parametrize("build", BUILD.values(), ids=BUILD)


@each
@pytest.mark.parametrize(
    ("samples", "message"),
    [
        (X[:, 0], r"X: expected a matrix of shape \(n, d\), got 1 dim.*reshape"),
        (BAD_X, r"X: has 1 NaN or infinite entries, the first at \(3, 1\)"),
        (np.where(X > 1, np.inf, X), "X: has .* NaN or infinite entries"),
        (np.empty((0, 2)), "X: is empty"),
        (np.empty((10, 0)), "X: is empty"),
        (np.full((10, 2), "a"), "X: expected real numbers"),
        (X + 1j, "X: expected real numbers, got complex128"),
        (sp.csr_array(BAD_X), "X: has 1 NaN"),
        (sp.csr_array((10, 0)), "X: needs at least one sample and one feature"),
    ],
    ids=[
        "vector",
        "nan",
        "inf",
        "no sample",
        "no feature",
        "strings",
        "complex",
        "sparse nan",
        "d=0",
    ],
)
def test_bad_samples_are_refused(build, samples, message):
    with pytest.raises(ValueError, match=message):
        build(samples, Y)


@each
@pytest.mark.parametrize(
    ("y", "message"),
    [
        (Y[:-1], "y: has 9 entries for 10 samples"),
        (Y[:, None], r"y: expected a vector of shape \(n,\), got shape \(10, 1\); use y.ravel"),
        (BAD_Y, "y: has 1 NaN or infinite entries"),
        (np.array(["yes"] * 10), "y: expected real numbers"),
        ([], "y: is empty"),
    ],
    ids=["short", "column", "inf", "strings", "empty"],
)
def test_bad_labels_or_targets_are_refused(build, y, message):
    with pytest.raises(ValueError, match=message):
        build(X, y)


@pytest.mark.parametrize("build", list(BUILD.values())[:5], ids=list(BUILD)[:5])
@pytest.mark.parametrize(("y", "text"), [((Y + 1) / 2, "{0, 1}"), (Y * 2, "{-2, 2}"), (T, "...")])
def test_labels_other_than_minus_one_and_one_are_refused(build, y, text):
    with pytest.raises(ValueError, match="y: labels must be -1 and \\+1, got") as error:
        build(X, y)
    assert text in str(error.value)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: SoftMarginDual(X, Y, 0), "C: must be a finite number above 0, got 0"),
        (lambda: SoftMarginDual(X, Y, -1.0), "C: must be a finite number above 0, got -1.0"),
        (lambda: SoftMarginPrimal(X, Y, np.nan), "C: .* got nan"),
        (lambda: SoftMarginPrimal(X, Y, np.inf), "C: .* got inf"),
        (lambda: SoftMarginDual(X, Y, "1e"), "C: .* got '1e'"),
        (lambda: SoftMarginDual(X, Y, None), "C: .* got None"),
        (lambda: SoftMarginDual(X, Y, np.ones(9)), "C: has 9 entries for 10 samples"),
        (lambda: SoftMarginDual(X, Y, np.ones((10, 1))), "C: expected a vector"),
        (
            lambda: SoftMarginDual(X, Y, np.arange(10.0)),
            "C: every weight must be a number from 1e-150 to .*, got 0",
        ),
        (lambda: HingeERM(X, Y, 0.0), "lam: must be a finite number above 0"),
        (lambda: HingeERM(X, Y, np.nan), "lam: .* got nan"),
        (lambda: HingeERM(X, Y, 5e-324), "lam: is .* must be a number from"),
        (lambda: SVRDual(X, T, 1.0, -0.1), "epsilon: must be a finite number, 0 or above"),
        (lambda: SVRPrimal(X, T, 1.0, "thin"), "epsilon: .* got 'thin'"),
        (
            lambda: SoftMarginDual(X, Y, 1.0, "rbf"),
            r"kernel: must be a kernel such as RBF\(gamma=0.1\)",
        ),
        (lambda: SoftMarginDual(X, Y, 1.0, RBF), "kernel: must be a kernel"),
        (lambda: SoftMarginDual(X, Y, intercept=1), "intercept: must be True or False, got 1"),
        (lambda: SoftMarginDual(X, Y, kernel=Precomputed()), "X: a precomputed kernel must be"),
        (lambda: SoftMarginDual(1e200 * X, Y), "X: its kernel values overflow float64"),
        (lambda: SoftMarginDual(1e60 * X, Y, 1.0, Polynomial(5)), "X: its kernel values overflow"),
    ],
)
def test_a_bad_setting_is_refused_by_name(build, message):
    with pytest.raises(ValueError, match=message):
        build()


@pytest.mark.parametrize(
    "samples",
    [
        X.astype(np.float32),
        np.round(X * 10).astype(int),
        np.asfortranarray(X),
        X[::-1, ::-1],
        sp.csc_array(X),
        sp.coo_matrix(X),
        X > 0,
        X.tolist(),
    ],
    ids=["float32", "integers", "Fortran", "reversed", "csc", "coo", "booleans", "lists"],
)
def test_any_real_matrix_becomes_float64(samples):
    problem = SoftMarginDual(samples, Y.astype(int))
    assert problem.X.dtype == problem.y.dtype == np.float64
    dense = samples.toarray() if sp.issparse(samples) else np.asarray(samples, dtype=float)
    np.testing.assert_array_equal(
        problem.X.toarray() if sp.issparse(problem.X) else problem.X, dense
    )


def test_a_sparse_matrix_becomes_canonical():
    rows, cols, values = [0, 0, 0, 1], [1, 0, 1, 1], [1.0, 2.0, 3.0, 0.0]
    problem = SoftMarginDual(sp.coo_array((values, (rows, cols)), shape=(2, 2)), [1, -1])
    np.testing.assert_array_equal(problem.X.indices, [0, 1])
    np.testing.assert_array_equal(problem.X.data, [2.0, 4.0])


def arrays(problem):
    X = problem.X
    parts = [X.data, X.indices, X.indptr] if sp.issparse(X) else [X]
    C = getattr(problem, "C", None)
    return [*parts, problem.y, *([C] if isinstance(C, np.ndarray) else [])]


@each
@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
def test_nothing_changes_a_problem_and_a_problem_changes_nothing(build, sparse):
    samples, labels = (sp.csr_array(X) if sparse else X.copy()), Y.copy()
    problem = build(samples, labels)
    before = problem.hash, [a.copy() for a in arrays(problem)]
    (samples.data if sparse else samples)[:] = 99.0
    labels[:] = -labels
    for array, old in zip(arrays(problem), before[1], strict=True):
        np.testing.assert_array_equal(array, old)
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1
    assert (replace(problem).hash, labels[0]) == (before[0], -1.0)
    with pytest.raises(FrozenInstanceError):
        problem.intercept = False


CHANGES = [
    (SoftMarginDual(X, Y), {"X": X + 1e-12}),
    (SoftMarginDual(X, Y), {"y": -Y}),
    (SoftMarginDual(X, Y), {"C": 1.0 + 1e-9}),
    (SoftMarginDual(X, Y), {"C": np.linspace(1, 2, 10)}),
    (SoftMarginDual(X, Y), {"kernel": RBF(0.5)}),
    (SoftMarginDual(X, Y), {"kernel": 2 * Linear()}),
    (SoftMarginDual(X, Y), {"intercept": False}),
    (SVRDual(X, T, 1.0, 0.1), {"epsilon": 0.2}),
    (SVRDual(X, T, 1.0, 0.1), {"C": 2.0}),
    (SVRDual(X, T, 1.0, 0.1), {"y": -T}),
]


@pytest.mark.parametrize(("problem", "change"), CHANGES)
def test_every_field_is_part_of_the_name(problem, change):
    assert replace(problem, **change).hash != problem.hash
    assert replace(problem, **change).family_hash != problem.family_hash


def test_equal_problems_have_one_hash_for_any_number_types():
    one = SoftMarginDual(X, Y, 1.0, RBF(0.5), True)
    other = SoftMarginDual(X.tolist(), Y.astype(int), np.float64(1), RBF(np.float64(0.5)), np.True_)
    assert (one.hash, one.family_hash) == (other.hash, other.family_hash)


def test_the_sign_of_a_zero_is_not_part_of_the_name():
    zero, shape = np.abs(0.0 * X), QuadraticForm(np.eye(X.shape[1]))
    negative = QuadraticForm(np.where(np.eye(X.shape[1]) == 0, -0.0, 1.0))
    one, other = (
        SVRDual(zero, 0.0 * Y**2, 1.0, 0.1, shape),
        SVRDual(-zero, -0.0 * Y**2, 1.0, 0.1, negative),
    )
    assert (one.hash, one.family_hash) == (other.hash, other.family_hash)


@pytest.mark.parametrize(
    ("problem", "change"),
    [
        (SoftMarginDual(X, Y, 1.0, Sigmoid(0.1, -1.0)), {"C": 2.0}),
        (SVRDual(X, T, np.arange(1.0, 11.0), 0.1), {"C": np.arange(2.0, 12.0), "y": T - 1.0}),
        (HingeERM(X, Y, 0.1), {"lam": 0.2}),
    ],
)
def test_a_changed_problem_equals_one_built_from_scratch(problem, change):
    cached = problem.samples.is_psd, problem.samples.psd_shift, problem.risk.form.box.ub.max()
    changed, built = replace_fields(problem, **change), replace(problem, **change)
    assert (
        (changed.hash, changed.family_hash)
        == (built.hash, built.family_hash)
        != (problem.hash,) * 2
    )
    np.testing.assert_array_equal(changed.risk.form.box.ub, built.risk.form.box.ub)
    assert (changed.samples.is_psd, changed.samples.psd_shift) == cached[:2]
    assert changed.X is problem.X


@pytest.mark.parametrize("C", [0.1, 1 / 3, 7.7, 1e-9, 1e9])
@pytest.mark.parametrize("intercept", [True, False])
def test_every_formulation_of_one_soft_margin_has_one_family(C, intercept):
    views = [
        SoftMarginPrimal(X, Y, C, intercept),
        SoftMarginPrimal(X, Y, np.full(10, C), intercept),
        SoftMarginDual(X, Y, C, Linear(), intercept),
        HingeERM(X, Y, 1 / (10 * C), intercept),
    ]
    assert len({view.family_hash for view in views}) == 1
    assert len({view.hash for view in views}) == 4


def test_formulations_of_one_problem_share_a_family():
    assert HardMarginPrimal(X, Y).family_hash == HardMarginDual(X, Y).family_hash
    assert SVRPrimal(X, T, 1.0, 0.1).family_hash == SVRDual(X, T, 1.0, 0.1).family_hash
    assert HardMarginPrimal(X, Y).family_hash != SoftMarginPrimal(X, Y).family_hash
    assert SVRPrimal(X, Y, 1.0, 0.0).family_hash != SoftMarginPrimal(X, Y, 1.0).family_hash


@pytest.mark.parametrize(
    ("problem", "expected"),
    [
        (SoftMarginPrimal(X, Y), 3.0),
        (SoftMarginDual(X, Y), -2.0),
        (HingeERM(X, Y, 0.5), 1.5),
        (SVRDual(X, T, 1.0, 0.1), -2.0),
        (HardMarginPrimal(X, Y), 3.0),
    ],
)
def test_the_objective_has_the_sign_and_scale_of_its_formulation(problem, expected):
    assert problem.objective(3.0, 2.0) == expected


@dataclass(frozen=True, eq=False)
class Grouped(Formulation):
    """A soft margin with an offset for each of three groups of samples."""

    X: np.ndarray
    y: np.ndarray
    of_each: Any
    C: float = 1.0

    def build_risk(self):
        return Risk(self.samples, self.y, Hinge(), self.C, np.zeros(3), self.of_each)


@pytest.mark.parametrize(
    "groups",
    [np.arange(9), np.arange(10) % 3 - 2, T, np.zeros((10, 1), int)],
)
def test_groups_that_do_not_number_the_offsets_are_refused(groups):
    with pytest.raises(
        ValueError, match="groups: must be 10 whole numbers, the offset of each sample"
    ):
        Grouped(X, Y, groups)


@each
def test_alpha_and_beta_are_inverse(build):
    problem = build(X, Y)
    np.testing.assert_array_equal(problem.risk.alpha(problem.risk.beta(T)), T)
    assert problem.risk.C.shape == (10,)
