"""A data file of the user's own."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from problems.datasets.formats import check_readable, read_file
from problems.datasets.source import Raw, Source, Task
from problems.datasets.steps import show_labels

_ENDINGS = (".gz", ".bz2", ".xz", ".npz", ".libsvm", ".svmlight", ".svm", ".txt", ".dat")
_FEW_CLASSES = 20
_CHECKED = 2**26  # bytes, which take seconds to parse


@dataclass(frozen=True, kw_only=True)
class LibsvmFile(Source):
    """A file in LIBSVM format (plain, .gz, .bz2 or .xz), or an .npz with `X` and `y`.

    `X` is dense if more than half of its entries are not zero, CSR otherwise.

    Parameters
    ----------
    path
        The file; ``~`` is the home folder.
    task
        What the first column is. "auto": labels if there are at most two distinct ones, if
        they are text, or if `positive` is given; refused if there are 3 to 20 distinct
        integers, which could be either; targets of a regression otherwise.
    zero_based
        Whether indices begin at 0 instead of 1.
    """

    size: ClassVar[str] = "as the file has"
    kind: ClassVar[str] = "file"
    origin: ClassVar[str] = "LIBSVM text (plain, .gz, .bz2, .xz) or .npz with X and y"

    path: str | Path
    # an option here, where other sources have a constant
    task: Literal["auto", "classification", "regression"] = "auto"  # pyright: ignore[reportIncompatibleVariableOverride]
    zero_based: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.path, (str, Path)) or not str(self.path):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ValueError(f"path: must be the path of a file, got {self.path!r}")
        if self.task not in ("auto", "classification", "regression"):
            raise ValueError(
                f"task: must be 'auto', 'classification' or 'regression', got {self.task!r}"
            )
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
        if self.file.stat().st_size <= _CHECKED:
            self.load()

    def read(self) -> Raw:
        """Parse the file."""
        return Raw(*read_file(self.file, zero_based=self.zero_based, n_features=self.n_features))

    def title(self) -> str:
        """Name of the file, without the endings of formats and archives."""
        name = self.file.name
        while Path(name).suffix in _ENDINGS:
            name = Path(name).stem
        return name

    def task_of(self, y: NDArray[Any]) -> Task:
        """Decide between labels and targets, by `task` or else by the values `y` (n,)."""
        if self.task != "auto":
            return self.task
        values = np.unique(y)
        if self.positive is not None or values.size <= 2 or values.dtype.kind == "U":
            return "classification"
        if values.size <= _FEW_CLASSES and (values == np.rint(values)).all():
            raise ValueError(
                f"task: {self.path} has {values.size} distinct integers ({show_labels(values)}), "
                "which may be classes or targets; give positive=<the class that becomes +1> or "
                "task='regression'"
            )
        return "regression"
