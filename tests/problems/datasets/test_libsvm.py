"""Files of the user's own: formats, and a message with file and line for each defect."""

import bz2
import gzip
import lzma
import os
import tracemalloc

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from problems import datasets
from problems.datasets import formats

TEXT = "+1 1:0.5 3:-2 # first\n\n-1 2:1e-3\n-1 1:1\n"
SAMPLES = np.array([[0.5, 0, -2], [0, 1e-3, 0], [1, 0, 0]])
WRITERS = {"": lambda b: b, ".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}


@pytest.fixture
def write(tmp_path):
    def save(content, name="data.libsvm"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return save


def load(path, **options):
    return datasets.load("libsvm_file", path=path, **options)


@pytest.mark.parametrize("ending", WRITERS)
def test_plain_and_compressed_text_are_equal(write, ending):
    data = load(write(WRITERS[ending](TEXT.encode()), "some.data.txt" + ending))
    assert (data.X.toarray() == SAMPLES).all()
    assert data.y.tolist() == [1, -1, -1]
    assert data.name == "some.data"


def test_npz_and_text_are_equal(write, tmp_path):
    np.savez(tmp_path / "data.npz", X=SAMPLES, y=np.array([1, -1, -1]))
    from_npz, from_text = load(tmp_path / "data.npz"), load(write(TEXT))
    assert from_npz.checksum == from_text.checksum
    assert type(from_npz.X) is type(from_text.X)


@pytest.mark.parametrize(
    ("rows", "kind"), [("1 1:1 2:2\n-1 1:3\n", np.ndarray), ("1 1:1\n-1 2:3\n", sp.csr_array)]
)
def test_more_than_half_full_is_dense(write, rows, kind):
    assert isinstance(load(write(rows)).X, kind)


def test_path_may_be_text_and_in_the_home_folder(write, monkeypatch):
    path = write(TEXT)
    monkeypatch.setenv("HOME", str(path.parent))
    assert load(str(path)).checksum == load("~/data.libsvm").checksum


def test_zero_based_indices(write):
    assert load(write("1 0:5 1:1\n-1 1:2\n"), zero_based=True).X.tolist() == [[5, 1], [0, 2]]


def test_n_features_is_the_published_number(write):
    path = write(TEXT)
    assert load(path, n_features=5).d == 5
    with pytest.raises(ValueError, match=r"^n_features: is 2, but the data have 3"):
        load(path, n_features=2)


def test_query_ids_and_comments_are_passed_over(write):
    assert load(write("# a comment\n1 qid:3 1:2\n-1 qid:4 1:3 # end\n")).X.tolist() == [[2], [3]]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("1 1:2\nspam 1:2\n", "line 2: label is 'spam', not a number"),
        ("1 1:2\n1,2 1:2\n", "line 2: label is '1,2', not a number"),
        ("1 1:2\n1:2\n", "line 2: label is '1:2', not a number"),
        ("nan 1:2\n1 1:2\n", "line 1: label is nan; drop or impute"),
        ("1 1:2\n\n1 x:2\n", "line 3: index 'x' is not an integer"),
        ("1 1.5:2\n", "line 1: index '1.5' is not an integer"),
        ("1 :2\n", "line 1: index '' is not an integer"),
        ("1 1:2\n1 0:2\n", "line 2: index 0, but indices begin at 1; pass zero_based=True"),
        ("1 -3:2\n", "line 1: index -3 is negative"),
        ("1 99999999999:2\n", "line 1: index 99999999999 is above 2147483647"),
        ("1 1:2\n1 3:1 2:1\n", "line 2: index 2 after index 3, but indices must increase"),
        ("1 1:2\n1 3:1 3:1\n", "line 2: index 3 occurs twice"),
        ("1 1:2\n1 2:abc\n", "line 2: value of index 2 is 'abc', not a number"),
        ("1 1:2\n1 2:\n", "line 2: value of index 2 is '', not a number"),
        ("1 1:2:3\n", "line 1: value of index 1 is '2:3', not a number"),
        ("1 1:2\n1 7\n", "line 2: '7' is not index:value"),
        ("1 1:2\n1 2:nan\n", "line 2: value of index 2 is nan; drop or impute"),
        ("1 1:2\n1 2:-inf\n", "line 2: value of index 2 is -inf; drop or impute"),
        ("1 1:2\n1 2:1e999\n", "line 2: value of index 2 is 1e999; drop or impute"),
        (b"1 1:2\n1 2:\xff\n", "line 2: byte 5 (0xff) is not UTF-8 text"),
        ("1 1:2\n".encode("utf-16"), "line 1: byte 1 (0xff) is not UTF-8 text"),
        (b"\xef\xbb\xbf1 1:2\n", "line 1: label is '\\ufeff1', not a number"),
        ("<html>404</html>\n", "line 1: label is '<html>404</html>', not a number"),
        ("", "is empty, it has no samples"),
        ("# nothing\n\n", "is empty, it has no samples"),
        ("1\n-1\n", "has no features; pass n_features"),
    ],
)
def test_bad_text_is_refused_with_file_and_line(write, content, message):
    path = write(content)
    with pytest.raises(ValueError, match=r".") as error:
        load(path)
    assert str(error.value).startswith(str(path))
    assert message in str(error.value)


