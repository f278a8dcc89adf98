"""Files of samples that are read one block of rows at a time, never as a whole.

X = open_blocks("data/*.parquet", target="label", rows=500_000)
solution = solve(SoftMarginPrimal(X, None, C=1.0), NearRows())
"""

import io
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from glob import glob
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
import scipy

from dualgap.problems.blocks import Blocks, BlockSource
from dualgap.problems.datasets.readers.formats import (
    check_readable,
    file_extensions,
    foreign_format,
    line_fault,
    parse_libsvm,
)
from dualgap.problems.datasets.readers.tables import check_names
from dualgap.problems.datasets.source import DataInBlocks, Loadable, count
from dualgap.problems.validation import CORRUPT_FILE_ERRORS

DEFAULT_BLOCK_ROWS = 500_000  # 0.4 GB of float64 with 100 features
_EXTENSIONS = (".parquet", ".npy", ".libsvm", ".svmlight", ".svm", ".txt", ".dat")
# formats that are always read as a whole, with the data set that reads them
_READ_WHOLE = {".npz": "libsvm_file", ".mat": "libsvm_file"} | dict.fromkeys(
    (".csv", ".tsv", ".arff"), "table_file"
)


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
class ParquetSource(FileSource):
    """Row groups of Parquet files, with a column of labels or targets and perhaps one of weights."""

    features: tuple[str, ...] = ()
    target: str = ""
    weight: str | None = None

    def _read(self, section: FileSection) -> tuple[Any, Any, Any]:
        from pyarrow import parquet  # noqa: PLC0415 - slow to import

        with parquet.ParquetFile(section.file) as file:

            def column(name: str) -> Any:
                groups = file.read_row_groups(range(*section.extent), columns=[name])
                return _values(groups[name])

            X = np.empty((section.end - section.first, len(self.features)))
            for j, name in enumerate(self.features):
                X[:, j] = column(name)
            return X, column(self.target), column(self.weight) if self.weight else None


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
        files = [Path(section.file), _sibling(section.file, "y"), _sibling(section.file, "weight")]
        try:
            arrays = [
                np.load(file, "r") if i < 2 or file.exists() else None
                for i, file in enumerate(files)
            ]
        except (EOFError, ValueError) as error:
            raise ValueError(
                f"X: {section.file}, or its y or weight, is not a complete array: {error}"
            ) from error
        lengths = {len(array) for array in arrays if array is not None}
        if len(lengths) > 1:
            raise ValueError(f"X: {section.file} and its y or weight differ in length: {lengths}")
        rows = slice(*section.extent)
        X, y, weight = (None if array is None else np.array(array[rows]) for array in arrays)
        return X, y, weight


def open_blocks(
    path: str | Path | Sequence[str | Path],
    target: str | None = None,
    weight: str | None = None,
    rows: int = DEFAULT_BLOCK_ROWS,
    positive: float | str | None = None,
    zero_based: bool = False,
) -> Blocks:
    """Return the samples of files in blocks, each of which is read and checked once.

    Parameters
    ----------
    path : files of one format, given by a list, a folder, a pattern such as ``data/*.parquet``, or one
        file: Parquet; arrays ``X_k.npy`` (m, d), each along with ``y_k.npy`` (m,) and perhaps
        ``weight_k.npy`` (m,); or uncompressed LIBSVM text. In a folder, or by a pattern, files whose
        names begin with ``.`` or ``_`` are ignored.
    target : Parquet only, and required there: the column of labels or targets. All others are features.
    weight : for Parquet only: the column of weights, which multiply C, if there is one.
    rows : maximum number of rows per block; a Parquet row group is one block even if it has more.
    positive : the label that becomes +1, all others becoming −1; needed for labels in words, unless
        there are two and one of them is +, yes, true, positive or pos.
    zero_based : whether indices of LIBSVM text begin at 0 instead of 1.

    Raises
    ------
    OSError
        If a file is missing or cannot be read.
    ValueError
        If a file or a value is invalid; the message names the file and the row, counted from 0.
    """
    return Blocks.checked(file_source(path, target, weight, rows, positive, zero_based))


