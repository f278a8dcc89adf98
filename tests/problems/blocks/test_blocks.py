"""What is wrong with a block is named by its file and row, and a block that changes leaves no bound."""

import numpy as np
import pytest
from tests.small_problems import two_classes

from dualgap.problems import (
    RBF,
    NuSVC,
    OneClassSVM,
    RegularizedERM,
    SoftMarginDual,
    SoftMarginPrimal,
    certify,
)
from dualgap.problems.blocks import ChangedBlock
from dualgap.problems.datasets import open_blocks
from dualgap.problems.losses import Hinge
from dualgap.solvers import SMO, solve, solve_path

X, Y = two_classes(n=90, d=3)


def in_files(folder, X=X, y=Y, **more):
    """Write arrays of 30 rows each and open them in blocks of 15."""
    for k in range(3):
        rows = slice(30 * k, 30 * k + 30)
        for name, array in {"X": X, "y": y, **more}.items():
            np.save(folder / f"{name}_{k}.npy", array[rows])
    return open_blocks(folder, rows=15)


def removed(folder):
    (folder / "X_1.npy").unlink()


def cut(folder):
    data = (folder / "X_1.npy").read_bytes()
    (folder / "X_1.npy").write_bytes(data[:-100])


def shorter(folder):
    for name, array in (("X", X), ("y", Y)):
        np.save(folder / f"{name}_1.npy", array[30:50])


def narrower(folder):
    np.save(folder / "X_1.npy", X[30:60, :2])


def replaced(folder):
    (folder / "X_1.npy").write_bytes((folder / "X_2.npy").read_bytes())


def one_bit(folder):
    changed = X[30:60].copy()
    changed[20, 1] = np.nextafter(changed[20, 1], 9.0)
    np.save(folder / "X_1.npy", changed)


def one_label(folder):
    y = Y[30:60].copy()
    y[3] = -y[3]
    np.save(folder / "y_1.npy", y)


@pytest.mark.parametrize("change", [removed, cut, shorter, narrower, replaced, one_bit, one_label])
def test_a_changed_block_is_named_and_leaves_the_answer_uncertified(change, tmp_path):
    problem = SoftMarginPrimal(in_files(tmp_path), None)
    answer = solve(problem)
    change(tmp_path)
    assert answer.verdict == "uncertified"
    assert "X_1.npy, rows " in answer.reason
    assert ("cannot be read any more" in answer.reason) != ("has changed since" in answer.reason)
    assert not np.isfinite(answer.certificate.dual_objective)


def test_a_block_removed_during_solving_is_named(tmp_path):
    problem = SoftMarginPrimal(in_files(tmp_path), None)
    removed(tmp_path)
    with pytest.raises(ChangedBlock, match=r"X_1\.npy, rows 0 to 14: cannot be read any more"):
        solve(problem)


def test_a_block_of_other_columns_or_weights_is_named(tmp_path):
    in_files(tmp_path)
    np.save(tmp_path / "X_2.npy", X[60:, :2])
    with pytest.raises(
        ValueError, match=r"X_2\.npy, rows 0 to 14 has 2 columns, .*X_0\.npy, rows 0"
    ):
        open_blocks(tmp_path, rows=15)
    in_files(tmp_path)
    np.save(tmp_path / "weight_1.npy", np.ones(30))
    with pytest.raises(ValueError, match=r"X_1\.npy, .* has 3 columns and weights, .* has 3: all"):
        open_blocks(tmp_path, rows=15)


@pytest.mark.parametrize(
    ("name", "row", "value", "message"),
    [
        ("y", 47, np.nan, r"^y: .*X_1\.npy, row 17: is NaN or infinite"),
        ("X", 47, np.inf, r"^X: .*X_1\.npy, row 17: has a NaN or infinite entry"),
        ("weight", 80, 0.0, r"^weight: .*X_2\.npy, row 20: must be .* from 1e-150"),
    ],
)
def test_a_bad_value_of_an_array_is_named_by_file_and_row(name, row, value, message, tmp_path):
    arrays = {"X": X.copy(), "y": Y.copy(), "weight": np.ones(90)}
    arrays[name][row] = value
    with pytest.raises(ValueError, match=message):
        in_files(tmp_path, **arrays)


@pytest.mark.parametrize(
    ("pose", "message"),
    [
        (lambda X: SoftMarginDual(X, None, kernel=RBF(1.0)), r"kernel: .*linear kernel, got RBF"),
        (lambda X: RegularizedERM(X, None, 1.0, Hinge(), RBF(1.0)), "kernel: .*linear kernel"),
        (lambda X: NuSVC(X, None, nu=0.3), "X: nu_svc does not support samples in blocks"),
        (lambda X: OneClassSVM(X, nu=0.3), "X: one_class_svm does not support samples in blocks"),
        (lambda X: SoftMarginDual(X, Y), "y: must be None when X is a Blocks"),
        (
            lambda X: SoftMarginDual(X, None, C=np.ones(90)),
            "C: must be one number for samples in blocks",
        ),
        (lambda X: SoftMarginDual(X, None, C=-1.0), "C: must be a finite number above 0"),
        (lambda X: solve_path(SoftMarginDual(X, None), C=(1, 2)), "as a path keeps the dual"),
        (
            lambda X: solve(SoftMarginDual(X, None)).geometry.kinds,
            "samples in blocks are not in memory",
        ),
        (lambda X: solve(SoftMarginDual(X, None)).geometry.slacks, "are not in memory"),
    ],
)
def test_unsupported_samples_in_blocks_are_refused_by_name(pose, message, tmp_path):
    blocks = in_files(tmp_path)
    with pytest.raises(ValueError, match=message):
        pose(blocks)


def test_an_invalid_label_is_named_by_file_and_row(tmp_path):
    y = Y.copy()
    y[65] = 0.0
    with pytest.raises(ValueError, match=r"y: .*X_2\.npy, row 5: is 0, but labels must be -1 and"):
        SoftMarginDual(in_files(tmp_path, y=y), None)


def test_other_solvers_refuse_blocks_and_point_to_near_rows(tmp_path):
    answer = solve(SoftMarginDual(in_files(tmp_path), None), SMO())
    assert answer.status == "unsupported"
    assert "use near_rows" in answer.reason


def test_weights_alone_are_certified_and_predict(tmp_path):
    problem = SoftMarginPrimal(in_files(tmp_path), None)
    answer = solve(problem)
    again = certify(problem, type(answer.point)(w=answer.w, b=answer.b))
    assert again.primal_objective == answer.certificate.primal_objective
    assert (answer.predict(X) == Y).mean() > 0.5


def test_a_file_without_a_byte_is_named(tmp_path):
    blocks = in_files(tmp_path)
    (tmp_path / "y_1.npy").write_bytes(b"")
    with pytest.raises(ChangedBlock, match=r"X_1\.npy.*is not a complete array"):
        blocks.read(2)
    with pytest.raises(ValueError, match=r"y_1\.npy: is not a complete array"):
        open_blocks(tmp_path)
