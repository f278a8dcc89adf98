"""The user's own data files: LIBSVM text, archives and tables."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from dualgap.problems.datasets.readers.formats import check_readable, read_file
from dualgap.problems.datasets.readers.tables import read_table, select_columns, to_raw
from dualgap.problems.datasets.source import Raw, Source, Task
from dualgap.problems.datasets.steps import show_labels
from dualgap.problems.validation import check_choice

_CHECK_LIMIT_BYTES = 2**26  # larger files take more than a few seconds to parse


@dataclass(frozen=True, kw_only=True)
class ForeignData(Source):
    """Base class of data sets for which `task` decides between labels and targets."""

    size: ClassVar[str] = "as in the file"
    kind: ClassVar[str] = "file"

    # an option here, where other sources have a constant
    task: Literal["auto", "classification", "regression"] = "auto"

    def __post_init__(self) -> None:
        check_choice(self.task, "task", ("auto", "classification", "regression"))
        super().__post_init__()

    def location(self) -> str:
        """Return where the samples come from, for messages."""
        return self.title()

    def task_of(self, y: NDArray[Any]) -> Task:
        """Decide between labels and targets by `task`, or by the values `y` (n,) if it is "auto"."""
        if self.task != "auto":
            return self.task
        if self.multiclass:
            return "classification"
        values = np.unique(y)
        if self.positive is not None or values.size <= 2 or values.dtype.kind == "U":
            return "classification"
        # more than 20 distinct integers are taken as targets
        if values.size <= 20 and (values == np.rint(values)).all():
            raise ValueError(
                f"task: {self.location()} has {values.size} distinct integers ({show_labels(values)}), "
                "which may be classes or targets; give positive=<the class that becomes +1> or "
                "task='regression'"
            )
        return "regression"


@dataclass(frozen=True, kw_only=True)
class _File(ForeignData):
    path: str | Path

    def __post_init__(self) -> None:
        if not isinstance(self.path, (str, Path)) or not str(self.path):
            raise ValueError(f"path: must be the path of a file, got {self.path!r}")
        super().__post_init__()

    @property
    def file(self) -> Path:
        """The path with the home folder filled in."""
        return Path(self.path).expanduser()

    def check(self) -> None:
        """Raise OSError if the file cannot be read, ValueError if its content is invalid.

        A file larger than 64 MiB is not parsed here; its errors are reported by the runs that load it.
        """
        check_readable(self.file)
        if self.file.stat().st_size <= _CHECK_LIMIT_BYTES:
            self.load()

    def title(self) -> str:
        """Return the name of the file without the extensions of its format and compression."""
        name = self.file.name
        extensions = {".libsvm", ".svmlight", ".svm", ".txt", ".dat", ".csv", ".tsv", ".arff"}
        extensions |= {".parquet", ".npz", ".mat", ".gz", ".bz2", ".xz"}
        while Path(name).suffix.lower() in extensions:
            name = Path(name).stem
        return name

    def location(self) -> str:
        """Return the path as it was given."""
        return str(self.path)


@dataclass(frozen=True, kw_only=True)
class LibsvmFile(_File):
    """A file in LIBSVM format (plain, .gz, .bz2 or .xz), or an .npz or .mat with `X` and `y`.

    A sparse `X` in an .npz consists of the arrays of `scipy.sparse.save_npz`, as `dualgap export` writes
    them. `X` is dense if more than half of its entries are nonzero, CSR otherwise.

    Parameters
    ----------
    path : the file; ``~`` is the home folder.
    task : kind of the first column. "auto": labels if there are at most two distinct values, if they
        are text, or if `positive` or `multiclass` is given; refused if there are 3 to 20 distinct
        integers, which could be either; targets of a regression otherwise.
    zero_based : whether indices begin at 0 instead of 1.
    """

    origin: ClassVar[str] = "LIBSVM text (plain, .gz, .bz2, .xz), or .npz or .mat with X and y"

    zero_based: bool = False

    def read(self) -> Raw:
        """Parse the file."""
        return Raw(*read_file(self.file, zero_based=self.zero_based, n_features=self.n_features))


@dataclass(frozen=True, kw_only=True)
class TableFile(_File):
    """A CSV, TSV, ARFF or Parquet file with a column of labels or targets and columns of features.

    Parameters
    ----------
    path : the file; text may be compressed (.gz, .bz2, .xz). ``~`` is the home folder.
    target : the name of the column of labels or targets.
    task : kind of that column; "auto" decides as for `libsvm_file`.
    columns : the features; by default all other columns. drop : columns that are not features.
    sep : separator of cells in text; a space means any number of spaces. None: a tab in .tsv, a comma
        otherwise.
    decimal : decimal point or comma in text.
    header : whether the first line of text names the columns; if not, they are called 1, 2, ... None:
        it does, and a first line of numbers is refused.
    """

    origin: ClassVar[str] = "CSV, TSV, ARFF or Parquet with a column of labels or targets"

    target: str | int
    columns: tuple[str | int, ...] = ()
    drop: tuple[str | int, ...] = ()
    sep: str | None = None
    decimal: Literal[".", ","] = "."
    header: bool | None = None

    def __post_init__(self) -> None:
        check_choice(self.decimal, "decimal", (".", ","))
        check_choice(self.header, "header", (None, True, False))
        if self.sep is not None and (len(self.sep) != 1 or self.sep in '"\n\r'):
            raise ValueError(f"sep: must be one character, such as ';', got {self.sep!r}")
        for option, names in (("columns", self.columns), ("drop", self.drop)):
            if not isinstance(names, (tuple, list)):
                raise ValueError(f"{option}: must be a list of names of columns, got {names!r}")
            object.__setattr__(self, option, tuple(names))
        if self.columns and self.drop:
            raise ValueError("drop: columns names all features already; give one of the two")
        super().__post_init__()

    def read(self) -> Raw:
        """Parse the file.

        Raises
        ------
        ValueError
            If the file is not a table, lacks a column, or has features that are not numbers; the
            message names the file and the line.
        """
        frame, row_name = read_table(self.file, self.sep, self.decimal, self.header)
        columns, drop = ([*map(str, names)] for names in (self.columns, self.drop))
        features, y = select_columns(frame, str(self.target), columns, drop, self.location())
        return to_raw(features, y, self.location(), row_name)
