"""Reading data files: LIBSVM text, plain or compressed, and ``.npz`` or ``.mat`` with `X` and `y`.

A line of LIBSVM text is ``label index:value index:value ... # comment``, indices increasing
and beginning at 1 (C.-C. Chang, C.-J. Lin, "LIBSVM", 2011, and its README). scikit-learn
parses it; only when it fails is the file read again, line by line, to name the line.

An archive may unpack to `UNPACKED_RATIO` times its own size, or to `UNPACKED_ALWAYS` bytes if that
is more: a small file that unpacks without end would fill the memory. Files that are not compressed
have no limit.
"""

import bz2
import codecs
import gzip
import io
import lzma
import re
import zipfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from math import prod
from pathlib import Path
from typing import IO, Any

import numpy as np
import scipy
from numpy.typing import NDArray

from dualgap.problems.dataset import Matrix, Vector, check_samples, check_targets
from dualgap.problems.datasets.steps import by_density, pad_features
from dualgap.problems.labels import is_word_missing
from dualgap.problems.validation import DAMAGE, decode_text

_OPENERS: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
_LONGEST = 200  # characters of what is said of a line
_TABLE = "`table_file` reads it, with target: <the column of labels or targets>"
_CSV = f"is CSV, not LIBSVM text, whose lines are `label index:value ...`; {_TABLE}"
# beginnings of files that are no text of samples, what they are, and what to do
_OTHERS = (
    (rb"PAR1[^\w,;\s]", f"is Parquet; call it .parquet, and {_TABLE}"),
    (rb"\x93NUMPY", "is one array of NumPy; save X and y with numpy.savez(path, X=X, y=y)"),
    (rb"MATLAB 5", "is a MATLAB file; call it .mat"),
    (rb"\x89HDF|MATLAB 7", "is HDF5, as MATLAB's save -v7.3 writes; write X and y by save -v7"),
    (
        rb"PK\x03\x04|PK\x05\x06",
        "is a zip archive or a workbook; unpack it first, or save the sheet as CSV",
    ),
    (rb"\x1f\x8b|BZh[1-9]1AY|\xfd7zXZ", "is compressed; let its name end in .gz, .bz2 or .xz"),
    (rb"\xff\xfe|\xfe\xff", "is UTF-16 text; save it as UTF-8"),
    (rb"(?i)(\s*%[^\n]*\n)*\s*@relation", f"is ARFF; call it .arff, and {_TABLE}"),
)
_CSR = ("data", "indices", "indptr", "shape", "format")  # the arrays of `scipy.sparse.save_npz`
UNPACKED_RATIO = 100  # text of samples has 3 to 30
UNPACKED_ALWAYS = 2**28  # bytes


def endings_of(path: Path) -> tuple[str, str]:
    """Return the endings of a file's name for its format and its compression, in small letters."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    packed = suffixes.pop() if suffixes and suffixes[-1] in _OPENERS else ""
    return (suffixes or [""])[-1], packed


def other_format(head: bytes) -> str:
    """Return what a file that begins so is, and how to read it; empty if it may be text of samples."""
    return next((text for start, text in _OTHERS if re.match(start, head)), "")


def read_file(
    path: Path, *, zero_based: bool = False, n_features: int | None = None
) -> tuple[Matrix, NDArray[Any]]:
    """Read samples and labels from `path`.

    Parameters
    ----------
    path : ``.npz`` or ``.mat`` with arrays `X` (n, d) and `y` (n,), or LIBSVM text, compressed if the
        name ends in ``.gz``, ``.bz2`` or ``.xz``. A sparse `X` of an ``.npz`` is the arrays of
        `scipy.sparse.save_npz`.
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
    reader = _READERS.get(endings_of(path)[0])
    if reader:
        samples, y = _checked(reader(path), path)
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
    if endings_of(path)[1]:
        with suppress(*DAMAGE), _open(path) as stream:  # of damage is told where it is met again
            while unpacked <= limit and (block := stream.read(2**20)):
                unpacked += len(block)
        _check_unpacked(path, unpacked, "unpack it first: plain text has no limit")


class _Lines:
    """Lines of LIBSVM text without byte order mark, refused where Python reads 1_0 as 10."""

    def __init__(self, stream: IO[bytes]) -> None:
        self.stream, self.read = stream, stream.read  # scikit-learn asks whether there is `read`

    def __iter__(self) -> Iterator[bytes]:
        for number, line in enumerate(self.stream):
            if b"_" in line and (word := re.search(rb"\S*_\S*", line.partition(b"#")[0])):
                raise ValueError(f"{str(word[0])[1:]} has an underscore, which no number here has")
            yield line if number else line.removeprefix(codecs.BOM_UTF8)


def parsed(stream: IO[bytes], zero_based: bool) -> tuple[Any, Any]:
    """Return the samples and labels of LIBSVM text; ValueError, or OverflowError, for other text."""
    from sklearn.datasets import load_svmlight_file  # noqa: PLC0415 - slow to import

    lines: Any = _Lines(stream)
    X, y = load_svmlight_file(lines, zero_based=zero_based)
    if not (np.isfinite(X.data).all() and np.isfinite(y).all()):
        raise ValueError("NaN or infinite entries; drop or impute them first")
    return X, y


