"""Files of samples that are read one block of rows at a time, never as a whole.

X = open_blocks("data/*.parquet", target="label", rows=500_000)
solution = solve(SoftMarginPrimal(X, None, C=1.0), NearRows())
"""

from collections.abc import Sequence
from dataclasses import dataclass
from glob import glob
from pathlib import Path
from typing import Any, ClassVar

from dualgap.problems.blocks import Blocks
from dualgap.problems.datasets.readers.formats import check_readable, file_extensions
from dualgap.problems.datasets.readers.parquet import open_parquet
from dualgap.problems.datasets.readers.sections import (
    ArrayFileSource,
    FileSource,
    TextSource,
    array_sections,
    sibling,
    text_sections,
)
from dualgap.problems.datasets.source import DataInBlocks, Loadable, count
from dualgap.problems.validation import check_integer

DEFAULT_BLOCK_ROWS = 500_000  # 0.4 GB of float64 with 100 features
_EXTENSIONS = (".parquet", ".npy", ".libsvm", ".svmlight", ".svm", ".txt", ".dat")
# formats that are always read as a whole, with the data set that reads them
_READ_WHOLE = {".npz": "libsvm_file", ".mat": "libsvm_file"} | dict.fromkeys(
    (".csv", ".tsv", ".arff"), "table_file"
)


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
    positive : the label that becomes +1, all others becoming −1; needed unless labels are −1 and +1, or
        two words of which one is +, yes, true, positive or pos.
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
    files, rows = _files(path), check_integer(rows, "rows")
    kinds = [file.suffix.lower() for file in files]
    if odd := [file for file, kind in zip(files, kinds, strict=True) if kind != kinds[0]]:
        raise ValueError(f"path: files of one format are needed, got {files[0]} and {odd[0]}")
    if zero_based and kinds[0] in (".parquet", ".npy"):
        raise ValueError(f"zero_based: is only for LIBSVM text, not for {files[0]}; leave it out")
    if kinds[0] == ".parquet":
        return open_parquet(files, target, weight, rows, positive)
    if target is not None or weight is not None:
        name = "weight" if target is None else "target"
        raise ValueError(f"{name}: is only for Parquet, not for {files[0]}; leave it out")
    if kinds[0] == ".npy":
        sections = (section for file in files for section in array_sections(file, rows))
        return ArrayFileSource(tuple(sections), positive)
    sections = (section for file in files for section in text_sections(file, rows))
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
            siblings = [sibling(file, name) for file in files for name in ("y", "weight")]
            files += [file for file in siblings if file.exists()]
        return files

    def load(self) -> DataInBlocks:
        """Read and check every block once."""
        return DataInBlocks(Blocks.checked(self._source()))

    def _source(self) -> FileSource:
        return file_source(**vars(self))
