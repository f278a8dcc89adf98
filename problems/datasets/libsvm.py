"""Data files of the user's own."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from problems.dataset import check_samples
from problems.datasets.formats import check_readable, check_text, read_file
from problems.datasets.source import Raw, Source, Task
from problems.datasets.steps import by_density, show_labels
from problems.validation import DAMAGE, check_choice

_ENDINGS = (".gz", ".bz2", ".xz", ".npz", ".libsvm", ".svmlight", ".svm", ".txt", ".dat")
_TABLES = (".csv", ".tsv", ".parquet")
_MOST_CLASSES = 20
_MOST_CHECKED_BYTES = 2**26  # bytes, which take seconds to parse


@dataclass(frozen=True, kw_only=True)
class Foreign(Source):
    """Samples of which nobody has said whether they have labels or targets."""

    size: ClassVar[str] = "as the file has"
    kind: ClassVar[str] = "file"

    # an option here, where other sources have a constant
    task: Literal["auto", "classification", "regression"] = "auto"  # pyright: ignore[reportIncompatibleVariableOverride]

    def __post_init__(self) -> None:
        check_choice(self.task, "task", ("auto", "classification", "regression"))
        super().__post_init__()

    def place(self) -> str:
        """Where the samples are, as messages name it."""
        return self.title()

    def task_of(self, y: NDArray[Any]) -> Task:
        """Decide between labels and targets, by `task` or else by the values `y` (n,)."""
        if self.task != "auto":
            return self.task
        if self.multiclass:
            return "classification"
        values = np.unique(y)
        if self.positive is not None or values.size <= 2 or values.dtype.kind == "U":
            return "classification"
        if values.size <= _MOST_CLASSES and (values == np.rint(values)).all():
            raise ValueError(
                f"task: {self.place()} has {values.size} distinct integers ({show_labels(values)}), "
                "which may be classes or targets; give positive=<the class that becomes +1> or "
                "task='regression'"
            )
        return "regression"


@dataclass(frozen=True, kw_only=True)
class _File(Foreign):
    path: str | Path

    def __post_init__(self) -> None:
        if not isinstance(self.path, (str, Path)) or not str(self.path):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ValueError(f"path: must be the path of a file, got {self.path!r}")
        super().__post_init__()

    @property
    def file(self) -> Path:
        """The path with the home folder filled in."""
        return Path(self.path).expanduser()

    def check(self) -> None:
        """Raise OSError if the file cannot be read, ValueError if its content is not usable.

        A file larger than 64 MiB is not parsed for that: what is wrong with it is found in its runs.
        """
        check_readable(self.file)
        if self.file.stat().st_size <= _MOST_CHECKED_BYTES:
            self.load()

    def title(self) -> str:
        """Name of the file, without the endings of formats and archives."""
        name = self.file.name
        while Path(name).suffix in (*_ENDINGS, *_TABLES):
            name = Path(name).stem
        return name

    def place(self) -> str:
        """Return the path as it was given."""
        return str(self.path)


@dataclass(frozen=True, kw_only=True)
class LibsvmFile(_File):
    """A file in LIBSVM format (plain, .gz, .bz2 or .xz), or an .npz with `X` and `y`.

    `X` is dense if more than half of its entries are not zero, CSR otherwise.

    Parameters
    ----------
    path : the file; ``~`` is the home folder.
    task : what the first column is. "auto": labels if there are at most two distinct ones, if they
        are text, or if `positive` or `multiclass` is given; refused if there are 3 to 20 distinct
        integers, which could be either; targets of a regression otherwise.
    zero_based : whether indices begin at 0 instead of 1.
    """

    origin: ClassVar[str] = "LIBSVM text (plain, .gz, .bz2, .xz) or .npz with X and y"

    zero_based: bool = False

    def read(self) -> Raw:
        """Parse the file."""
        return Raw(*read_file(self.file, zero_based=self.zero_based, n_features=self.n_features))


@dataclass(frozen=True, kw_only=True)
class TableFile(_File):
    """A CSV, TSV or Parquet file with one column of labels or targets; the others are the features.

    Parameters
    ----------
    path : the file, its columns named in its first line; text may be compressed (.gz, .bz2, .xz).
        ``~`` is the home folder.
    target : the name of the column of labels or targets.
    task : what that column is; "auto" decides as for `libsvm_file`.
    """

    origin: ClassVar[str] = "CSV, TSV or Parquet with a column of labels or targets"

    target: str

    def read(self) -> Raw:
        """Parse the file.

        Raises
        ------
        ValueError
            Naming the file, if it is no table, lacks the target, or has features that are no numbers.
        """
        import pandas as pd  # noqa: PLC0415 - slow to import

        endings, file = self.file.suffixes, self.file
        check_readable(file)
        try:
            if ".parquet" in endings:
                frame = pd.read_parquet(file)
                frame.columns = frame.columns.astype(str)
            else:
                check_text(file)
                frame = _text_table(file, "\t" if ".tsv" in endings else ",")
        except (*DAMAGE, ValueError) as error:
            raise ValueError(f"{self.path}: cannot be read as a table: {error}") from error
        names = [*frame.columns]
        if self.target not in names:
            raise ValueError(f"target: {self.path} has no column {self.target!r}; {_some(names)}")
        return raw_of(frame.drop(columns=self.target), frame[self.target], self.place())


def _text_table(file: Path, separator: str) -> Any:
    """Return the data frame of a table whose first line names all columns, each by a name of its own."""
    import pandas as pd  # noqa: PLC0415 - slow to import

    known: Any = {"sep": separator, "skipinitialspace": True}
    # of longer lines below the names the first cells would be taken for names of rows
    names: Any = {"dtype": str, "keep_default_na": False, "na_values": [""]}  # NA may be a name
    first = pd.read_csv(file, header=None, nrows=2, **names, **known).iloc[0]
    if first.isna().any():
        raise ValueError(
            f"its first line has no name for column {int(first.isna().argmax()) + 1}; give it one, or "
            "leave out the numbers of rows, as `to_csv(..., index=False)` does"
        )
    if first.duplicated().any():
        raise ValueError(f"its first line names {first[first.duplicated()].iloc[0]!r} twice")
    return pd.read_csv(file, **known)


def raw_of(features: Any, y: Any, place: str) -> Raw:
    """Return the rows of a data frame of features and of a series of labels or targets.

    Raises
    ------
    ValueError
        Naming their place, if features are no numbers or values are missing.
    """
    from pandas.api.types import is_numeric_dtype  # noqa: PLC0415 - slow to import

    text = [str(name) for name in features if not is_numeric_dtype(features[name])]
    if text or not len(features.columns):
        raise ValueError(
            f"{place}: the columns but {y.name} are features, which are numbers; these are "
            f"not: {_some(text)} (pandas.get_dummies makes numbers of categories)"
        )
    if y.isna().any():
        raise ValueError(f"{place}: {y.name} is missing in {int(y.isna().sum())} rows")
    kind = np.float64 if is_numeric_dtype(y) else np.str_
    X = check_samples(features.to_numpy(np.float64), f"{place}: X")
    return Raw(by_density(X), y.to_numpy().astype(kind))


def _some(names: list[str]) -> str:
    """Return the first names, and how many more there are."""
    more = f" and {len(names) - 8} more" if len(names) > 8 else ""
    return (", ".join(names[:8]) or "there are none") + more
