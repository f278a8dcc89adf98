"""Formats of data files, and a message with file and line for each defect."""

import bz2
import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from tests.problems.datasets.files import SAMPLES, TEXT, WRITERS, load

from dualgap.problems import SoftMarginDual
from dualgap.problems.datasets.readers import formats
from dualgap.problems.exchange.samples import WRITERS as WRITERS_OF_PROBLEMS
from dualgap.problems.exchange.samples import write as write_problem

BOMBS = {
    "one endless line": b"1" * 2**18,
    "empty lines": b"\n" * 2**18,
    "good lines": b"1 1:1\n-1 1:2\n" * 2**14,
}


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


def test_n_features_is_the_published_number(write):
    path = write(TEXT)
    assert load(path, n_features=5).d == 5
    with pytest.raises(ValueError, match=r"^n_features: is 2, but the data have 3"):
        load(path, n_features=2)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("1 1:2\nspam 1:2\n", "line 2: could not convert string to float: b'spam'"),
        ("1 1:2\n1:2\n", "line 2: could not convert string to float: b'1:2'"),
        ("nan 1:2\n1 1:2\n", "line 1: NaN or infinite entries; drop or impute"),
        ("1 1:2\n\n1 x:2\n", "line 3: invalid literal for int() with base 10: b'x'"),
        ("1 1.5:2\n", "line 1: invalid literal for int() with base 10: b'1.5'"),
        ("1 :2\n", "line 1: invalid literal for int() with base 10: b''"),
        ("1 1:2\n1 0:2\n", "line 2: Invalid index 0"),
        ("1 -3:2\n", "line 1: Invalid index -3"),
        ("1 99999999999:2\n", "line 1: value too large to convert to int"),
        (
            "1 1:2\n1 3:1 2:1\n",
            "line 2: Feature indices in SVMlight/LibSVM data file should be sorted",
        ),
        (
            "1 1:2\n1 3:1 3:1\n",
            "line 2: Feature indices in SVMlight/LibSVM data file should be sorted and unique",
        ),
        ("1 1:2\n1 2:abc\n", "line 2: could not convert string to float: b'abc'"),
        ("1 1:2\n1 2:\n", "line 2: could not convert string to float: b''"),
        ("1 1:2:3\n", "line 1: could not convert string to float: b'2:3'"),
        ("1 1:2\n1 7\n", "line 2: need more than 1 value to unpack"),
        ("1 1:2\n1 2:nan\n", "line 2: NaN or infinite entries; drop or impute"),
        ("1 1:2\n1 2:-inf\n", "line 2: NaN or infinite entries; drop or impute"),
        ("1 1:2\n1 2:1e999\n", "line 2: NaN or infinite entries; drop or impute"),
        (b"1 1:2\n1 2:\xff\n", "line 2: could not convert string to float: b'\\xff'"),
        ("<html>404</html>\n", "line 1: could not convert string to float: b'<html>404</html>'"),
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
    full = WRITERS[ending]("".join(f"1 1:{v}\n" for v in lines).encode())
    half = len(full) // 2
    flipped = full[:half] + bytes(255 - b for b in full[half : half + 9]) + full[half + 9 :]
    content = {"truncated": full[:half], "not an archive": b"1 1:2\n", "flipped": flipped}
    path = write(content[damage], "data" + ending)
    with pytest.raises(ValueError, match=r".") as error:
        load(path)
    assert str(error.value).startswith(str(path))
    assert "line" in str(error.value)


@pytest.mark.parametrize("ending", [".gz", ".bz2", ".xz"])
@pytest.mark.parametrize("kind", BOMBS)
def test_an_archive_that_unpacks_without_end_is_refused(write, monkeypatch, ending, kind):
    """Read up to the limit, and no further: the content is some 30 times as large."""
    monkeypatch.setattr(formats, "UNPACKED_ALWAYS_BYTES", 2**20)
    monkeypatch.setattr(formats, "UNPACKED_RATIO", 2)
    path = write(WRITERS[ending](BOMBS[kind]) * 128, "bomb.txt" + ending)
    tracemalloc.start()
    with pytest.raises(ValueError, match=r"^.*MiB, the limit for .* decompress it first") as error:
        load(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert str(error.value).startswith(
        f"{path}: the archive of {path.stat().st_size} bytes unpacks"
    )
    assert peak < 2**24
    bomb = write(WRITERS[ending](TEXT.encode()), "small.txt" + ending)
    assert load(bomb).n == 3


def test_an_npz_that_unpacks_without_end_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(formats, "UNPACKED_ALWAYS_BYTES", 2**20)
    X, y = np.ones((2**14, 16)), np.ones(2**14)
    np.savez_compressed(tmp_path / "bomb.npz", X=X, y=y)
    with pytest.raises(
        ValueError, match=r"^.*bomb\.npz: the archive of .* save it with numpy.savez"
    ):
        load(tmp_path / "bomb.npz")
    np.savez(tmp_path / "plain.npz", X=X, y=y)
    assert load(tmp_path / "plain.npz").n == 2**14


def test_the_documented_limit_stops_a_decompression_bomb(write):
    zeros = bz2.compress(bytes(2**23))
    path = write(zeros * 33, "bomb.bz2")  # 264 MiB in 1 KiB
    with pytest.raises(ValueError, match="unpacks to more than 256 MiB"):
        load(path)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
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
    ],
)
def test_bad_npz_is_refused_by_name(tmp_path, arrays, message):
    path = tmp_path / "data.npz"
    np.savez(path, **arrays)
    with pytest.raises(ValueError, match=r".") as error:
        load(path)
    assert str(error.value).startswith(str(path))
    assert message in str(error.value)


@pytest.mark.parametrize("kind", ["libsvm", "npz", "mat"])
@pytest.mark.parametrize("sparse", [False, True])
def test_an_exported_problem_is_read_back_unchanged(tmp_path, kind, sparse):
    X = np.random.default_rng(0).standard_normal((6, 9)) * (np.arange(54).reshape(6, 9) % 4 == 0)
    problem = SoftMarginDual(
        sp.csr_array(X) if sparse else X, np.array([1.0, -1, 1, -1, 1, -1]), C=2
    )
    path = tmp_path / f"data{WRITERS_OF_PROBLEMS[kind][0]}"
    write_problem(problem, kind, path)
    data = load(path, n_features=9)
    assert np.array_equal(data.X.toarray(), X)
    assert np.array_equal(data.y, problem.y)
