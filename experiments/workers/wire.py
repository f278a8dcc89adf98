"""What crosses from a process in which code from outside may have run: never a pickle.

A message is a header in JSON and raw arrays:

    8 bytes    length of the header, little endian
    header     [value, [[name, shape], ...]], in UTF-8
    arrays     one after another, float64, little endian, in C order; and nothing after the last one

Whoever reads one says beforehand of which type the value is, which names and shapes arrays may have, and
how many bytes there may be. Anything else is `Malformed`, found before it is believed or takes memory.
A frame is how a message is sent through a socket: a byte for its kind, 8 bytes for its length, and it.
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
# of each array, by its name, the shapes that it may have; None stands for any length
Shapes = Mapping[str, tuple[tuple[int | None, ...], ...]]

PHASE, RETURNED, RAISED, ENDED = b"p", b"r", b"e", b"x"  # kinds of frames
MOST_BYTES = 2**31  # of a frame, and of a message whose size nothing else bounds
_LENGTH = 8  # bytes
_ITEM = 8  # bytes of a float64
_SIGNALS = {each.value: each.name for each in signal.Signals}  # some have no name


class Malformed(ValueError):
    """A message is not laid out as its reader expects; the text says where."""


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
        how = f"was killed by {self.signal}" if self.signal else f"ended with exit code {self.code}"
        return f"the process {how}"


class WorkerError(Exception):
    """What a call raised, or that its process sent no answer, as text."""


def pack(value: object, arrays: Arrays | None = None) -> bytes:
    """Return a message: a value of numbers, text, lists and mappings, and arrays by their names."""
    import numpy as np  # noqa: PLC0415 - after a worker's environment is set

    floats = {k: np.ascontiguousarray(a, "<f8") for k, a in (arrays or {}).items()}
    shapes = [(name, np.shape(array)) for name, array in (arrays or {}).items()]
    header = json.dumps((value, shapes), default=_plain).encode(errors="backslashreplace")
    parts = [a.tobytes() for a in floats.values()]
    return b"".join([len(header).to_bytes(_LENGTH, "little"), header, *parts])


def _plain(value: Any) -> Any:
    """Return an instance of a dataclass as a mapping, a number of NumPy's as one, others as text."""
    if hasattr(value, "__dataclass_fields__"):
        return vars(value)
    return value.item() if hasattr(value, "item") else str(value)


class Layout(Generic[T]):
    """How one kind of message is laid out.

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
        most: int = MOST_BYTES,
    ) -> tuple[T, Arrays]:
        """Return the value and the arrays of a message.

        Parameters
        ----------
        shapes : of the arrays that a value comes with. most : bytes that the message may have.

        Raises
        ------
        Malformed
            If it is laid out otherwise.
        """
        import numpy as np  # noqa: PLC0415 - after a worker's environment is set

        file = io.BytesIO(message) if isinstance(message, bytes) else message
        size = file.seek(0, os.SEEK_END)
        if size > most:
            raise Malformed(f"has {size} bytes, where at most {most} are expected")
        file.seek(0)
        length = int.from_bytes(file.read(_LENGTH), "little")
        if length > size - _LENGTH:
            raise Malformed("its header is cut short")
        try:
            value, declared = self._header.validate_json(file.read(length), strict=True)
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            place = ".".join(map(str, first["loc"][1:]))[:100]
            raise Malformed(f"its header: {place}: {first['msg']}".replace(": : ", ": ")) from None
        expected = shapes(value)
        found: dict[str, NDArray[np.float64]] = {}
        for name, shape in declared:
            if name not in expected or name in found:
                raise Malformed(f"has an array {name[:40]!r} that is not expected")
            alike = [own for own in expected[name] if len(own) == len(shape)]
            if not any(
                all(b in (None, a) for a, b in zip(shape, own, strict=True)) for own in alike
            ):
                raise Malformed(f"{name}: has shape {tuple(shape)}, expected {expected[name]}")
            count = math.prod(shape)
            if count * _ITEM > size - file.tell():
                raise Malformed(f"{name}: is cut short")
            found[name] = np.frombuffer(bytearray(file.read(count * _ITEM)), "<f8").reshape(shape)
        if file.tell() != size:
            raise Malformed("goes on after its last array")
        return value, found


def frame(kind: bytes, content: bytes) -> bytes:
    """Return a frame of one of the kinds."""
    return kind + len(content).to_bytes(_LENGTH, "little") + content


class Frames:
    """Takes frames out of the bytes that a socket gives, whatever these are and however they are cut."""

    def __init__(self) -> None:
        self._rest = bytearray()

    def of(self, received: bytes) -> Iterator[tuple[bytes, bytes]]:
        """Yield the kind and the content of each frame that is complete now.

        Raises
        ------
        Malformed
            If something else was received.
        """
        self._rest += received
        head = 1 + _LENGTH
        while len(self._rest) >= head:
            kind, length = bytes(self._rest[:1]), int.from_bytes(self._rest[1:head], "little")
            if kind not in (PHASE, RETURNED, RAISED, ENDED) or length > MOST_BYTES:
                raise Malformed("its process sent something that is no answer")
            if len(self._rest) < head + length:
                return
            content = bytes(self._rest[head : head + length])
            del self._rest[: head + length]
            yield kind, content
