"""Problems made of anything: a problem, or one error that names the argument; nothing is changed."""

import copy
import re

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from dualgap.problems import (
    RBF,
    Formulation,
    HardMarginDual,
    HardMarginPrimal,
    HingeERM,
    Kernel,
    Linear,
    Polynomial,
    Precomputed,
    Sigmoid,
    SoftMarginDual,
    SoftMarginPrimal,
    SVRDual,
    SVRPrimal,
)

ARGUMENTS = "X|y|C|kernel|lam|epsilon|intercept|gamma|degree|coef0|factor|left|right"
N = 4
LABELS = np.array([1.0, -1.0, 1.0, -1.0])

JUNK = st.sampled_from(
    [
        *(
            None,
            True,
            "1",
            "nan",
            b"1",
            1j,
            10**400,
            -(10**400),
            {},
            {1: 2},
            set(),
            object(),
            len,
            int,
        ),
        *(
            [[1], [1, 2]],
            [[]],
            [None] * N,
            ["a"] * N,
            [[1.0, "a"]] * N,
            np.float64(1),
            np.array("x"),
        ),
        *(np.array([None] * N), np.datetime64("2020-01-01"), np.zeros(N, [("a", float)]), slice(3)),
        *(
            np.ma.array(np.eye(N), mask=np.eye(N)),
            float("nan"),
            float("inf"),
            0,
            -1,
            1e308,
            5e-324,
            range(N),
            "x" * 10_000,
        ),
    ]
)
REALS = st.floats(allow_nan=True, allow_infinity=True, width=64)
SIZES = st.sampled_from([1.0, 1e-8, 1e8, 1e-300, 1e154, 1e300, 0.0])


@st.composite
def matrices(draw):
    """A matrix of any type, order, storage and size of numbers; mostly (4, d)."""
    kind = draw(
        st.sampled_from(["any", "real", "real", "integer", "sparse", "square", "longdouble"])
    )
    if kind == "any":
        types = hnp.scalar_dtypes()
        return draw(
            hnp.arrays(types, hnp.array_shapes(min_dims=0, max_dims=3, max_side=3, min_side=0))
        )
    if kind == "integer":
        return draw(hnp.arrays(hnp.integer_dtypes() | hnp.boolean_dtypes(), (N, 2)))
    local = np.random.default_rng(draw(st.integers(0, 1000)))
    X = draw(SIZES) * local.standard_normal((N, draw(st.integers(1, 3))))
    if kind == "square":
        return X @ X.T if np.abs(X).max(initial=0.0) < 1e150 else np.eye(N)
    if kind == "longdouble":
        return X.astype(np.longdouble) * np.longdouble(draw(st.sampled_from(["1", "1e4000"])))
    if kind == "sparse":
        storage = draw(st.sampled_from(["csr", "csc", "coo", "lil", "dok", "dia", "bsr"]))
        return sp.coo_array(X).asformat(storage)
    single = np.clip(X, -1e30, 1e30).astype(np.float32)
    return draw(st.sampled_from([X, np.asfortranarray(X), X[::-1], single]))


TARGETS = (
    st.sampled_from([LABELS, -LABELS, np.ones(N), LABELS.astype(int), LABELS[:3], LABELS[:, None]])
    | hnp.arrays(np.float64, N, elements=REALS)
    | JUNK
)
NUMBERS = st.sampled_from([1.0, 1e-12, 1e12, 1e-300, 1e300]) | REALS | JUNK
WEIGHTS = NUMBERS | hnp.arrays(np.float64, st.sampled_from([N, 3, (N, 1)]), elements=REALS)
KERNELS = st.one_of(
    st.just(lambda *_: Linear()),
    st.just(lambda *_: Precomputed()),
    st.just(lambda a, b, c: RBF(a)),
    st.just(Polynomial),
    st.just(lambda a, b, c: Polynomial(3, b, c)),
    st.just(lambda a, b, c: Sigmoid(a, b)),
    st.just(lambda a, b, c: a * RBF(0.5) + Sigmoid(b, 0.0)),
    st.just(lambda a, b, c: Linear() * Precomputed()),
    st.just(lambda a, b, c: a),
)
MAKERS = {
    "hard primal": lambda X, y, C, e, k, i: HardMarginPrimal(X, y, i),
    "hard dual": lambda X, y, C, e, k, i: HardMarginDual(X, y, k(), i),
    "soft primal": lambda X, y, C, e, k, i: SoftMarginPrimal(X, y, C, i),
    "soft dual": lambda X, y, C, e, k, i: SoftMarginDual(X, y, C, k(), i),
    "risk": lambda X, y, C, e, k, i: HingeERM(X, y, e, i),
    "regression primal": lambda X, y, C, e, k, i: SVRPrimal(X, y, C, e, i),
    "regression dual": lambda X, y, C, e, k, i: SVRDual(X, y, C, e, k(), i),
}


