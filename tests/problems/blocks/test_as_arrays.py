"""Samples in blocks are checked and answered as the same samples in one array are."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from tests.small_problems import two_classes

from dualgap.problems import Point, RegularizedERM, SoftMarginPrimal, SVRPrimal, certify
from dualgap.problems.blocks import ArraySource, Blocks
from dualgap.problems.datasets import open_blocks
from dualgap.problems.formulations.erm import WeightedERM
from dualgap.problems.losses import PiecewiseLinear, Terms
from dualgap.solvers import solve
from dualgap.solvers.near_rows import NearRows

X, Y = two_classes(n=90, d=3)
ONES, ZEROS = np.ones(90), np.zeros(90)
SMALL = 1e-3 * (X @ [1.0, -2.0, 0.5])
POSED = {
    "a tube above all targets": lambda X, y, flag: SVRPrimal(
        X, y, 1.0, epsilon=50.0, intercept=flag
    ),
    "a tube": lambda X, y, flag: SVRPrimal(X, y, 1.0, epsilon=0.1, intercept=flag),
    "hinge": lambda X, y, flag: SoftMarginPrimal(X, y, intercept=flag),
    "squared": lambda X, y, flag: RegularizedERM(X, y, 1.0, "squared", intercept=flag),
    "squared hinge": lambda X, y, flag: WeightedERM(X, y, 1.0, intercept=flag),
}


def in_blocks(X, y):
    return Blocks.checked(ArraySource(X, y, None, 40))


@pytest.mark.parametrize("flag", [True, False], ids=["intercept", "no intercept"])
@pytest.mark.parametrize(
    ("kind", "y"),
    [
        ("a tube above all targets", SMALL),
        ("a tube", 7.0 * ONES),
        ("a tube", ZEROS),
        ("a tube", 1e-150 * SMALL),
        ("squared", ZEROS),
        ("squared", 7.0 * ONES),
        ("hinge", ONES),
        ("hinge", -ONES),
        ("hinge", Y),
        ("squared hinge", ONES),
    ],
)
def test_blocks_and_arrays_have_the_same_verdict_and_bounds_that_agree(kind, y, flag):
    joined = solve(POSED[kind](X, y, flag))
    c = solve(POSED[kind](in_blocks(X, y), None, flag))
    assert c.verdict == joined.verdict == "solved"
    assert c.iterations <= 25
    ours, theirs = c.certificate, joined.certificate
    assert ours.dual_objective <= theirs.primal_objective
    assert theirs.dual_objective <= ours.primal_objective


def test_an_empty_first_file_changes_nothing(tmp_path):
    text = "".join(f"{y:g} 1:{a:.17g} 3:{b:.17g}\n" for y, (a, _, b) in zip(Y, X, strict=True))
    (tmp_path / "a.libsvm").write_text("")
    (tmp_path / "b.libsvm").write_text(text)
    c = solve(SoftMarginPrimal(open_blocks(tmp_path), None))
    alone = solve(SoftMarginPrimal(open_blocks(tmp_path / "b.libsvm"), None))
    assert c.verdict == "solved"
    assert c.objective == pytest.approx(alone.objective, rel=1e-6)


@pytest.mark.parametrize("change", [lambda a: a + 0j, lambda a: a.astype(str), np.ma.array,
                                    lambda a: (1000 * a).astype("M8[D]")],
                         ids=["complex", "text", "masked", "dates"])  # fmt: skip
def test_nonnumeric_samples_are_refused_in_blocks_and_arrays(change):
    for X_given, y in ((change(X), Y), (X, np.ma.masked_less(Y, 0.0))):
        for pose in (SoftMarginPrimal, lambda X, y: SoftMarginPrimal(in_blocks(X, y), None)):
            with pytest.raises(ValueError, match=r"real numbers|masked array"):
                pose(X_given, y)


@dataclass(frozen=True)
class Overlapping(PiecewiseLinear):
    """Two slopes whose kinks overlap, so that its conjugate is another than that of its terms."""

    is_regression: ClassVar[bool] = True

    def terms(self, y):
        """Return terms with a negative eps."""
        return Terms(-y, -1.0, -1.0, 1.0)


def test_a_loss_without_a_conjugate_is_refused_in_blocks_and_arrays():
    for samples in ((X, Y), (in_blocks(X, Y), None)):
        with pytest.raises(ValueError, match="the conjugate of others is unknown"):
            RegularizedERM(*samples, 1.0, Overlapping())


@pytest.mark.filterwarnings("ignore:overflow:RuntimeWarning")
def test_extreme_scales_are_refused_or_have_a_reason():
    large = X.copy()
    large[42, 1] = 1e160
    with pytest.raises(ValueError, match="rows 40 to 79, row 2: its kernel values overflow"):
        in_blocks(large, Y)
    for C in (1e-140, 1e100, 1e140):
        answer = solve(SoftMarginPrimal(in_blocks(X, Y), None, C=C), NearRows(near=20))
        assert answer.verdict == "solved" or answer.reason


def test_weights_whose_product_with_C_is_refused_in_arrays_have_no_bound_in_blocks():
    weight = np.full(90, 1e100)
    with pytest.raises(ValueError, match="C: every weight must be a number"):
        SoftMarginPrimal(X, Y, 1e100 * weight)
    blocks = Blocks.checked(ArraySource(X, Y, weight, 40))
    c = certify(SoftMarginPrimal(blocks, None, 1e100), Point(w=np.zeros(3)))
    assert np.isnan(c.dual_objective)
    assert c.reason.startswith("C: every entry must be a number")


def test_boolean_labels_of_dask_arrays_are_numbers():
    da = pytest.importorskip("dask.array")
    from dualgap.problems.datasets.block_sources import dask_blocks

    arrays = (da.from_array(flag, chunks=40) for flag in (X, Y > 0))
    blocks = dask_blocks(*arrays, positive=True)
    assert blocks.target == "labels"
    np.testing.assert_array_equal(np.concatenate([block.y for block in blocks]), Y)
