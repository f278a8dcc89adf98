"""Files of samples that are read a block of rows at a time, and never whole.

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
    endings_of,
    fault_of,
    other_format,
    parsed,
)
from dualgap.problems.datasets.readers.tables import check_names
from dualgap.problems.datasets.source import DataInBlocks, Loadable, count
from dualgap.problems.validation import DAMAGE

ROWS = 500_000  # of a block
_BATCH = 2**16  # rows of Parquet that are decoded at a time
_PACKED = (".gz", ".bz2", ".xz", ".zip")
_KNOWN = (".parquet", ".npy", ".libsvm", ".svmlight", ".svm", ".txt", ".dat")
_WHOLE = {".npz": "libsvm_file", ".mat": "libsvm_file"} | dict.fromkeys(
    (".csv", ".tsv", ".arff"), "table_file"
)  # formats that are read whole, and the data set that does


class Piece(NamedTuple):
    """Rows of a file from `first` up to `end`, and where they are: of row groups, bytes or rows."""

    file: str
    first: int
    end: int
    place: tuple[int, int]


@dataclass(frozen=True)
class FileSource(BlockSource):
    """Blocks that are pieces of files.

    Attributes
    ----------
    positive : the label that becomes +1.
    """

    pieces: tuple[Piece, ...]
    positive: float | str | None = None

    @property
    def names(self) -> tuple[str, ...]:  # type: ignore[override]
        """The file and the rows of each."""
        return tuple(f"{own.file}, rows {own.first} to {own.end - 1}" for own in self.pieces)

    def place(self, k: int, row: int) -> str:
        """Return the file, and the row in it, counted from 0."""
        return f"{self.pieces[k].file}, row {self.pieces[k].first + row}"

    def load(self, k: int, original: bool) -> tuple[Any, Any, Any]:
        """Read one piece of a file."""
        return self._read(self.pieces[k])

    @abstractmethod
    def _read(self, piece: Piece) -> tuple[Any, Any, Any]: ...


@dataclass(frozen=True)
class ParquetSource(FileSource):
    """Row groups of Parquet files; a column has the labels or targets, another may have weights."""

    features: tuple[str, ...] = ()
    target: str = ""
    weight: str | None = None

    def _read(self, piece: Piece) -> tuple[Any, Any, Any]:
        from pyarrow import parquet  # noqa: PLC0415 - slow to import

        X = np.empty((piece.end - piece.first, len(self.features)))
        rest: dict[str, list[Any]] = {name: [] for name in (self.target, self.weight) if name}
        at, columns = 0, [*self.features, *rest]
        with parquet.ParquetFile(piece.file) as file:
            groups = range(*piece.place)
            for batch in file.iter_batches(_BATCH, row_groups=groups, columns=columns):
                rows = slice(at, at := at + batch.num_rows)
                for j, name in enumerate(self.features):
                    X[rows, j] = _values(batch.column(name))
                for name, parts in rest.items():
                    parts.append(_values(batch.column(name)))
        vectors = [np.concatenate(parts) if parts else np.empty(0) for parts in rest.values()]
        return X[:at], vectors[0], vectors[1] if self.weight else None


@dataclass(frozen=True)
class TextSource(FileSource):
    """Lines of LIBSVM text, whose indices begin at 1, or at 0 if it is `zero_based`."""

    zero_based: bool = False

    def _read(self, piece: Piece) -> tuple[Any, Any, Any]:
        with Path(piece.file).open("rb") as file:
            file.seek(piece.place[0])
            text = file.read(piece.place[1] - piece.place[0])
        if piece.first == piece.end:
            return scipy.sparse.csr_array((0, 1)), np.empty(0), None
        try:
            X, y = parsed(io.BytesIO(text), self.zero_based)
        except (ValueError, OverflowError) as error:
            lines = filter(_has_sample, text.splitlines())
            faults = (other_format(line) or fault_of(line, self.zero_based) for line in lines)
            found = next(((row, fault) for row, fault in enumerate(faults) if fault), (0, error))
            raise ValueError(
                f"X: {piece.file}, row {piece.first + found[0]}: {found[1]}"
            ) from error
        return X, y, None


@dataclass(frozen=True)
class ArrayFileSource(FileSource):
    """Rows of `X_k.npy`, with those of `y_k.npy` and, if it is there, of `weight_k.npy`."""

    def _read(self, piece: Piece) -> tuple[Any, Any, Any]:
        files = [Path(piece.file), _beside(piece.file, "y"), _beside(piece.file, "weight")]
        try:
            arrays = [
                np.load(file, "r") if i < 2 or file.exists() else None
                for i, file in enumerate(files)
            ]
        except (EOFError, ValueError) as error:
            raise ValueError(
                f"X: {piece.file}, or its y or weight, is no complete array: {error}"
            ) from error
        lengths = {len(array) for array in arrays if array is not None}
        if len(lengths) > 1:
            raise ValueError(f"X: {piece.file} and its y or weight have other lengths: {lengths}")
        rows = slice(*piece.place)
        X, y, weight = (None if array is None else np.array(array[rows]) for array in arrays)
        return X, y, weight


def open_blocks(
    path: str | Path | Sequence[str | Path],
    target: str | None = None,
    weight: str | None = None,
    rows: int = ROWS,
    positive: float | str | None = None,
    zero_based: bool = False,
) -> Blocks:
    """Return the samples of files in blocks, each read and checked once.

    Parameters
    ----------
    path : files of one format, by a list, a folder, a pattern such as ``data/*.parquet``, or one file:
        Parquet; arrays ``X_k.npy`` (m, d) with ``y_k.npy`` (m,) and perhaps ``weight_k.npy`` (m,) beside
        them; or else LIBSVM text that is not compressed. In a folder, or by a pattern, files whose names
        begin with ``.`` or ``_`` are no data.
    target : Parquet only, and needed there: the column of labels or targets. All others are features.
    weight : Parquet only: the column of weights, which multiply C, if there is one.
    rows : of a block at most; a row group of Parquet is a block even if it has more.
    positive : the label that becomes +1, all others becoming −1; needed for labels in words, unless
        they are two of which one is +, yes, true, positive or pos.
    zero_based : of LIBSVM text, whether indices begin at 0 instead of 1.

    Raises
    ------
    OSError
        If a file is missing or cannot be read.
    ValueError
        If a file or a value is not usable; the message names the file and the row, counted from 0.
    """
    return Blocks.checked(source_of(path, target, weight, rows, positive, zero_based))


def source_of(
    path: str | Path | Sequence[str | Path],
    target: str | None,
    weight: str | None,
    rows: int,
    positive: float | str | None,
    zero_based: bool = False,
) -> FileSource:
    """Return the pieces of files, see `open_blocks`; of text the lines are counted."""
    files = _files(path)
    kinds = [file.suffix.lower() for file in files]
    if odd := [file for file, kind in zip(files, kinds, strict=True) if kind != kinds[0]]:
        raise ValueError(f"path: files of one format are needed, got {files[0]} and {odd[0]}")
    if zero_based and kinds[0] in (".parquet", ".npy"):
        raise ValueError(f"zero_based: is about LIBSVM text, and {files[0]} is none; leave it out")
    if kinds[0] == ".parquet":
        return _parquet(files, target, weight, rows, positive)
    if target is not None or weight is not None:
        name = "weight" if target is None else "target"
        raise ValueError(f"{name}: is a column of Parquet, and {files[0]} is none; leave it out")
    if kinds[0] == ".npy":
        pieces = (piece for file in files for piece in _array_pieces(file, rows))
        return ArrayFileSource(tuple(pieces), positive)
    pieces = (piece for file in files for piece in _text_pieces(file, rows))
    return TextSource(tuple(pieces), positive, zero_based)


def _files(path: str | Path | Sequence[str | Path]) -> list[Path]:
    """Return the files that a path stands for."""
    if not isinstance(path, (str, Path)):
        files = [Path(own).expanduser() for own in path]
    elif (given := Path(path).expanduser()).is_file():
        files = [given]
    else:
        found = sorted(given.glob("*") if given.is_dir() else map(Path, glob(str(given))))
        files = [file for file in found if file.name[0] not in "._" and file.is_file()]
        if given.is_dir():
            files = [file for file in files if endings_of(file)[0] in (*_KNOWN, *_WHOLE)]
    if files and all(file.suffix.lower() == ".npy" for file in files):
        files = [file for file in files if file.name.startswith("X")]
    if not files:
        raise FileNotFoundError(
            f"{path}: no such file, and no file of samples that it stands for: Parquet, X_k.npy or "
            f"LIBSVM text ({', '.join(_KNOWN)})"
        )
    files = [file.absolute() for file in files]  # workers may have another current folder
    for file in files:
        check_readable(file)
        kind = file.suffix.lower()
        if kind in _PACKED:
            raise ValueError(
                f"{file}: is compressed, and cannot be read in pieces; unpack it first"
            )
        if kind in _WHOLE:
            raise ValueError(
                f"{file}: is not read in blocks, which are Parquet, X_k.npy or LIBSVM text; "
                f"{_WHOLE[kind]} reads it whole"
            )
    return files


def _parquet(
    files: list[Path],
    target: str | None,
    weight: str | None,
    rows: int,
    positive: float | str | None,
) -> ParquetSource:
    """Return row groups of files that have the same columns."""
    import pyarrow  # noqa: PLC0415 - slow to import
    from pyarrow import parquet, types  # noqa: PLC0415

    if target is None:
        raise ValueError("target: name the column of labels or targets")
    features, pieces = tuple[str, ...](), list[Piece]()
    for path in files:
        try:
            file = parquet.ParquetFile(path)
        except pyarrow.ArrowException as error:
            raise ValueError(f"{path}: is no Parquet file: {error}") from error
        with file:
            schema, groups = file.schema_arrow, file.metadata
            check_names(schema.names, f"X: {path}: its schema")
            for name, column in (("target", target), ("weight", weight)):
                if column is not None and column not in schema.names:
                    raise ValueError(f"{name}: {path} has no {column!r}, it has {schema.names[:9]}")
            # an index that pandas or Dask stored as a column names rows, and is no feature
            index = (schema.pandas_metadata or {}).get("index_columns", [])
            others = {target, weight}.union(name for name in index if isinstance(name, str))
            own = tuple(name for name in schema.names if name not in others)
            text = [name for name in own if not _is_number(types, schema.field(name).type)]
            if text:
                raise ValueError(
                    f"X: {path}: features are numbers, and {', '.join(text[:9])} are not"
                )
            features = features or own
            if different := set(own) ^ set(features):
                raise ValueError(
                    f"X: {path} and {files[0]} differ in columns: {sorted(different)[:9]}"
                )
            lengths = [groups.row_group(i).num_rows for i in range(groups.num_row_groups)]
        pieces += _grouped(str(path), lengths, rows)
    return ParquetSource(tuple(pieces), positive, features, target, weight)


def _grouped(file: str, lengths: list[int], rows: int) -> Iterator[Piece]:
    """Yield consecutive row groups of up to so many rows together, or one that has more."""
    first = begin = 0
    for group, length in enumerate(lengths):
        size = sum(lengths[begin:group])
        if begin < group and size + length > rows:
            yield Piece(file, first, first + size, (begin, group))
            first, begin = first + size, group
    yield Piece(file, first, first + sum(lengths[begin:]), (begin, len(lengths)))


def _text_pieces(file: Path, rows: int) -> Iterator[Piece]:
    """Yield pieces of LIBSVM text, cut at ends of lines."""
    first = end = start = at = 0
    with file.open("rb") as lines:
        for line in lines:
            at += len(line)
            end += _has_sample(line)
            if end - first == rows:
                yield Piece(str(file), first, end, (start, at))
                first, start = end, at
    if end > first or not end:
        yield Piece(str(file), first, end, (start, at))


def _array_pieces(file: Path, rows: int) -> Iterator[Piece]:
    """Yield rows of an array."""
    check_readable(_beside(file, "y"))
    try:
        n = len(np.load(file, "r"))
    except (*DAMAGE, TypeError, ValueError) as error:
        raise ValueError(f"{file}: is no array of samples: {error}") from error
    for first in range(0, max(n, 1), rows):
        rest = min(first + rows, n)
        yield Piece(str(file), first, rest, (first, rest))


def _beside(file: str | Path, name: str) -> Path:
    """Return the file of another array: X_3.npy has y_3.npy beside it."""
    return Path(file).with_name(name + Path(file).name.removeprefix("X"))


def _has_sample(line: bytes) -> bool:
    return bool(line.partition(b"#")[0].strip())


def _is_number(types: Any, kind: Any) -> bool:
    return types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind)


def _values(column: Any) -> Any:
    """Return a column of Parquet as an array: numbers with NaN where one is missing, else text."""
    from pyarrow import int8, string, types  # noqa: PLC0415 - slow to import

    if types.is_boolean(column.type):
        column = column.cast(int8())
    elif not _is_number(types, column.type):
        column = column.cast(string())
    return column.to_numpy(zero_copy_only=False)


@dataclass(frozen=True, kw_only=True)
class BlockFiles(Loadable):
    """Files of samples that are read a block of rows at a time, and never whole; see `open_blocks`.

    Parameters
    ----------
    path : a file, a folder, or a pattern such as ``data/*.parquet``; ``~`` is the home folder.
    target : the column of Parquet that has the labels or targets.
    weight : the column of Parquet that has the weights, which multiply C, if there is one.
    rows : of a block at most.
    positive : the label that becomes +1, all others becoming −1.
    zero_based : of LIBSVM text, whether indices begin at 0 instead of 1.
    """

    name: ClassVar[str] = "blocks"
    task: ClassVar[Any] = "auto"
    size: ClassVar[str] = "as the files have"
    kind: ClassVar[str] = "file"
    origin: ClassVar[str] = "Parquet, X_k.npy with y_k.npy, or LIBSVM text, in blocks of rows"
    in_blocks: ClassVar[bool] = True

    path: str | Path
    target: str | None = None
    weight: str | None = None
    rows: int = count(ROWS, low=1)
    positive: float | str | None = None
    zero_based: bool = False

    def check(self) -> None:
        """Raise OSError or ValueError if there are no such files, or none with such columns.

        Of text, whose lines would have to be counted, only whether there is any.
        """
        files = _files(self.path)
        if files[0].suffix.lower() in (".parquet", ".npy"):
            self._source()

    def files(self) -> list[Path]:
        """Return all files that are read: those of labels and weights beside arrays, too."""
        files = _files(self.path)
        if files[0].suffix.lower() == ".npy":
            beside = [_beside(file, name) for file in files for name in ("y", "weight")]
            files += [file for file in beside if file.exists()]
        return files

    def load(self) -> DataInBlocks:
        """Read and check every block once."""
        return DataInBlocks(Blocks.checked(self._source()))

    def _source(self) -> FileSource:
        return source_of(**vars(self))