@pytest.mark.parametrize("ending", [".gz", ".bz2", ".xz"])
@pytest.mark.parametrize("damage", ["truncated", "not an archive", "flipped"])
def test_damaged_archive_is_refused_by_name(write, ending, damage):
    lines = np.random.default_rng(0).standard_normal(3000)
    whole = WRITERS[ending]("".join(f"1 1:{v}\n" for v in lines).encode())
    half = len(whole) // 2
    flipped = whole[:half] + bytes(255 - b for b in whole[half : half + 9]) + whole[half + 9 :]
    content = {"truncated": whole[:half], "not an archive": b"1 1:2\n", "flipped": flipped}
    path = write(content[damage], "data" + ending)
    with pytest.raises(ValueError, match=r".") as error:
        load(path)
    assert str(error.value).startswith(str(path))
    assert "line" in str(error.value)


BOMBS = {
    "one endless line": b"1" * 2**18,
    "empty lines": b"\n" * 2**18,
    "good lines": b"1 1:1\n-1 1:2\n" * 2**14,
}


@pytest.mark.parametrize("ending", [".gz", ".bz2", ".xz"])
@pytest.mark.parametrize("kind", BOMBS)
def test_an_archive_that_unpacks_without_end_is_refused(write, monkeypatch, ending, kind):
    """Read up to the limit, and no further: the content is some 30 times as large."""
    monkeypatch.setattr(formats, "UNPACKED_ALWAYS", 2**20)
    monkeypatch.setattr(formats, "UNPACKED_RATIO", 2)
    path = write(WRITERS[ending](BOMBS[kind]) * 128, "bomb.txt" + ending)
    tracemalloc.start()
    with pytest.raises(ValueError, match=r"^.*MiB, the limit for .* unpack it first") as error:
        load(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert str(error.value).startswith(
        f"{path}: the archive of {path.stat().st_size} bytes unpacks"
    )
    assert peak < 2**24
    small = write(WRITERS[ending](TEXT.encode()), "small.txt" + ending)
    assert load(small).n == 3


def test_an_npz_that_unpacks_without_end_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(formats, "UNPACKED_ALWAYS", 2**20)
    X, y = np.ones((2**14, 16)), np.ones(2**14)
    np.savez_compressed(tmp_path / "bomb.npz", X=X, y=y)
    with pytest.raises(
        ValueError, match=r"^.*bomb\.npz: the archive of .* save it with numpy.savez"
    ):
        load(tmp_path / "bomb.npz")
    np.savez(tmp_path / "plain.npz", X=X, y=y)
    assert load(tmp_path / "plain.npz").n == 2**14


def test_the_documented_limit_stops_a_small_bomb(write):
    zeros = bz2.compress(bytes(2**23))
    path = write(zeros * 33, "bomb.bz2")  # 264 MiB in 1 KiB
    with pytest.raises(ValueError, match="unpacks to more than 256 MiB"):
        load(path)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"X": SAMPLES}, "needs the arrays X and y, has X"),
        ({"X": SAMPLES, "y": [1, -1]}, "y: has 2 entries for 3 samples"),
        (
            {"X": SAMPLES * np.nan, "y": [1, 1, -1]},
            "X: has 9 NaN or infinite entries, the first at (0, 0)",
        ),
        (
            {"X": SAMPLES, "y": [1, np.inf, -1]},
            "y: has 1 NaN or infinite entries, the first at (1,)",
        ),
        ({"X": SAMPLES[0], "y": [1, 1, -1]}, "X: expected a matrix of shape (n, d)"),
        ({"X": SAMPLES, "y": np.array([1, None, 2])}, "is not a complete .npz archive"),
    ],
)
def test_bad_npz_is_refused_by_name(tmp_path, arrays, message):
    path = tmp_path / "data.npz"
    np.savez(path, **arrays)
    with pytest.raises(ValueError, match=r".") as error:
        load(path)
    assert str(error.value).startswith(str(path))
    assert message in str(error.value)


