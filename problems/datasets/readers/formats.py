"""Reading data files: LIBSVM text, plain or compressed, and ``.npz`` or ``.mat`` with `X` and `y`.

A line of LIBSVM text is ``label index:value index:value ... # comment``, indices increasing
and beginning at 1 (C.-C. Chang, C.-J. Lin, "LIBSVM", 2011, and its README). scikit-learn
parses it; only when it fails is the file read again, line by line, to name the line.

An archive may unpack to `UNPACKED_RATIO` times its own size, or to `UNPACKED_ALWAYS_BYTES` bytes if that
is more, as a small file may unpack to more than the memory. Uncompressed files have no limit.
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

from dualgap.problems.dataset import Matrix, Vector, check_samples
from dualgap.problems.datasets.steps import by_density, pad_features
from dualgap.problems.labels import exact_numbers, is_word_missing
from dualgap.problems.validation import CORRUPT_FILE_ERRORS, decode_text

_OPENERS: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
_USE_TABLE_FILE = "`table_file` reads it, with target: <the column of labels or targets>"
_CSR = ("data", "indices", "indptr", "shape", "format")  # the arrays of `scipy.sparse.save_npz`
UNPACKED_RATIO = 100  # text of samples is compressed by a factor of 3 to 30
UNPACKED_ALWAYS_BYTES = 2**28  # fits into the memory of every machine that solvers run on


def file_extensions(path: Path) -> tuple[str, str]:
    """Return the extensions of a file for its format and its compression, in lower case."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    packed = suffixes.pop() if suffixes and suffixes[-1] in _OPENERS else ""
    return (suffixes or [""])[-1], packed


def foreign_format(head: bytes) -> str:
    """Return the format of a file that begins with `head`, and how to read it; "" for sample text."""
    first_bytes = {
        rb"PAR1[^\w,;\s]": f"is Parquet; call it .parquet, and {_USE_TABLE_FILE}",
        rb"\x93NUMPY": "is one array of NumPy; save X and y with numpy.savez(path, X=X, y=y)",
        rb"MATLAB 5": "is a MATLAB file; call it .mat",
        rb"\x89HDF|MATLAB 7": "is HDF5, as MATLAB's save -v7.3 writes; write X and y by save -v7",
        rb"PK\x03\x04|PK\x05\x06": (
            "is a zip archive or a workbook; unpack it first, or save the sheet as CSV"
        ),
        rb"\x1f\x8b|BZh[1-9]1AY|\xfd7zXZ": "is compressed; let its name end in .gz, .bz2 or .xz",
        rb"\xff\xfe|\xfe\xff": "is UTF-16 text; save it as UTF-8",
        rb"(?i)(\s*%[^\n]*\n)*\s*@relation": f"is ARFF; call it .arff, and {_USE_TABLE_FILE}",
    }
    return next((text for start, text in first_bytes.items() if re.match(start, head)), "")


def read_file(
    path: Path, *, zero_based: bool = False, n_features: int | None = None
) -> tuple[Matrix, NDArray[Any]]:
    """Read samples and labels from `path`.

    Parameters
    ----------
    path : ``.npz`` or ``.mat`` with arrays `X` (n, d) and `y` (n,), or LIBSVM text, compressed if the
        name ends in ``.gz``, ``.bz2`` or ``.xz``. A sparse `X` of an ``.npz`` consists of the arrays
        of `scipy.sparse.save_npz`.
    zero_based : whether the indices in the text begin at 0.
    n_features : append zero columns up to this number.

    Returns
    -------
    X, y
        `X` dense if more than half of the entries are nonzero, CSR otherwise.

    Raises
    ------
    OSError
        If the file is missing or cannot be read.
    ValueError
        If its content is invalid, or an archive unpacks to more than its size allows, see above; the
        message names the file, the line and the problem.
    """
    check_readable(path)
    readers = {".npz": _read_npz, ".mat": _read_mat}  # all other files are LIBSVM text
    reader = readers.get(file_extensions(path)[0])
    if reader:
        samples, y = _samples_and_labels(reader(path), path)
    else:
        samples, y = _read_text(path, zero_based, n_features)
    return by_density(pad_features(samples, n_features)), y


