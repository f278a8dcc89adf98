"""Published data sets by name: local files or downloads, always verified.

A file is searched in the folder ``DUALGAP_DATA`` and then in the cache (``DUALGAP_CACHE``,
else the user's cache folder). The content of any file must agree with the catalogue.

The catalogue is catalogue.csv, next to this module. Checksums are of the parsed content, not of a
file: SHA-256 over the canonical CSR form of the samples with the published number of features, and
the labels as stored in the source (`Dataset.checksum`). Addresses are those of the LIBSVM data page
(C.-C. Chang, C.-J. Lin). There is no address if the checked copy was made from another publication of
the same data, which may differ from the file on that page in digits, labels or rows: `usps`
has the digits 0-9 as labels, `diabetes_scale` was rescaled, `svmguide1.t`, `svmguide3`,
`splice_scale`, `abalone`, `cpusmall`, `housing` and `mpg` were converted. Those must be local files.
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

_OTHER_DATA = "this is not the published content; libsvm_file loads a file as it is"
Content = TypeVar("Content")
TIMEOUT_S = 30.0  # without a response; a server that is up answers within seconds


@dataclass(frozen=True)
class Entry:
    """One published data set.

    Parameters
    ----------
    n, d : number of samples, and of features as published (the last may be zero throughout).
    checksum : SHA-256 of the content.
    url : address to download it from, None if no server is known to have that content.
    licence : as usually stated.
    decimals : decimals of the published values, if copies are in single precision.
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
    site = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/"
    with Path(__file__).with_name("catalogue.csv").open(encoding="utf-8", newline="") as table:
        _, *rows = csv.reader(table)
    return {
        name: Entry(
            name,
            int(n),
            int(d),
            cast(Task, task),
            checksum,
            site + address if address else None,
            licence,
            int(decimals) if decimals else None,
        )
        for name, n, d, task, checksum, address, licence, decimals in rows
    }


ENTRIES = _read_table()


@dataclass(frozen=True, kw_only=True)
class Published(Source):
    """A data set of the catalogue, as published.

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
        """Its entry of the catalogue."""
        return ENTRIES[self.name]

    @property
    def task(self) -> Task:
        """The task according to the catalogue; other sources have a constant."""
        return self.entry.task

    def title(self) -> str:
        """Return the name of the data set in tables."""
        return self.name

    def check(self) -> None:
        """Raise OSError if there is neither a local file nor an address to download from."""
        if locate(self.name) is None and self.entry.url is None:
            raise FileNotFoundError(
                f"{self.name}: no download is known that has the checked content; "
                + _manual_steps(self.name)
            )

    def read(self) -> Raw:
        """Read the local file, or download it.

        Raises
        ------
        OSError
            If there is no file and it cannot be downloaded.
        ValueError
            If the content is not the published one.
        """
        self.check()
        path = locate(self.name)
        return Raw(*(_download(self.entry) if path is None else _read_verified(path, self.entry)))


def locate(name: str) -> Path | None:
    """Find the local file of a published data set, in ``DUALGAP_DATA`` and then in the cache."""
    for folder in filter(None, (data_folder(), cache_folder())):
        for ending in (".libsvm.xz", ".npz", "", ".bz2", ".gz", ".xz", ".libsvm"):
            path = folder / (name + ending)
            if path.is_file():
                return path
    return None


def data_folder() -> Path | None:
    """Return the folder ``DUALGAP_DATA``, or None if it is not set.

    Raises
    ------
    NotADirectoryError
        If it is not a folder.
    """
    value = os.environ.get("DUALGAP_DATA")
    if not value:
        return None
    folder = Path(value).expanduser()
    if not folder.is_dir():
        raise NotADirectoryError(f"DUALGAP_DATA: {folder} is not a folder")
    return folder


def cache_folder() -> Path:
    """Return the folder of downloads: ``DUALGAP_CACHE``, else the user's cache folder."""
    value = os.environ.get("DUALGAP_CACHE")
    if value:
        return Path(value).expanduser()
    import platformdirs  # noqa: PLC0415 - needed here only

    return Path(platformdirs.user_cache_dir("dualgap"))


def _read_verified(path: Path, entry: Entry) -> tuple[Matrix, NDArray[Any]]:
    """Read a file and verify its content against the catalogue."""
    samples, y = read_file(path)
    n, d = samples.shape
    if n != entry.n or d > entry.d:
        raise ValueError(
            f"{path}: expected {entry.name} with shape ({entry.n}, {entry.d}), found ({n}, {d}); "
            + _OTHER_DATA
        )
    stored, y = scipy.sparse.csr_array(samples), check_targets(y, n, f"{path}: y")
    # restore the published shape, and the published decimals of copies in single precision
    data = stored.data if entry.decimals is None else stored.data.round(entry.decimals)
    X = scipy.sparse.csr_array((data, stored.indices, stored.indptr), shape=(entry.n, entry.d))
    actual = content_hash(X, y)
    if actual != entry.checksum:
        raise ValueError(
            f"{path}: expected {entry.name} with checksum {entry.checksum}, found {actual}; "
            + _OTHER_DATA
        )
    return by_density(X), y


def _download(entry: Entry) -> tuple[Matrix, NDArray[Any]]:
    name = entry.name + (".bz2" if str(entry.url).endswith(".bz2") else "")
    try:
        return download(str(entry.url), cache_folder() / name, partial(_read_verified, entry=entry))
    except OSError as error:
        raise OSError(f"{entry.name}: {error}; {_manual_steps(entry.name)}") from error


def download(url: str, target: Path, load: Callable[[Path], Content]) -> Content:
    """Download a file, return its content as read by `load`, and save it to `target` if that succeeds.

    Raises
    ------
    OSError
        If the file cannot be downloaded. Errors of `load` are passed on.
    """
    import pooch  # noqa: PLC0415 - slow to import

    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent) as folder:
            path = Path(folder) / target.name
            # not by pooch.retrieve, which writes to the terminal and hashes bytes, not content;
            # a stream would leave the connection open when the server refuses
            pooch.HTTPDownloader(timeout=TIMEOUT_S, stream=False)(url, str(path), None)
            try:
                content = load(path)
            except ValueError as error:  # the temporary file is about to be removed: name the URL
                raise ValueError(str(error).replace(str(path), url)) from error
            path.replace(target)
    except OSError as error:
        raise OSError(f"could not download {url} ({error})") from error
    return content


def _manual_steps(name: str) -> str:
    folder = data_folder() or cache_folder()
    return (
        f"put the file as {name}, {name}.bz2, {name}.libsvm.xz or {name}.npz into {folder} "
        "(or into the folder that DUALGAP_DATA names)"
    )
