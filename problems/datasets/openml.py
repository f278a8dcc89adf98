"""Data sets of OpenML by number, verified by a checksum of their content.

scikit-learn (`fetch_openml`) downloads and parses them into the folder ``openml`` of the cache; an
interrupted download leaves no partial file.
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
from dualgap.problems.datasets.libsvm import ForeignData
from dualgap.problems.datasets.published import TIMEOUT_S, cache_folder
from dualgap.problems.datasets.readers.tables import to_raw
from dualgap.problems.datasets.source import Range, Raw
from dualgap.problems.datasets.steps import by_density


@dataclass(frozen=True, kw_only=True)
class OpenML(ForeignData):
    """A data set of openml.org, whose number identifies one version.

    Parameters
    ----------
    id : its number on openml.org, for example 61 for iris.
    sha256 : checksum of its samples and labels. Without it the data set is loaded and refused with a
        message that states the checksum.
    target : the name of the column of labels or targets; by default the one declared on OpenML.
    task : kind of that column; "auto" decides as for `libsvm_file`.
    """

    name: ClassVar[str] = "openml"
    size: ClassVar[str] = "as on OpenML"
    kind: ClassVar[str] = "published"
    origin: ClassVar[str] = "openml.org, by number and checksum"

    id: int = field(metadata={"range": Range(low=1, integer=True)})
    sha256: str | None = None
    target: str | None = None

    def __post_init__(self) -> None:
        if not re.fullmatch("[0-9a-f]{64}|None", str(self.sha256)):
            raise ValueError(
                f"sha256: must be 64 hexadecimal digits in lower case, got {self.sha256!r}; leave it "
                "out, and the error message states it"
            )
        super().__post_init__()

    def title(self) -> str:
        """Return the name of the data set in tables."""
        return f"openml_{self.id}"

    def check(self) -> None:
        """Download the data and raise ValueError with their checksum if none is given."""
        if not self.sha256:
            self.read()

    def read(self) -> Raw:
        """Read the cached files, or download them.

        Raises
        ------
        OSError
            If there are none and they cannot be downloaded.
        ValueError
            If the content has another checksum, or features that are not numbers.
        """
        from sklearn.datasets import fetch_openml  # noqa: PLC0415 - slow to import

        try:
            with _socket_timeout():
                bunch = fetch_openml(
                    data_id=self.id,
                    target_column=self.target or "default-target",
                    data_home=str(cache_folder()),
                    n_retries=1,
                )
        except KeyError as error:  # scikit-learn's error for a missing column
            raise ValueError(f"target: {self.title()}: {error.args[0]}") from error
        except OSError as error:
            if isinstance(error, HTTPError):
                error.close()  # it holds the connection
            raise OSError(
                f"{self.title()}: could not be downloaded ({error}); without a connection, copy the "
                f"folder {cache_folder() / 'openml'} from a machine that has the data set"
            ) from error
        if getattr(bunch.target, "ndim", 0) != 1:
            raise ValueError(
                f"target: OpenML names no column of {self.title()}, or several, as its target; name one"
            )
        if hasattr(bunch.data, "columns"):
            raw = to_raw(bunch.data, bunch.target, self.title())
        else:  # sparse samples have no columns
            y = np.asarray(bunch.target)
            y = y if y.dtype.kind in "bifu" else y.astype(np.str_)
            raw = Raw(by_density(bunch.data), y)
        y = raw.y if raw.y.dtype.kind == "f" else raw.y.tolist()
        checksum = content_hash(raw.X, y)
        if not self.sha256:
            raise ValueError(f"sha256: is needed; {self.title()} now has sha256: {checksum}")
        if checksum != self.sha256:
            raise ValueError(
                f"{self.title()}: expected checksum {self.sha256}, found {checksum}; this is not the "
                f"expected content (the download is in {cache_folder() / 'openml'})"
            )
        return raw


@contextmanager
def _socket_timeout() -> Generator[None]:
    """Set a timeout for connections, as scikit-learn would wait forever for a server that is silent."""
    previous = socket.getdefaulttimeout()
    socket.setdefaulttimeout(TIMEOUT_S)
    try:
        yield
    finally:
        socket.setdefaulttimeout(previous)