def _first_fault(path: Path, zero_based: bool) -> str:
    """Return the number of the first line that cannot be read alone, and why; empty if all can."""
    number = 0
    try:
        with _open(path) as stream:
            for number, line in enumerate(stream, start=1):
                if number == 1 and (other := other_format(line)):
                    return f", line 1: {other}"
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
        if b":" not in line and (re.search(rb"\S[,;\t]\s*\S", line) or len(line.split()) > 2):
            return _CSV if b"," in line or b";" in line else _CSV.replace("CSV", "a table")
        hint = (
            "; indices begin at 1, or at 0 with zero_based: true"
            if "index 0 " in str(error)
            else ""
        )
        return str(error)[:_LONGEST] + hint
    return ""


def _open(path: Path) -> Any:
    return _OPENERS.get(endings_of(path)[1], open)(path, "rb")


def read_text(path: Path) -> str:
    """Return the text of a file, perhaps compressed, its lines ended by newlines.

    Raises
    ------
    ValueError
        If it is not UTF-8 text, with its line; or an archive that is damaged or unpacks to too much.
    """
    check_text(path)
    with _open(path) as stream:
        content: bytes = stream.read()
    if endings_of(path)[0] != ".arff" and (other := other_format(content)):
        raise ValueError(other)
    text = decode_text(content)
    if "\0" in text:
        line = text[: text.index("\0")].count("\n") + 1
        raise ValueError(f"line {line}: has a NUL character, which text has not; get a fresh copy")
    return text


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


def _read_npz(path: Path) -> dict[str, Any]:
    """Return the arrays of samples in an archive; others beside them are named, and not read."""
    try:
        # np.load alone takes whatever is no archive for a pickle, and says so
        with zipfile.ZipFile(path) as members:
            unpacked, arrays = sum(member.file_size for member in members.infolist()), {}
        if unpacked <= _unpacked_limit(path):
            with np.load(path, allow_pickle=False) as archive:
                arrays = {
                    name: archive[name] if name in (*_CSR, "X", "y") else None
                    for name in archive.files
                }
                if {*_CSR} <= arrays.keys() and "X" not in arrays:  # as scipy and we write X
                    arrays["X"] = _csr(arrays)
    except (*DAMAGE, ValueError) as error:
        hint = "; save numbers, and labels as y.astype(str)" if "pickle" in str(error) else ""
        raise ValueError(f"{path}: is not a complete .npz archive ({error}){hint}") from error
    _check_unpacked(path, unpacked, "save it with numpy.savez, which does not compress")
    return arrays


def _csr(arrays: dict[str, Any]) -> Any:
    """Return the CSR matrix of the arrays that it consists of; ValueError for others."""
    if bytes(arrays["format"]) != b"csr":
        raise ValueError(f"X is sparse in the format {arrays['format']}; save it as X.tocsr()")
    data, indices, indptr, shape = (arrays[name] for name in _CSR[:-1])
    matrix = scipy.sparse.csr_array((data, indices, indptr), shape=tuple(shape))
    matrix.check_format(full_check=True)
    return matrix


def _read_mat(path: Path) -> dict[str, Any]:
    """Return the arrays of a MATLAB file, of level 5 at most; those beside X and y are not read."""
    try:
        listed: list[Any] = scipy.io.whosmat(path, appendmat=False)
        dense = [shape for name, shape, kind in listed if name in ("X", "y") and kind != "sparse"]
        entries = sum(map(prod, dense))
        _check_unpacked(path, 8 * entries, "save it with -v6, which does not compress")
        arrays: dict[str, Any] = dict.fromkeys(name for name, *_ in listed)
        arrays |= scipy.io.loadmat(path, appendmat=False, variable_names=["X", "y"])
    except Exception as error:  # whatever scipy raises of a file that is damaged
        if str(error).startswith(str(path)):
            raise
        if isinstance(error, NotImplementedError):
            raise ValueError(f"{path}: {other_format(b'MATLAB 7')}") from error
        raise ValueError(f"{path}: is not a complete MATLAB file ({error})") from error
    return {name: array for name, array in arrays.items() if not name.startswith("__")}


def _checked(arrays: dict[str, Any], path: Path) -> tuple[Matrix, NDArray[Any]]:
    """Return the samples X and labels or targets y of named arrays, y also from one row or column."""
    if not {"X", "y"} <= arrays.keys():
        found = ", ".join(sorted(arrays)) or "nothing"
        raise ValueError(f"{path}: needs the arrays X and y, has {found}")
    X = check_samples(arrays["X"], f"{path}: X")
    y = arrays["y"].toarray() if scipy.sparse.issparse(arrays["y"]) else np.asarray(arrays["y"])
    if y.ndim == 2 and 1 in y.shape:
        y = y.ravel()
    n = X.shape[0]
    if y.dtype.kind == "U" and y.shape == (n,):
        return X, checked_words(y, f"{path}: y", "entry {}".format)
    return X, check_targets(y, n, f"{path}: y")


def checked_words(y: Any, name: str, place: Callable[[int], str]) -> NDArray[np.str_]:
    """Return labels (n,) that are text; ValueError with the place of the first missing one."""
    words = np.char.strip(np.asarray(y).astype(str))
    missing = np.isin(words, (known := np.unique(words))[is_word_missing(known)])
    if missing.any():
        row = int(missing.argmax())
        raise ValueError(f"{name} is missing in {missing.sum()} rows, the first at {place(row)}")
    return words


# by the ending of a file, in small letters; all other files are LIBSVM text
_READERS: dict[str, Callable[[Path], dict[str, Any]]] = {".npz": _read_npz, ".mat": _read_mat}