@pytest.mark.parametrize("content", [b"", b"1 1:2\n", "half"])
def test_what_is_no_whole_npz_is_refused(tmp_path, content):
    path = tmp_path / "data.npz"
    np.savez_compressed(path, X=SAMPLES, y=[1, 1, -1])
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2] if content == "half" else content)
    with pytest.raises(ValueError, match=r"is not a complete \.npz archive"):
        load(path)


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


def test_few_integers_could_be_either_and_are_refused(write):
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


def test_check_finds_what_is_missing_without_parsing(write, tmp_path):
    with pytest.raises(FileNotFoundError, match=r"none.txt: no such file"):
        datasets.make("libsvm_file", path=tmp_path / "none.txt").check()
    with pytest.raises(FileNotFoundError, match=r"none.txt: no such file"):
        load(tmp_path / "none.txt")
    with pytest.raises(IsADirectoryError, match=r"is not a file"):
        datasets.make("libsvm_file", path=tmp_path).check()
    datasets.make("libsvm_file", path=write("spam\n")).check()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every file")
def test_check_finds_a_file_that_may_not_be_read(write):
    path = write(TEXT)
    path.chmod(0)
    with pytest.raises(PermissionError):
        datasets.make("libsvm_file", path=path).check()


def test_a_table_has_a_column_of_labels_and_features(tmp_path):
    frame = pd.DataFrame(
        {"a": [1, 2, 3, 4], "kind": ["no", "yes", "no", "yes"], "b": [0.5, 0, 1, 2]}
    )
    frame.to_csv(tmp_path / "t.csv.gz", index=False)
    frame.to_csv(tmp_path / "t.tsv", index=False, sep="\t")
    frame.to_parquet(tmp_path / "t.parquet")
    for name in ("t.csv.gz", "t.tsv", "t.parquet"):
        data = datasets.load("table_file", path=tmp_path / name, target="kind", positive="yes")
        assert data.name == "t"
        assert (np.asarray(data.X) == frame[["a", "b"]].to_numpy()).all()
        assert data.y.tolist() == [-1, 1, -1, 1]


def test_a_table_of_targets_is_a_regression(tmp_path):
    (tmp_path / "t.csv").write_text("x,price\n1,2.5\n2,3.5\n3,4.25\n")
    assert datasets.load("table_file", path=tmp_path / "t.csv", target="price").y.tolist() == [
        2.5,
        3.5,
        4.25,
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b\n1,2\n", "target: .* has no column 'y'; a, b"),
        ("a,y\nred,1\nblue,-1\n", "these are not: a"),
        ("y\n1\n-1\n", "these are not: there are none"),
        ("a,y\n1,\n2,1\n", "y is missing in 1 rows"),
        ("a,y\n,1\n2,-1\n", "NaN"),
        ("", "cannot be read as a table"),
        ("a,y\n1,2\n1,2,3,4\n", "cannot be read as a table"),
    ],
)
def test_a_table_that_cannot_be_used_says_why(tmp_path, text, message):
    (tmp_path / "t.csv").write_text(text)
    with pytest.raises(ValueError, match=message):
        datasets.load("table_file", path=tmp_path / "t.csv", target="y")
