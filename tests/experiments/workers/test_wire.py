"""Messages: what was packed is read back, and anything else is refused."""

import math
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dualgap.experiments.workers.wire import Frames, Layout, Malformed, frame, pack


@dataclass(frozen=True)
class Value:
    name: str
    size: float
    counts: dict[str, int]


LAYOUT = Layout[Value](Value)
VALUE = Value("ä", math.inf, {"a": 3})
ARRAYS = {"x": np.arange(6.0).reshape(2, 3), "b": np.array(math.nan)}
MESSAGE = pack(VALUE, ARRAYS)


def _shapes(_):
    return {"x": ((2, None),), "b": ((), (4,)), "c": ((1,),)}


def test_a_message_is_read_back():
    value, arrays = LAYOUT.read(MESSAGE, _shapes)
    assert (value.size, value.counts) == (math.inf, {"a": 3})
    assert {name: array.tobytes() for name, array in arrays.items()} == {
        name: array.tobytes() for name, array in ARRAYS.items()
    }


@given(st.data())
def test_a_damaged_message_is_refused_or_decoded_consistently(data):
    content = bytearray(MESSAGE)
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(content) - 1))
        kind = data.draw(st.sampled_from(["byte", "cut", "insert"]))
        if kind == "byte":
            content[at] = data.draw(st.integers(0, 255))
        elif kind == "cut":
            del content[at : at + data.draw(st.integers(1, 20))]
        else:
            content[at:at] = data.draw(st.binary(max_size=20))
        if not content:
            break
    try:
        value, arrays = LAYOUT.read(bytes(content), _shapes)
    except Malformed:
        return
    assert isinstance(value, Value)
    assert all(array.dtype == float for array in arrays.values())


@pytest.mark.parametrize(
    ("message", "fault"),
    [
        (pack(VALUE, {"y": np.zeros(2)}), "an unexpected array 'y'"),
        (pack(VALUE, {"x": np.zeros((3, 3))}), r"x: has shape \(3, 3\), expected \(\(2, None\),\)"),
        (pack({"name": 3, "size": 1.0, "counts": {}}), "its header: name: "),
        (pack({"name": "", "size": 1.0, "counts": {"a": "b"}}), "counts.a"),
        (MESSAGE + b".", "has data after its last array"),
        (pack(VALUE, {"c": np.zeros(1)}).replace(b'"c", [1]', b'"b", [4]'), "b: is truncated"),
    ],
)
def test_unexpected_fields_are_named(message, fault):
    with pytest.raises(Malformed, match=fault):
        LAYOUT.read(message, _shapes)


def test_a_message_beyond_its_size_is_not_read():
    with pytest.raises(Malformed, match="at most 10 are expected"):
        LAYOUT.read(MESSAGE, _shapes, max_bytes=10)


@given(st.lists(st.integers(1, 30)))
def test_frames_are_decoded_from_arbitrary_chunks(lengths):
    sent = frame(b"p", b"solving") + frame(b"r", MESSAGE)
    frames, decoded = Frames(), []
    for length in [*lengths, len(sent)]:
        decoded += frames.of(sent[:length])
        sent = sent[length:]
    assert decoded == [(b"p", b"solving"), (b"r", MESSAGE)]
