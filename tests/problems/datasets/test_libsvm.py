"""Files of the user's own: where they are, and what their first column is."""

import os

import numpy as np
import pytest
from tests.problems.datasets.files import SAMPLES, TEXT, WRITERS, load

from dualgap.problems import datasets


@pytest.mark.parametrize("ending", WRITERS)
def test_plain_and_compressed_text_are_equal(write, ending):
    data = load(write(WRITERS[ending](TEXT.encode()), "some.data.txt" + ending))
    assert (data.X.toarray() == SAMPLES).all()
    assert data.y.tolist() == [1, -1, -1]
    assert data.name == "some.data"


def test_path_may_be_text_and_in_the_home_folder(write, monkeypatch):
    path = write(TEXT)
    monkeypatch.setenv("HOME", str(path.parent))
    assert load(str(path)).checksum == load("~/data.libsvm").checksum


def test_labels_in_words_are_labels(tmp_path):
    np.savez(tmp_path / "data.npz", X=SAMPLES, y=["cat", "dog", "cow"])
    assert load(tmp_path / "data.npz", positive="dog").y.tolist() == [-1, 1, -1]
    with pytest.raises(ValueError, match=r"^positive: .*3 classes .'cat', 'cow', 'dog'"):
        load(tmp_path / "data.npz")


@pytest.mark.parametrize(
    ("labels", "options", "expected"),
    [
        ([0, 1, 0], {}, [-1, 1, -1]),
        ([1, 2, 3], {"positive": 2}, [-1, 1, -1]),
        ([1, 2, 3], {"task": "regression"}, [1, 2, 3]),
        ([1.5, 2, 3], {}, [1.5, 2, 3]),
        ([0, 1, 0], {"task": "regression"}, [0, 1, 0]),
        (list(range(21)), {}, list(range(21))),
        ([3, 3], {"task": "regression"}, [3, 3]),
    ],
)
def test_task_follows_from_the_labels_or_the_option(write, labels, options, expected):
    path = write("".join(f"{label} 1:1\n" for label in labels))
    assert load(path, **options).y.tolist() == expected


def test_labels_of_three_integers_are_ambiguous_and_refused(write):
    with pytest.raises(ValueError, match=r"^task: .*3 distinct integers.*positive=.*'regression'"):
        load(write("1 1:1\n2 1:1\n3 1:1\n"))


def test_classification_of_three_classes_needs_positive(write):
    with pytest.raises(ValueError, match=r"^positive: .*3 classes"):
        load(write("1 1:1\n2 1:1\n3 1:1\n"), task="classification")


@pytest.mark.parametrize(
    ("options", "argument"),
    [
        ({"path": ""}, "path"),
        ({"path": 3}, "path"),
        ({"path": "a", "task": "ranking"}, "task"),
        ({"path": "a", "zero_based": 1}, "zero_based"),
        ({"path": "a", "task": "regression", "positive": 1}, "positive"),
    ],
)
def test_bad_options_are_refused(options, argument):
    with pytest.raises(ValueError, match=f"^{argument}: "):
        datasets.make("libsvm_file", **options)


def test_check_reports_missing_and_unusable_files(write, tmp_path):
    with pytest.raises(FileNotFoundError, match=r"none.txt: no such file"):
        datasets.make("libsvm_file", path=tmp_path / "none.txt").check()
    with pytest.raises(FileNotFoundError, match=r"none.txt: no such file"):
        load(tmp_path / "none.txt")
    with pytest.raises(IsADirectoryError, match=r"is not a file"):
        datasets.make("libsvm_file", path=tmp_path).check()
    with pytest.raises(ValueError, match="line 1: could not convert string to float: b'spam'"):
        datasets.make("libsvm_file", path=write("spam\n")).check()


def test_a_large_file_is_parsed_by_its_runs_only(write, monkeypatch):
    monkeypatch.setattr("dualgap.problems.datasets.libsvm._CHECK_LIMIT_BYTES", 4)
    datasets.make("libsvm_file", path=write("spam\n")).check()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every file")
def test_check_finds_a_file_that_may_not_be_read(write):
    path = write(TEXT)
    path.chmod(0)
    with pytest.raises(PermissionError):
        datasets.make("libsvm_file", path=path).check()


def test_a_table_of_targets_is_a_regression(tmp_path):
    (tmp_path / "t.csv").write_text("x,price\n1,2.5\n2,3.5\n3,4.25\n")
    assert datasets.load("table_file", path=tmp_path / "t.csv", target="price").y.tolist() == [
        2.5,
        3.5,
        4.25,
    ]


def test_multiclass_turns_integer_targets_into_classes(tmp_path):
    (tmp_path / "t.csv").write_text("a,y\n1,3\n2,5\n3,9\n")
    data = datasets.load("table_file", path=tmp_path / "t.csv", target="y", multiclass=True)
    assert data.y.tolist() == [0, 1, 2]
