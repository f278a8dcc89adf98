"""Published data sets by name: found locally, else downloaded, and always verified.

A file is looked for in the folder ``DUALGAP_DATA`` and then in the cache (``DUALGAP_CACHE``,
else the user's cache folder). Whatever file it is, what it holds must be what the catalogue says.

The catalogue is catalogue.csv, beside this module. Checksums are of the parsed content, not of a
file: SHA-256 over the canonical CSR form of the samples with the published number of features, and
the labels as the source has them (`Dataset.checksum`). Addresses are those of the LIBSVM data page
(C.-C. Chang, C.-J. Lin). There is none where the checked copy was made from another publication of
the same data, which need not agree with the file on that page in every digit, label or row: `usps`
has the digits 0-9 as labels, `diabetes_scale` was scaled anew, `svmguide1.t`, `svmguide3`,
`splice_scale`, `abalone`, `cpusmall`, `housing` and `mpg` were converted. Those are found locally only.
"""

import csv
import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, TypeVar, cast

import scipy
from numpy.typing import NDArray

from dualgap.problems.dataset import Matrix, check_targets, content_hash
from dualgap.problems.datasets.readers.formats import read_file
from dualgap.problems.datasets.source import Raw, Source, Task
from dualgap.problems.datasets.steps import by_density
from dualgap.problems.validation import check_choice

_ENDINGS = (".libsvm.xz", ".npz", "", ".bz2", ".gz", ".xz", ".libsvm")
_OTHER_DATA = "this is not the published content; libsvm_file loads a file as it is"
_SITE = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/"
T = TypeVar("T")
TIMEOUT = 30.0  # seconds without an answer from the server


@dataclass(frozen=True)
class Entry:
    """One published data set.

    Parameters
    ----------
    n, d : number of samples, and of features as published (the last may be zero throughout).
    checksum : SHA-256 of the content.
    url : where to download it, None if there is no place with that content.
    licence : as usually stated.
    decimals : decimals of the published values, where copies are in single precision.
    """

    name: str
    n: int
    d: int
    task: Task
    checksum: str
    url: str | None
    licence: str
    decimals: int | None = None


def _read_table() -> dict[str, Entry]:
    with Path(__file__).with_name("catalogue.csv").open(encoding="utf-8", newline="") as table:
        _, *rows = csv.reader(table)
    return {
        name: Entry(
            name,
            int(n),
            int(d),
            cast(Task, task),
            checksum,
            _SITE + address if address else None,
            licence,
            int(decimals) if decimals else None,
        )
        for name, n, d, task, checksum, address, licence, decimals in rows
    }


ENTRIES = _read_table()


@dataclass(frozen=True, kw_only=True)
class Published(Source):
    """A data set of the catalogue, as it was published.

    Parameters
    ----------
    name : its name in the catalogue, for example ``a9a``.
    """

    kind: ClassVar[str] = "published"
    listed: ClassVar[bool] = False

    name: str

    def __post_init__(self) -> None:
        check_choice(self.name, "name", ENTRIES)
        super().__post_init__()

    @property
    def entry(self) -> Entry:
        """What the catalogue says of it."""
        return ENTRIES[self.name]

    @property
    def task(self) -> Task:  # pyright: ignore[reportIncompatibleVariableOverride]
        """What the catalogue says, where other sources have a constant."""
        return self.entry.task

    def title(self) -> str:
        """Name of the data set, as it stands in tables."""
        return self.name

    def check(self) -> None:
        """Raise OSError if there is neither a local file nor an address to download from."""
        if locate(self.name) is None and self.entry.url is None:
            raise FileNotFoundError(
                f"{self.name}: no download is known that has the checked content; "
                + _by_hand(self.name)
            )

    def read(self) -> Raw:
        """Read the local file, or download it.

        Raises
        ------
        OSError
            If there is no file and it cannot be downloaded.
        ValueError
            If the content is not what was published.
        """
        self.check()
        path = locate(self.name)
        return Raw(*(_download(self.entry) if path is None else _verified(path, self.entry)))


def locate(name: str) -> Path | None:
    """Find the local file of a published data set, in ``DUALGAP_DATA`` and then in the cache."""
    for folder in filter(None, (data_folder(), cache_folder())):
        for ending in _ENDINGS:
            path = folder / (name + ending)
            if path.is_file():
                return path
    return None


def data_folder() -> Path | None:
    """The folder ``DUALGAP_DATA``, None if it is not set.

    Raises
    ------
    NotADirectoryError
        If it is set to something else than a folder.
    """
    value = os.environ.get("DUALGAP_DATA")
    if not value:
        return None
    folder = Path(value).expanduser()
    if not folder.is_dir():
        raise NotADirectoryError(f"DUALGAP_DATA: {folder} is not a folder")
    return folder


def cache_folder() -> Path:
    """The folder of downloads: ``DUALGAP_CACHE``, else the user's cache folder."""
    value = os.environ.get("DUALGAP_CACHE")
    if value:
        return Path(value).expanduser()
    import platformdirs  # noqa: PLC0415 - needed here only

    return Path(platformdirs.user_cache_dir("dualgap"))


def _verified(path: Path, entry: Entry) -> tuple[Matrix, NDArray[Any]]:
    """Read `path` and compare its content with the catalogue."""
    samples, y = read_file(path)
    n, d = samples.shape
    if n != entry.n or d > entry.d:
        raise ValueError(
            f"{path}: expected {entry.name} with shape ({entry.n}, {entry.d}), found ({n}, {d}); "
            + _OTHER_DATA
        )
    stored, y = scipy.sparse.csr_array(samples), check_targets(y, n, f"{path}: y")
    # the published shape, and the published decimals where copies are in single precision
    data = stored.data if entry.decimals is None else stored.data.round(entry.decimals)
    X = scipy.sparse.csr_array((data, stored.indices, stored.indptr), shape=(entry.n, entry.d))
    found = content_hash(X, y)
    if found != entry.checksum:
        raise ValueError(
            f"{path}: expected {entry.name} with checksum {entry.checksum}, found {found}; "
            + _OTHER_DATA
        )
    return by_density(X), y


def _download(entry: Entry) -> tuple[Matrix, NDArray[Any]]:
    name = entry.name + (".bz2" if str(entry.url).endswith(".bz2") else "")
    try:
        return downloaded(str(entry.url), cache_folder() / name, partial(_verified, entry=entry))
    except OSError as error:
        raise OSError(f"{entry.name}: {error}; {_by_hand(entry.name)}") from error


def downloaded(url: str, target: Path, verified: Callable[[Path], T]) -> T:
    """Download a file and return what `verified` makes of it; only such a file gets its name.

    Raises
    ------
    OSError
        If it cannot be downloaded. ValueError, of `verified`, if it is another file.
    """
    import pooch  # noqa: PLC0415 - slow to import

    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent) as folder:
            path = Path(folder) / target.name
            # by itself: pooch.retrieve writes to the terminal and hashes bytes, not content;
            # a stream would leave the connection open when the server refuses
            pooch.HTTPDownloader(timeout=TIMEOUT, stream=False)(url, str(path), None)
            try:
                content = verified(path)
            except ValueError as error:  # the file is about to be removed: name where it came from
                raise ValueError(str(error).replace(str(path), url)) from error
            path.replace(target)
    except OSError as error:
        raise OSError(f"could not download {url} ({error})") from error
    return content


def _by_hand(name: str) -> str:
    folder = data_folder() or cache_folder()
    return (
        f"put the file as {name}, {name}.bz2, {name}.libsvm.xz or {name}.npz into {folder} "
        "(or into the folder that DUALGAP_DATA names)"
    )