def stored(value):
    """The arrays that a value is made of, as bytes."""
    if sp.issparse(value):
        return [value.tocoo().data.tobytes(), value.format]
    if isinstance(value, np.ndarray):
        # what is beyond the digits of a long double is never written
        plain = value.astype(str) if value.dtype == np.longdouble else value
        return [plain.tobytes(), value.dtype, value.flags.writeable, value.strides]
    return [repr(value)]


def built(make):
    """The problem, or None where it was refused by the name of an argument."""
    try:
        problem = make()
    except (ValueError, TypeError) as refusal:
        problem, message = None, str(refusal)
    if problem is None:
        assert re.match(rf"({ARGUMENTS})\b[^:]*: ", message), message
        assert len(message) <= 1000
        assert len(message.splitlines()) == 1, message
    else:
        assert isinstance(problem, Formulation)
    return problem


def is_sound(problem):
    """What every reader of a problem may assume."""
    X = problem.X.data if sp.issparse(problem.X) else problem.X
    assert X.dtype == problem.y.dtype == np.float64
    assert np.isfinite(X).all()
    assert np.isfinite(problem.y).all()
    assert (problem.risk.C > 0).all()
    assert np.isfinite(problem.samples.gram().dense()).all()
    assert problem.hash != problem.family_hash


@pytest.mark.parametrize("name", MAKERS)
@given(
    X=matrices(),
    y=st.just(LABELS) | TARGETS,
    C=st.just(1.0) | WEIGHTS,
    e=st.just(0.1) | NUMBERS,
    kernel=KERNELS,
    settings_of_kernel=st.tuples(NUMBERS, NUMBERS, NUMBERS),
    intercept=st.booleans() | st.sampled_from([0, 1, None, "no", np.True_]),
)
def test_anything_is_a_problem_or_refused_by_its_argument(
    name, X, y, C, e, kernel, settings_of_kernel, intercept
):
    given_arrays = (X, y, C)
    before = [stored(v) for v in given_arrays]
    problem = built(
        lambda: MAKERS[name](X, y, C, e, lambda: kernel(*settings_of_kernel), intercept)
    )
    assert [stored(v) for v in given_arrays] == before
    if problem is not None:
        is_sound(problem)


def test_a_tube_may_be_as_wide_as_float64_holds():
    is_sound(SVRPrimal(np.eye(4), LABELS, 1.0, np.finfo(float).max, intercept=False))


@given(X=JUNK | matrices(), y=TARGETS, C=WEIGHTS)
@example(X=sp.coo_array(np.arange(4.0)), y=LABELS, C=1.0)
@example(X=np.eye(4), y=LABELS, C=[[1], [1, 2]])
@example(X=np.eye(4), y=LABELS, C=10**400)
def test_junk_is_refused_by_its_argument(X, y, C):
    problem = built(lambda: SoftMarginDual(X, y, C))
    if problem is not None:
        is_sound(problem)


@given(a=NUMBERS, b=NUMBERS, c=NUMBERS, kernel=KERNELS)
def test_a_kernel_of_anything_is_a_kernel_or_refused_by_its_argument(a, b, c, kernel):
    result = refused = None
    try:
        result = kernel(a, b, c)
    except (ValueError, TypeError) as error:
        refused = str(error)
    assert refused is None or re.match(rf"({ARGUMENTS}): ", refused), refused
    assert len(refused or "") <= 1000
    if isinstance(result, RBF):
        values = result(np.eye(3), np.eye(3))
        assert np.isfinite(values).all()
    assert not isinstance(result, Kernel) or result == copy.deepcopy(result)


@pytest.mark.parametrize(
    "damage", ["index beyond the columns", "negative index", "row beyond the data"]
)
def test_a_damaged_sparse_matrix_is_refused(damage):
    X = sp.csr_array(np.eye(4))
    if damage == "row beyond the data":
        X.indptr[2] = 99
    else:
        X.indices[1] = 7 if damage.startswith("index") else -1
    with pytest.raises(ValueError, match=r"^X: "):
        SoftMarginDual(X, LABELS)


@pytest.mark.parametrize("kernel", [Sigmoid(0.0, 1.0), Sigmoid(1.0, 0.0), Sigmoid(1e308, 0.0)])
def test_samples_whose_inner_products_overflow_have_no_sigmoid_kernel(kernel):
    size = 1e160 if kernel.gamma <= 1 else 1e3
    with pytest.raises(ValueError, match=r"^X: its inner products overflow"):
        SoftMarginDual(size * np.eye(4), LABELS, 1.0, kernel)