def file_source(
    path: str | Path | Sequence[str | Path],
    target: str | None,
    weight: str | None,
    rows: int,
    positive: float | str | None,
    zero_based: bool = False,
) -> FileSource:
    """Cut files into sections, see `open_blocks`; LIBSVM text is scanned to count its lines."""
    files = _files(path)
    kinds = [file.suffix.lower() for file in files]
    if odd := [file for file, kind in zip(files, kinds, strict=True) if kind != kinds[0]]:
        raise ValueError(f"path: files of one format are needed, got {files[0]} and {odd[0]}")
    if zero_based and kinds[0] in (".parquet", ".npy"):
        raise ValueError(f"zero_based: is only for LIBSVM text, not for {files[0]}; leave it out")
    if kinds[0] == ".parquet":
        return _parquet(files, target, weight, rows, positive)
    if target is not None or weight is not None:
        name = "weight" if target is None else "target"
        raise ValueError(f"{name}: is only for Parquet, not for {files[0]}; leave it out")
    if kinds[0] == ".npy":
        sections = (section for file in files for section in _array_sections(file, rows))
        return ArrayFileSource(tuple(sections), positive)
    sections = (section for file in files for section in _text_sections(file, rows))
    return TextSource(tuple(sections), positive, zero_based)


def _files(path: str | Path | Sequence[str | Path]) -> list[Path]:
    """Return the files that a path, a folder, a pattern or a list refers to."""
    if not isinstance(path, (str, Path)):
        files = [Path(item).expanduser() for item in path]
    elif (root := Path(path).expanduser()).is_file():
        files = [root]
    else:
        candidates = sorted(root.glob("*") if root.is_dir() else map(Path, glob(str(root))))
        files = [file for file in candidates if file.name[0] not in "._" and file.is_file()]
        if root.is_dir():
            accepted = (*_EXTENSIONS, *_READ_WHOLE)
            files = [file for file in files if file_extensions(file)[0] in accepted]
    if files and all(file.suffix.lower() == ".npy" for file in files):
        files = [file for file in files if file.name.startswith("X")]
    if not files:
        raise FileNotFoundError(
            f"{path}: no such file, and no matching Parquet, X_k.npy or LIBSVM files "
            f"({', '.join(_EXTENSIONS)})"
        )
    files = [file.absolute() for file in files]  # workers may have another working directory
    for file in files:
        check_readable(file)
        kind = file.suffix.lower()
        if kind in (".gz", ".bz2", ".xz", ".zip"):
            raise ValueError(
                f"{file}: is compressed and cannot be read in blocks; decompress it first"
            )
        if kind in _READ_WHOLE:
            raise ValueError(
                f"{file}: cannot be read in blocks, unlike Parquet, X_k.npy and LIBSVM text; "
                f"{_READ_WHOLE[kind]} reads it as a whole"
            )
    return files


def _parquet(
    files: list[Path],
    target: str | None,
    weight: str | None,
    rows: int,
    positive: float | str | None,
) -> ParquetSource:
    """Return the row groups of files, which must have the same columns."""
    import pyarrow  # noqa: PLC0415 - slow to import
    from pyarrow import parquet, types  # noqa: PLC0415

    if target is None:
        raise ValueError("target: name the column of labels or targets")
    features, sections = tuple[str, ...](), list[FileSection]()
    for path in files:
        try:
            file = parquet.ParquetFile(path)
        except pyarrow.ArrowException as error:
            raise ValueError(f"{path}: is not a Parquet file: {error}") from error
        with file:
            schema, groups = file.schema_arrow, file.metadata
            check_names(schema.names, f"X: {path}: its schema")
            for name, column in (("target", target), ("weight", weight)):
                if column is not None and column not in schema.names:
                    raise ValueError(f"{name}: {path} has no {column!r}, it has {schema.names[:9]}")
            # an index that pandas or Dask stored as a column is not a feature
            index = (schema.pandas_metadata or {}).get("index_columns", [])
            not_features = {target, weight}.union(name for name in index if isinstance(name, str))
            columns = tuple(name for name in schema.names if name not in not_features)
            text = [name for name in columns if not _is_number(types, schema.field(name).type)]
            if text:
                raise ValueError(
                    f"X: {path}: features must be numbers, but {', '.join(text[:9])} are not"
                )
            features = features or columns
            if different := set(columns) ^ set(features):
                raise ValueError(
                    f"X: {path} and {files[0]} differ in columns: {sorted(different)[:9]}"
                )
            lengths = [groups.row_group(i).num_rows for i in range(groups.num_row_groups)]
        sections += _row_group_sections(str(path), lengths, rows)
    return ParquetSource(tuple(sections), positive, features, target, weight)


