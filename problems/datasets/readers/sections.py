"""Sections of files of samples: of LIBSVM text, of NumPy arrays, and the base of those of any format."""

import io
from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from dualgap.problems.blocks import BlockSource
from dualgap.problems.datasets.readers.formats import (
    check_readable,
    foreign_format,
    line_fault,
    parse_libsvm,
)
from dualgap.problems.validation import CORRUPT_FILE_ERRORS


class FileSection(NamedTuple):
    """Rows `first` to `end` − 1 of a file; `extent` is their range of row groups, bytes or rows."""

    file: str
    first: int
    end: int
    extent: tuple[int, int]


@dataclass(frozen=True)
class FileSource(BlockSource):
    """Blocks that are sections of files.

    Attributes
    ----------
    positive : the label that becomes +1.
    """

    sections: tuple[FileSection, ...]
    positive: float | str | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """File and range of rows of each block."""
        return tuple(f"{part.file}, rows {part.first} to {part.end - 1}" for part in self.sections)

    def row_label(self, k: int, row: int) -> str:
        """Return the file and the row in it, counted from 0."""
        return f"{self.sections[k].file}, row {self.sections[k].first + row}"

    def load(self, k: int, original: bool) -> tuple[Any, Any, Any]:
        """Read one section of a file."""
        return self._read(self.sections[k])

    @abstractmethod
    def _read(self, section: FileSection) -> tuple[Any, Any, Any]: ...


@dataclass(frozen=True)
class TextSource(FileSource):
    """Lines of LIBSVM text, whose indices begin at 1, or at 0 with `zero_based`."""

    zero_based: bool = False

    def _read(self, section: FileSection) -> tuple[Any, Any, Any]:
        with Path(section.file).open("rb") as file:
            file.seek(section.extent[0])
            text = file.read(section.extent[1] - section.extent[0])
        if section.first == section.end:
            return scipy.sparse.csr_array((0, 1)), np.empty(0), None
        try:
            X, y = parse_libsvm(io.BytesIO(text), self.zero_based)
        except (ValueError, OverflowError) as error:
            lines = filter(_has_sample, text.splitlines())
            faults = (foreign_format(line) or line_fault(line, self.zero_based) for line in lines)
            numbered = ((row, fault) for row, fault in enumerate(faults, section.first) if fault)
            row, fault = next(numbered, (section.first, error))
            raise ValueError(f"X: {section.file}, row {row}: {fault}") from error
        return X, y, None


@dataclass(frozen=True)
class ArrayFileSource(FileSource):
    """Rows of `X_k.npy`, with those of `y_k.npy` and, if it exists, of `weight_k.npy`."""

    def _read(self, section: FileSection) -> tuple[Any, Any, Any]:
        files = [Path(section.file), sibling(section.file, "y"), sibling(section.file, "weight")]
        arrays = [
            _open_array(file) if i < 2 or file.exists() else None for i, file in enumerate(files)
        ]
        lengths = {len(array) for array in arrays if array is not None}
        if len(lengths) > 1:
            raise ValueError(f"X: {section.file} and its y or weight differ in length: {lengths}")
        rows = slice(*section.extent)
        X, y, weight = (None if array is None else np.array(array[rows]) for array in arrays)
        return X, y, weight


def text_sections(file: Path, rows: int) -> Iterator[FileSection]:
    """Yield sections of LIBSVM text, cut at ends of lines."""
    first = end = start = offset = 0
    with file.open("rb") as lines:
        for line in lines:
            offset += len(line)
            end += _has_sample(line)
            if end - first == rows:
                yield FileSection(str(file), first, end, (start, offset))
                first, start = end, offset
    if end > first or not end:
        yield FileSection(str(file), first, end, (start, offset))


def array_sections(file: Path, rows: int) -> Iterator[FileSection]:
    """Yield sections of at most `rows` rows of an array."""
    check_readable(sibling(file, "y"))
    n = len(_open_array(file))
    for first in range(0, max(n, 1), rows):
        end = min(first + rows, n)
        yield FileSection(str(file), first, end, (first, end))


def _open_array(file: Path) -> NDArray[Any]:
    """Return the array in a file, of at least one dimension; ValueError for any other content."""
    try:
        array = np.lib.format.open_memmap(file, mode="r")  # np.load takes a zip for a mapping
        if array.ndim == 0:
            raise ValueError("it is a single number")
    except (*CORRUPT_FILE_ERRORS, ValueError) as error:
        raise ValueError(f"{file}: is not a complete array: {error}") from error
    return array


def sibling(file: str | Path, name: str) -> Path:
    """Return the file of another array of the same rows: y_3.npy for X_3.npy."""
    return Path(file).with_name(name + Path(file).name.removeprefix("X"))


def _has_sample(line: bytes) -> bool:
    return bool(line.partition(b"#")[0].strip())
