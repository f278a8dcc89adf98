"""Messages from a process in which user code may have run: never a pickle.

A message is a header in JSON and raw arrays:

    8 bytes    length of the header, little endian
    header     [value, [[name, shape], ...]], in UTF-8
    arrays     one after another, float64, little endian, in C order; and nothing after the last one

The reader states the type of the value, the names and shapes that arrays may have, and the largest size.
Anything else is `Malformed`, which is detected before it is used or takes memory.
A frame is a message in a pipe: one byte for its kind, 8 bytes for its length, and the message.
"""

from __future__ import annotations

import io
import json
import math
import os
import signal
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, BinaryIO, Generic, TypeVar

from pydantic import NonNegativeInt, TypeAdapter, ValidationError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Arrays = Mapping[str, NDArray[np.float64]]

T = TypeVar("T")
# the shapes that each array may have, by its name; None means any length
Shapes = Mapping[str, tuple[tuple[int | None, ...], ...]]

# kinds of frames
PHASE = b"p"
RETURNED = b"r"
RAISED = b"e"
ENDED = b"x"
MOST_BYTES = 2**31  # of a frame, and of a message without a smaller limit
_LENGTH_BYTES = 8
_FLOAT64_BYTES = 8
_SIGNALS = {each.value: each.name for each in signal.Signals}  # some numbers have no name


class Malformed(ValueError):
    """A message does not have the layout that its reader expects; the text says where."""


class WorkerExit(Exception):
    """The process ended before its call did.

    Attributes
    ----------
    signal : the name of the signal that ended it; empty if it exited by itself.
    code : its exit code, negative for a signal.
    """

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code
        self.signal = _SIGNALS.get(-code, f"signal {-code}") if code < 0 else ""

    def __str__(self) -> str:
        end = f"was killed by {self.signal}" if self.signal else f"ended with exit code {self.code}"
        return f"the process {end}"


class WorkerError(Exception):
    """The exception that a call raised, or that its process sent no valid answer, as text."""


def pack(value: object, arrays: Arrays | None = None) -> bytes:
    """Return the message of a value (numbers, text, lists and mappings) and arrays by their names."""
    import numpy as np  # noqa: PLC0415 - after a worker's environment is set

    floats = {k: np.ascontiguousarray(a, "<f8") for k, a in (arrays or {}).items()}
    shapes = [(name, np.shape(array)) for name, array in (arrays or {}).items()]
    header = json.dumps((value, shapes), default=_plain).encode(errors="backslashreplace")
    parts = [a.tobytes() for a in floats.values()]
    return b"".join([len(header).to_bytes(_LENGTH_BYTES, "little"), header, *parts])


def _plain(value: Any) -> Any:
    """Convert a dataclass instance to a mapping, a NumPy number to a Python one, others to text."""
    if hasattr(value, "__dataclass_fields__"):
        return vars(value)
    return value.item() if hasattr(value, "item") else str(value)


class Layout(Generic[T]):
    """The layout of one kind of message.

    Parameters
    ----------
    value : the type of its value, anything that pydantic validates.
    """

    def __init__(self, value: Any) -> None:
        header: Any = tuple[value, list[tuple[str, list[NonNegativeInt]]]]
        self._header: TypeAdapter[tuple[T, list[tuple[str, list[int]]]]] = TypeAdapter(header)

    def read(
        self,
        message: BinaryIO | bytes,
        shapes: Callable[[T], Shapes] = lambda _: {},
        max_bytes: int = MOST_BYTES,
    ) -> tuple[T, Arrays]:
        """Return the value and the arrays of a message.

        Parameters
        ----------
        shapes : returns the possible shapes of the arrays for a value.
        max_bytes : largest size of the message in bytes.

        Raises
        ------
        Malformed
            If the message has another layout.
        """
        import numpy as np  # noqa: PLC0415 - after a worker's environment is set

        file = io.BytesIO(message) if isinstance(message, bytes) else message
        size = file.seek(0, os.SEEK_END)
        if size > max_bytes:
            raise Malformed(f"has {size} bytes, but at most {max_bytes} are expected")
        file.seek(0)
        length = int.from_bytes(file.read(_LENGTH_BYTES), "little")
        if length > size - _LENGTH_BYTES:
            raise Malformed("its header is truncated")
        try:
            value, declared = self._header.validate_json(file.read(length), strict=True)
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            field = ".".join(map(str, first["loc"][1:]))[:100]
            raise Malformed(f"its header: {field}: {first['msg']}".replace(": : ", ": ")) from None
        expected = shapes(value)
        arrays: dict[str, NDArray[np.float64]] = {}
        for name, shape in declared:
            if name not in expected or name in arrays:
                raise Malformed(f"has an unexpected array {name[:40]!r}")
            candidates = [c for c in expected[name] if len(c) == len(shape)]
            if not any(
                all(b in (None, a) for a, b in zip(shape, candidate, strict=True))
                for candidate in candidates
            ):
                raise Malformed(f"{name}: has shape {tuple(shape)}, expected {expected[name]}")
            length = math.prod(shape) * _FLOAT64_BYTES
            if length > size - file.tell():
                raise Malformed(f"{name}: is truncated")
            arrays[name] = np.frombuffer(bytearray(file.read(length)), "<f8").reshape(shape)
        if file.tell() != size:
            raise Malformed("has data after its last array")
        return value, arrays


def frame(kind: bytes, content: bytes) -> bytes:
    """Return a frame of one of the kinds."""
    return kind + len(content).to_bytes(_LENGTH_BYTES, "little") + content


class Frames:
    """Splits the bytes from a pipe into frames, however they arrive."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def of(self, received: bytes) -> Iterator[tuple[bytes, bytes]]:
        """Yield the kind and the content of each frame that is now complete.

        Raises
        ------
        Malformed
            If the bytes are not a frame.
        """
        self._buffer += received
        head = 1 + _LENGTH_BYTES
        while len(self._buffer) >= head:
            kind, length = bytes(self._buffer[:1]), int.from_bytes(self._buffer[1:head], "little")
            if kind not in (PHASE, RETURNED, RAISED, ENDED) or length > MOST_BYTES:
                raise Malformed("its process sent bytes that are not an answer")
            if len(self._buffer) < head + length:
                return
            content = bytes(self._buffer[head : head + length])
            del self._buffer[: head + length]
            yield kind, content
