"""Data files of any content: a data set, or one message that names file and line."""

import lzma

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from dualgap.problems import Dataset, datasets

VALID = "+1 1:0.5 3:-2 # first\n-1 2:1e-3\n\n-1 qid:3 1:1 2:0\n+1\n"
bounded = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
# what is said of a file as a whole, or of what was asked for
WHOLE = ("is empty, it has no samples", "has no features; pass n_features if all of them are zero")
ASKED = ("positive: ", "task: ")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "any.libsvm"


def outcome(path, content, **options):
    """Load a file of this content: a Dataset, or the message of the refusal."""
    path.write_bytes(content)
    try:
        data = datasets.load("libsvm_file", path=path, **options)
    except ValueError as refusal:
        message = str(refusal)
        assert len(message.splitlines()) == 1
        assert len(message) <= 1000
        if not message.startswith(ASKED):
            assert message.startswith(str(path))
            assert (
                f"{path}, line " in message or "after line " in message or message.endswith(WHOLE)
            ), message
        return message
    assert isinstance(data, Dataset)
    assert np.isfinite(data.X.data if hasattr(data.X, "nnz") else data.X).all()
    assert np.isfinite(data.y).all()
    return data


@bounded
@given(content=st.binary(max_size=60))
@example(content=b"\xff\xfe1\x00")
@example(content=b"1 1:1\x00\n")
@example(content=b"1\r-1 1:2\r")
def test_any_bytes_are_read_or_refused_with_file_and_line(path, content):
    outcome(path, content, task="regression")


_PLAIN = """
1 -1 +1 0 nan inf -inf 1e999 1e-999 0x1p3 1_0 1,5 1d3
1:1 2:2 3:-1e-3 0:1 -1:1 01:1 +1:1 1_0:1 1.0:1 1e0:1 :1 1: 1::1 1:1:1
1000000000000000000:1 2147483647:1 2147483648:1 99999999999999999999999:1
1:nan 2:inf 2:1e999 2:1_0 2:0x1 qid:1 qid:x qid:99999999999999999999 # é ١:1 2:١ ²:1 1:1,5
"""
_ODD = ("1 :1", "1: 1", "# x", "\x00", "\ufeff", "\x0b")
_WORDS = st.sampled_from([*_PLAIN.split(), *_ODD, *VALID.splitlines()])
_SPACES = st.sampled_from([" ", " ", " ", "  ", "\t", "\n", "\n", "\r\n", "\r", "\x0c", "\x85", ""])


@bounded
@given(pieces=st.lists(st.tuples(_WORDS, _SPACES), max_size=12), zero_based=st.booleans())
@example(pieces=[("1", " "), ("1000000000000000000:1", "\n")], zero_based=False)
@example(pieces=[("1", " "), ("1_0:1", "\n")], zero_based=False)
@example(pieces=[("1", " "), ("qid:x", "\n")], zero_based=False)
def test_any_sequence_of_format_tokens_is_read_or_refused(path, pieces, zero_based):
    content = "".join(word + space for word, space in pieces).encode()
    outcome(path, content, task="regression", zero_based=zero_based)


@bounded
@given(cut=st.integers(0, 120), at=st.integers(0, 119), bits=st.integers(1, 255))
def test_a_damaged_archive_is_refused_by_name_or_was_not_damaged(tmp_path, cut, at, bits):
    archive = bytearray(lzma.compress((VALID * 40).encode()))
    size = len(archive)
    archive[at % size] ^= bits
    content = bytes(archive)[: max(0, size - cut)]
    message = outcome(tmp_path / "any.libsvm.xz", content)
    assert isinstance(message, str)


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("1 1:2\r\n-1 1:3\r\n", "1 1:2\n-1 1:3\n"),
        ("1 1:2\n-1 1:3", "1 1:2\n-1 1:3\n"),
        (VALID, "1 1:0.5 2:0 3:-2\n-1 2:0.001\n-1 1:1\n1\n"),
        ("1\t1:2 \n\n\n-1 1:3#x\n", "1 1:2\n-1 1:3\n"),
        ("+1 1:2e0\n-1.0 1:3\n", "1 1:2\n-1 1:3\n"),
    ],
    ids=["CRLF", "no last line end", "all that there is", "spaces and comments", "other numerals"],
)
def test_equivalent_spellings_have_one_checksum(path, text, same):
    assert outcome(path, text.encode()).checksum == outcome(path, same.encode()).checksum


def test_the_largest_index_allocates_nothing(path):
    from dualgap.problems import RBF, SoftMarginDual

    data = outcome(path, b"1 2147483647:2\n-1 1:1\n")
    problem = SoftMarginDual(data.X, data.y, 1.0, RBF(0.5))
    np.testing.assert_array_equal(problem.kernel.diagonal(problem.X), [1.0, 1.0])
    np.testing.assert_array_equal(
        SoftMarginDual(data.X, data.y).samples.gram().diagonal(), [4.0, 1.0]
    )
