"""Data sets of OpenML by their numbers, held to a checksum of their content.

scikit-learn downloads and parses them (`fetch_openml`), each file whole or not at all, into the folder
``openml`` of the cache.
"""

import re
import socket
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import ClassVar
from urllib.error import HTTPError

import numpy as np

from dualgap.problems.dataset import content_hash
from dualgap.problems.datasets.libsvm import Foreign
from dualgap.problems.datasets.published import TIMEOUT, cache_folder
from dualgap.problems.datasets.readers.tables import raw_of
from dualgap.problems.datasets.source import Range, Raw
from dualgap.problems.datasets.steps import by_density


@dataclass(frozen=True, kw_only=True)
class OpenML(Foreign):
    """A data set of openml.org, where one number is one version.

    Parameters
    ----------
    id : its number there, for example 61 for iris.
    sha256 : checksum of its samples and labels. Without it the data set is loaded and refused, with
        the checksum that it has.
    target : the name of the column of labels or targets; by default the one that OpenML names.
    task : what that column is; "auto" decides as for `libsvm_file`.
    """

    name: ClassVar[str] = "openml"
    size: ClassVar[str] = "as OpenML has"
    kind: ClassVar[str] = "published"
    origin: ClassVar[str] = "openml.org, by number and checksum"

    id: int = field(metadata={"range": Range(low=1, integer=True)})
    sha256: str | None = None
    target: str | None = None

    def __post_init__(self) -> None:
        if not re.fullmatch("[0-9a-f]{64}|None", str(self.sha256)):
            raise ValueError(
                f"sha256: must be 64 hexadecimal digits in small letters, got {self.sha256!r}; leave it "
                "out to be told"
            )
        super().__post_init__()

    def title(self) -> str:
        """Name of the data set, as it stands in tables."""
        return f"openml_{self.id}"

    def check(self) -> None:
        """Raise ValueError where the content has yet to be given its checksum; that downloads it."""
        if not self.sha256:
            self.read()

    def read(self) -> Raw:
        """Read the cached files, or download them.

        Raises
        ------
        OSError
            If there are none and they cannot be downloaded.
        ValueError
            If the content has another checksum, or features that are no numbers.
        """
        from sklearn.datasets import fetch_openml  # noqa: PLC0415 - slow to import

        try:
            with _impatient():
                found = fetch_openml(
                    data_id=self.id,
                    target_column=self.target or "default-target",
                    data_home=str(cache_folder()),
                    n_retries=1,
                )
        except KeyError as error:  # scikit-learn's, of a column that there is not
            raise ValueError(f"target: {self.title()}: {error.args[0]}") from error
        except OSError as error:
            if isinstance(error, HTTPError):
                error.close()  # it holds the connection
            raise OSError(
                f"{self.title()}: could not be downloaded ({error}); what was downloaded once is kept "
                f"in {cache_folder() / 'openml'}, which may come from another machine"
            ) from error
        if getattr(found.target, "ndim", 0) != 1:
            raise ValueError(
                f"target: OpenML names no column of {self.title()}, or several, as its target; name one"
            )
        if hasattr(found.data, "columns"):
            raw = raw_of(found.data, found.target, self.title())
        else:  # sparse samples have no columns
            y = np.asarray(found.target)
            y = y if y.dtype.kind in "bifu" else y.astype(np.str_)
            raw = Raw(by_density(found.data), y)
        y = raw.y if raw.y.dtype.kind == "f" else raw.y.tolist()
        checksum = content_hash(raw.X, y)
        if not self.sha256:
            raise ValueError(f"sha256: needed; {self.title()} has now sha256: {checksum}")
        if checksum != self.sha256:
            raise ValueError(
                f"{self.title()}: expected checksum {self.sha256}, found {checksum}; this is not the "
                f"content that was asked for (what was downloaded is in {cache_folder() / 'openml'})"
            )
        return raw


@contextmanager
def _impatient() -> Generator[None]:
    """Let no server keep a connection open without an answer: scikit-learn would wait forever."""
    before = socket.getdefaulttimeout()
    socket.setdefaulttimeout(TIMEOUT)
    try:
        yield
    finally:
        socket.setdefaulttimeout(before)