def _row_group_sections(file: str, lengths: list[int], rows: int) -> Iterator[FileSection]:
    """Yield runs of consecutive row groups with at most `rows` rows, or one group that has more."""
    row = start = 0
    for group, length in enumerate(lengths):
        size = sum(lengths[start:group])
        if start < group and size + length > rows:
            yield FileSection(file, row, row + size, (start, group))
            row, start = row + size, group
    yield FileSection(file, row, row + sum(lengths[start:]), (start, len(lengths)))


def _text_sections(file: Path, rows: int) -> Iterator[FileSection]:
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


def _array_sections(file: Path, rows: int) -> Iterator[FileSection]:
    """Yield sections of at most `rows` rows of an array."""
    check_readable(_sibling(file, "y"))
    try:
        n = len(np.load(file, "r"))
    except (*CORRUPT_FILE_ERRORS, TypeError, ValueError) as error:
        raise ValueError(f"{file}: is not an array of samples: {error}") from error
    for first in range(0, max(n, 1), rows):
        end = min(first + rows, n)
        yield FileSection(str(file), first, end, (first, end))


def _sibling(file: str | Path, name: str) -> Path:
    """Return the file of another array of the same rows: y_3.npy for X_3.npy."""
    return Path(file).with_name(name + Path(file).name.removeprefix("X"))


def _has_sample(line: bytes) -> bool:
    return bool(line.partition(b"#")[0].strip())


def _is_number(types: Any, kind: Any) -> bool:
    return types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind)


def _values(column: Any) -> Any:
    """Return a Parquet column as an array: numbers, with NaN for missing values, or text."""
    from pyarrow import int8, string, types  # noqa: PLC0415 - slow to import

    if types.is_boolean(column.type):
        column = column.cast(int8())
    elif not _is_number(types, column.type):
        column = column.cast(string())
    return column.to_numpy()


@dataclass(frozen=True, kw_only=True)
class BlockFiles(Loadable):
    """Files of samples that are read one block of rows at a time, never as a whole; see `open_blocks`.

    Parameters
    ----------
    path : a file, a folder, or a pattern such as ``data/*.parquet``; ``~`` is the home folder.
    target : the Parquet column of labels or targets.
    weight : the Parquet column of weights, which multiply C, if there is one.
    rows : maximum number of rows per block.
    positive : the label that becomes +1, all others becoming −1.
    zero_based : whether indices of LIBSVM text begin at 0 instead of 1.
    """

    name: ClassVar[str] = "blocks"
    task: ClassVar[Any] = "auto"
    size: ClassVar[str] = "as in the files"
    kind: ClassVar[str] = "file"
    origin: ClassVar[str] = "Parquet, X_k.npy with y_k.npy, or LIBSVM text, in blocks of rows"
    in_blocks: ClassVar[bool] = True

    path: str | Path
    target: str | None = None
    weight: str | None = None
    rows: int = count(DEFAULT_BLOCK_ROWS, low=1)
    positive: float | str | None = None
    zero_based: bool = False

    def check(self) -> None:
        """Raise OSError or ValueError if the files are missing or do not have the columns.

        The content of text is not checked here, as all its lines would have to be read.
        """
        files = _files(self.path)
        if files[0].suffix.lower() in (".parquet", ".npy"):
            self._source()

    def files(self) -> list[Path]:
        """Return all files that are read, including those of labels and weights of arrays."""
        files = _files(self.path)
        if files[0].suffix.lower() == ".npy":
            siblings = [_sibling(file, name) for file in files for name in ("y", "weight")]
            files += [file for file in siblings if file.exists()]
        return files

    def load(self) -> DataInBlocks:
        """Read and check every block once."""
        return DataInBlocks(Blocks.checked(self._source()))

    def _source(self) -> FileSource:
        return file_source(**vars(self))
