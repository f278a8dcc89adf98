"""Reading data files: LIBSVM text, plain or compressed, and ``.npz`` with `X` and `y`.

A line of LIBSVM text is ``label index:value index:value ... # comment``, indices increasing
and beginning at 1 (C.-C. Chang, C.-J. Lin, "LIBSVM", 2011, and its README). scikit-learn
parses it; only when it fails is the file read again, line by line, to name the line.

An archive may unpack to `UNPACKED_RATIO` times its own size, or to `UNPACKED_ALWAYS` bytes if that
is more: a small file that unpacks without end would fill the memory. Files that are not compressed
have no limit.
"""

import bz2
import gzip
import io
import lzma
import zipfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

import numpy as np
import scipy
from numpy.typing import NDArray

from problems.dataset import Matrix, Vector, check_samples, check_targets
from problems.datasets.steps import by_density, pad_features
from problems.validation import DAMAGE

_OPENERS: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
_LONGEST = 200  # characters of what is said of a line
_CSV = (
    "is CSV, not LIBSVM text, whose lines are `label index:value ...`; write the samples with "
    "sklearn.datasets.dump_svmlight_file(X, y, path), or numpy.savez(path, X=X, y=y)"
)
UNPACKED_RATIO = 100  # text of samples has 3 to 30
UNPACKED_ALWAYS = 2**28  # bytes


def read_file(
    path: Path, *, zero_based: bool = False, n_features: int | None = None
) -> tuple[Matrix, NDArray[Any]]:
    """Read samples and labels from `path`.

    Parameters
    ----------
    path : ``.npz`` with arrays `X` (n, d) and `y` (n,), or LIBSVM text, compressed if the name ends
        in ``.gz``, ``.bz2`` or ``.xz``.
    zero_based : whether the indices in the text begin at 0.
    n_features : append zero columns up to this number.

    Returns
    -------
    X, y
        `X` dense if more than half of the entries are not zero, CSR otherwise.

    Raises
    ------
    OSError
        If the file is missing or cannot be read.
    ValueError
        If its content is not usable; the message names the file, the line and the problem. So it
        does if an archive unpacks to more than its size allows, see above.
    """
    check_readable(path)
    if path.suffix == ".npz":
        samples, y = _read_npz(path)
    else:
        samples, y = _read_text(path, zero_based, n_features)
    return by_density(pad_features(samples, n_features)), y


def check_readable(path: Path) -> None:
    """Raise the OSError that says why `path` cannot be read, if so."""
    if not path.exists():
        raise FileNotFoundError(f"{path}: no such file")
    if not path.is_file():
        raise IsADirectoryError(f"{path}: is not a file")
    with path.open("rb"):
        pass


def _read_text(path: Path, zero_based: bool, n_features: int | None) -> tuple[Matrix, Vector]:
    check_text(path)
    try:
        with _open(path) as stream:
            X, y = parsed(stream, zero_based)
    except (*DAMAGE, ValueError) as error:
        raise ValueError(f"{path}{_first_fault(path, zero_based) or f': {error}'}") from error
    if y.size == 0:
        raise ValueError(f"{path}: is empty, it has no samples")
    if X.nnz == 0 and n_features is None:
        raise ValueError(f"{path}: has no features; pass n_features if all of them are zero")
    return scipy.sparse.csr_array(X), np.asarray(y, dtype=np.float64)


def check_text(path: Path) -> None:
    """Raise ValueError if compressed text unpacks to more than its size allows."""
    unpacked, limit = 0, _unpacked_limit(path)
    if path.suffix in _OPENERS:
        with suppress(*DAMAGE), _open(path) as stream:  # of damage is told where it is met again
            while unpacked <= limit and (block := stream.read(2**20)):
                unpacked += len(block)
        _check_unpacked(path, unpacked, "unpack it first: plain text has no limit")


def parsed(stream: IO[bytes], zero_based: bool) -> tuple[Any, Any]:
    """Return the samples and labels of LIBSVM text; ValueError, or OverflowError, for other text."""
    from sklearn.datasets import load_svmlight_file  # noqa: PLC0415 - slow to import

    X, y = load_svmlight_file(stream, zero_based=zero_based)  # pyright: ignore[reportArgumentType]
    if not (np.isfinite(X.data).all() and np.isfinite(y).all()):
        raise ValueError("NaN or infinite entries; drop or impute them first")
    return X, y


def _first_fault(path: Path, zero_based: bool) -> str:
    """Return the number of the first line that cannot be read alone, and why; empty if all can."""
    number = 0
    try:
        with _open(path) as stream:
            for number, line in enumerate(stream, start=1):
                if fault := fault_of(line, zero_based):
                    return f", line {number}: {fault}"
    except DAMAGE as error:
        return (
            f": the archive is truncated or damaged after line {number} ({error}); get a fresh copy"
        )
    return ""


def fault_of(line: bytes, zero_based: bool = False) -> str:
    """Return why a line of LIBSVM text cannot be read; empty if it can."""
    try:
        parsed(io.BytesIO(line), zero_based)
    except (ValueError, OverflowError) as error:
        is_csv = b":" not in line and {*b",;"} & {*line.split()[0]}
        return _CSV if is_csv else str(error)[:_LONGEST]
    return ""


def _open(path: Path) -> Any:
    return _OPENERS.get(path.suffix, open)(path, "rb")


def _unpacked_limit(path: Path) -> int:
    return max(UNPACKED_ALWAYS, UNPACKED_RATIO * path.stat().st_size)


def _check_unpacked(path: Path, unpacked: int, remedy: str) -> None:
    """Raise ValueError if an archive unpacks to more than its size allows."""
    limit = _unpacked_limit(path)
    if unpacked > limit:
        raise ValueError(
            f"{path}: the archive of {path.stat().st_size} bytes unpacks to more than "
            f"{limit / 2**20:.0f} MiB, the limit for an archive of its size ({UNPACKED_RATIO} times "
            f"that, and at least {UNPACKED_ALWAYS / 2**20:.0f} MiB); if that is what it should hold, "
            f"{remedy}"
        )


def _read_npz(path: Path) -> tuple[Matrix, NDArray[Any]]:
    try:
        # np.load alone takes whatever is no archive for a pickle, and says so
        with zipfile.ZipFile(path) as members:
            unpacked, arrays = sum(member.file_size for member in members.infolist()), {}
        if unpacked <= _unpacked_limit(path):
            with np.load(path, allow_pickle=False) as archive:
                arrays = {name: archive[name] for name in archive.files}
    except (*DAMAGE, ValueError) as error:
        raise ValueError(f"{path}: is not a complete .npz archive ({error})") from error
    _check_unpacked(path, unpacked, "save it with numpy.savez, which does not compress")
    if not {"X", "y"} <= arrays.keys():
        found = ", ".join(sorted(arrays)) or "nothing"
        raise ValueError(f"{path}: needs the arrays X and y, has {found}")
    X, y = check_samples(arrays["X"], f"{path}: X"), arrays["y"]
    n = X.shape[0]
    is_text = y.dtype.kind == "U" and y.shape == (n,)
    return X, y if is_text else check_targets(y, n, f"{path}: y")