def check_readable(path: Path) -> None:
    """Raise an OSError if `path` cannot be read."""
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
            X, y = parse_libsvm(stream, zero_based)
    except (*CORRUPT_FILE_ERRORS, ValueError) as error:
        raise ValueError(f"{path}{_first_fault(path, zero_based) or f': {error}'}") from error
    if y.size == 0:
        raise ValueError(f"{path}: is empty, it has no samples")
    if X.nnz == 0 and n_features is None:
        raise ValueError(f"{path}: has no features; pass n_features if all of them are zero")
    return scipy.sparse.csr_array(X), np.asarray(y, dtype=np.float64)


def check_text(path: Path) -> None:
    """Raise ValueError if compressed text unpacks to more than its size allows."""
    unpacked, limit = 0, _unpacked_limit(path)
    if file_extensions(path)[1]:
        # parsing reports corrupt archives
        with suppress(*CORRUPT_FILE_ERRORS), _open(path) as stream:
            while unpacked <= limit and (block := stream.read(2**20)):
                unpacked += len(block)
        _check_unpacked(path, unpacked, "decompress it first: plain text has no limit")


class _Lines:
    """Lines of LIBSVM text without byte order mark; refuses 1_0, which Python would read as 10."""

    def __init__(self, stream: IO[bytes]) -> None:
        self.stream, self.read = stream, stream.read  # scikit-learn checks for `read`

    def __iter__(self) -> Iterator[bytes]:
        for number, line in enumerate(self.stream):
            if b"_" in line and (word := re.search(rb"\S*_\S*", line.partition(b"#")[0])):
                raise ValueError(
                    f"{str(word[0])[1:]} has an underscore, which numbers must not have"
                )
            yield line if number else line.removeprefix(codecs.BOM_UTF8)


def parse_libsvm(stream: IO[bytes], zero_based: bool) -> tuple[Any, Any]:
    """Parse samples and labels from LIBSVM text; ValueError or OverflowError for other text."""
    from sklearn.datasets import load_svmlight_file  # noqa: PLC0415 - slow to import

    lines: Any = _Lines(stream)
    X, y = load_svmlight_file(lines, zero_based=zero_based)
    if not (np.isfinite(X.data).all() and np.isfinite(y).all()):
        raise ValueError("NaN or infinite entries; drop or impute them first")
    return X, y


def _first_fault(path: Path, zero_based: bool) -> str:
    """Return the number of the first line that cannot be parsed by itself, and why; "" if all can."""
    number = 0
    try:
        with _open(path) as stream:
            for number, line in enumerate(stream, start=1):
                if number == 1 and (other := foreign_format(line)):
                    return f", line 1: {other}"
                if fault := line_fault(line, zero_based):
                    return f", line {number}: {fault}"
    except CORRUPT_FILE_ERRORS as error:
        return (
            f": the archive is truncated or damaged after line {number} ({error}); get a fresh copy"
        )
    return ""


def line_fault(line: bytes, zero_based: bool = False) -> str:
    """Return why a line of LIBSVM text cannot be parsed, or "" if it can."""
    try:
        parse_libsvm(io.BytesIO(line), zero_based)
    except (ValueError, OverflowError) as error:
        if b":" not in line and (re.search(rb"\S[,;\t]\s*\S", line) or len(line.split()) > 2):
            kind = "CSV" if b"," in line or b";" in line else "a table"
            return (
                f"is {kind}, not LIBSVM text, whose lines are `label index:value ...`; "
                f"{_USE_TABLE_FILE}"
            )
        hint = (
            "; indices begin at 1, or at 0 with zero_based: true"
            if "index 0 " in str(error)
            else ""
        )
        return str(error)[:200] + hint  # scikit-learn may quote the whole line
    return ""


def _open(path: Path) -> Any:
    return _OPENERS.get(file_extensions(path)[1], open)(path, "rb")


def read_text(path: Path) -> str:
    r"""Return the text of a plain or compressed file, with lines ended by \n.

    Raises
    ------
    ValueError
        If it is not UTF-8 text, naming the line, or if an archive is corrupt or unpacks to too much.
    """
    check_text(path)
    with _open(path) as stream:
        content: bytes = stream.read()
    if file_extensions(path)[0] != ".arff" and (other := foreign_format(content)):
        raise ValueError(other)
    text = decode_text(content)
    if "\0" in text:
        line = text[: text.index("\0")].count("\n") + 1
        raise ValueError(f"line {line}: has a NUL character and is not text; get a fresh copy")
    return text


def _unpacked_limit(path: Path) -> int:
    return max(UNPACKED_ALWAYS_BYTES, UNPACKED_RATIO * path.stat().st_size)


def _check_unpacked(path: Path, unpacked: int, remedy: str) -> None:
    """Raise ValueError if an archive unpacks to more than its size allows."""
    limit = _unpacked_limit(path)
    if unpacked > limit:
        raise ValueError(
            f"{path}: the archive of {path.stat().st_size} bytes unpacks to more than "
            f"{limit / 2**20:.0f} MiB, the limit for an archive of its size ({UNPACKED_RATIO} times "
            f"that, and at least {UNPACKED_ALWAYS_BYTES / 2**20:.0f} MiB); if this is intended, {remedy}"
        )


def _read_npz(path: Path) -> dict[str, Any]:
    """Read the arrays of samples in an archive; the values of all other names are None."""
    try:
        # np.load would take a file that is not an archive for a pickle
        with zipfile.ZipFile(path) as members:
            unpacked, arrays = sum(member.file_size for member in members.infolist()), {}
        if unpacked <= _unpacked_limit(path):
            with np.load(path, allow_pickle=False) as archive:
                arrays = {
                    name: archive[name] if name in (*_CSR, "X", "y") else None
                    for name in archive.files
                }
                if {*_CSR} <= arrays.keys() and "X" not in arrays:  # written by scipy or dualgap
                    arrays["X"] = _csr(arrays)
    except (*CORRUPT_FILE_ERRORS, ValueError) as error:
        hint = "; save numbers, and labels as y.astype(str)" if "pickle" in str(error) else ""
        raise ValueError(f"{path}: is not a complete .npz archive ({error}){hint}") from error
    _check_unpacked(path, unpacked, "save it with numpy.savez, which does not compress")
    return arrays


def _csr(arrays: dict[str, Any]) -> Any:
    """Assemble a CSR matrix from its arrays; ValueError for other formats."""
    if bytes(arrays["format"]) != b"csr":
        raise ValueError(f"X is sparse in the format {arrays['format']}; save it as X.tocsr()")
    data, indices, indptr, shape = (arrays[name] for name in _CSR[:-1])
    matrix = scipy.sparse.csr_array((data, indices, indptr), shape=tuple(shape))
    matrix.check_format(full_check=True)
    return matrix


def _read_mat(path: Path) -> dict[str, Any]:
    """Read X and y of a MATLAB file of level 5 or lower; the values of all other names are None."""
    try:
        listed: list[Any] = scipy.io.whosmat(path, appendmat=False)
        dense = [shape for name, shape, kind in listed if name in ("X", "y") and kind != "sparse"]
        entries = sum(map(prod, dense))
        _check_unpacked(path, 8 * entries, "save it with -v6, which does not compress")
        arrays: dict[str, Any] = dict.fromkeys(name for name, *_ in listed)
        arrays |= scipy.io.loadmat(path, appendmat=False, variable_names=["X", "y"])
    except Exception as error:  # scipy raises many types for corrupt files
        if str(error).startswith(str(path)):
            raise
        if isinstance(error, NotImplementedError):
            raise ValueError(f"{path}: {foreign_format(b'MATLAB 7')}") from error
        raise ValueError(f"{path}: is not a complete MATLAB file ({error})") from error
    return {name: array for name, array in arrays.items() if not name.startswith("__")}


def _samples_and_labels(arrays: dict[str, Any], path: Path) -> tuple[Matrix, NDArray[Any]]:
    """Return checked samples X and labels or targets y; y may be a matrix of one row or column."""
    if not {"X", "y"} <= arrays.keys():
        present = ", ".join(sorted(arrays)) or "nothing"
        raise ValueError(f"{path}: needs the arrays X and y, has {present}")
    X = check_samples(arrays["X"], f"{path}: X")
    y = arrays["y"].toarray() if scipy.sparse.issparse(arrays["y"]) else np.asarray(arrays["y"])
    if y.ndim == 2 and 1 in y.shape:
        y = y.ravel()
    n = X.shape[0]
    if y.dtype.kind == "U" and y.shape == (n,):
        return X, check_words(y, f"{path}: y", "entry {}".format)
    return X, exact_numbers(y, n, f"{path}: y")


def check_words(y: Any, name: str, row_name: Callable[[int], str]) -> NDArray[np.str_]:
    """Return text labels (n,); ValueError names the row of the first missing one."""
    words = np.char.strip(np.asarray(y).astype(str))
    missing = np.isin(words, (distinct := np.unique(words))[is_word_missing(distinct)])
    if missing.any():
        row = int(missing.argmax())
        raise ValueError(f"{name} is missing in {missing.sum()} rows, the first at {row_name(row)}")
    return words
