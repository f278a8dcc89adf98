"""Quadratic programs from files: NumPy archives, MATLAB files of the Maros–Mészáros set, and QPS.

- `.npz`: arrays named like the fields of `ConvexQP`; a sparse matrix M as M_data, M_indices, M_indptr
  and M_shape of a CSR matrix.
- `.mat`: the same, with sparse matrices stored directly; or, as in the set, P, q, A, l, u of
  min ½xᵀPx + qᵀx, l ≤ Ax ≤ u, the last n rows of A being the identity.
- `.qps`, `.mps` (also in capitals): see `dualgap.problems.exchange.qps`.

Maros & Mészáros 1999, "A repository of convex quadratic programming problems". For each of the 138
problems maros_meszaros.csv, next to this module, lists a file in a public copy of the set and its Git
SHA-1. Only five large problems use the MATLAB file: the others' MATLAB files have costs and sides
computed from the original decimals, so that dependent equations no longer agree exactly.
"""

import csv
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
import scipy

from dualgap.problems.datasets.published import cache_folder, data_folder, download
from dualgap.problems.datasets.source import Loadable, WholeProblem
from dualgap.problems.exchange.qps import read_qps
from dualgap.problems.formulations.convex_qp import ConvexQP
from dualgap.problems.validation import CORRUPT_FILE_ERRORS, check_choice

_INFINITY = 1e20  # in these files sides of at least this size mean no bound
_FIELDS = ("P", "q", "G", "h", "A", "b_eq", "lb", "ub")
_COPIES = {
    "QPS": "https://raw.githubusercontent.com/YimingYAN/QP-Test-Problems/871cc300154cfb438acc20f52b2c585db3f11e31/QPS_Files/",
    "mat": "https://raw.githubusercontent.com/qpsolvers/maros_meszaros_qpbenchmark/0cae37f473c2fd0a762e537a61bd4db5b31ff00c/data/",
}


@dataclass(frozen=True, kw_only=True)
class QuadraticProgram(Loadable):
    """A convex QP in a file, for the formulation convex_qp.

    Parameters
    ----------
    path : a .npz, .mat, .qps or .mps file, see `read_qp`.
    """

    task: ClassVar[Literal["program"]] = "program"
    kind: ClassVar[str] = "file"
    size: ClassVar[str] = "as in the file"
    origin: ClassVar[str] = "your own .npz, .mat, .qps or .mps"

    path: str

    def check(self) -> None:
        """Raise FileNotFoundError if the file does not exist."""
        if not Path(self.path).expanduser().is_file():
            raise FileNotFoundError(f"path: there is no file {self.path}")

    def load(self) -> WholeProblem:
        """Read the file."""
        return WholeProblem(read_qp(Path(self.path).expanduser()))


@dataclass(frozen=True, kw_only=True)
class MarosMeszaros(Loadable):
    """One of the 138 problems of Maros & Mészáros, for the formulation convex_qp.

    The folder maros_meszaros of DUALGAP_DATA is searched, then that of the cache; else it is downloaded.

    Parameters
    ----------
    problem : its name, such as AUG2D.
    """

    task: ClassVar[Literal["program"]] = "program"
    kind: ClassVar[str] = "published"
    size: ClassVar[str] = "2 to 93,263 variables"
    origin: ClassVar[str] = "Maros & Mészáros 1999"

    problem: str

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice(self.problem, "problem", _catalogue())

    def load(self) -> WholeProblem:
        """Read the file.

        Raises
        ------
        OSError
            If there is no local file and it cannot be downloaded.
        ValueError
            If its checksum is not that of the catalogue.
        """
        file, checksum = _catalogue()[self.problem]
        folders = [root / "maros_meszaros" for root in (data_folder(), cache_folder()) if root]
        path = next((root / file for root in folders if (root / file).is_file()), None)
        if path is None:
            url = _COPIES[Path(file).suffix[1:]] + file
            return download(url, folders[-1] / file, partial(_read_verified, checksum=checksum))
        return _read_verified(path, checksum)


@cache
def _catalogue() -> dict[str, tuple[str, str]]:
    """Return the file and the checksum of each problem in the set."""
    with Path(__file__).with_name("maros_meszaros.csv").open(encoding="utf-8", newline="") as table:
        _, *rows = csv.reader(table)
    return {Path(file).stem: (file, checksum) for file, checksum in rows}


def _read_verified(path: Path, checksum: str) -> WholeProblem:
    content = path.read_bytes()
    actual = hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()
    if actual != checksum:
        raise ValueError(
            f"{path}: expected a file with the checksum {checksum}, found {actual}; this is not the "
            "published content; quadratic_program loads a file as it is"
        )
    return WholeProblem(read_qp(path))


def read_qp(path: str | Path) -> ConvexQP:
    """Return the convex QP in a file, without the constant of its objective.

    Raises
    ------
    ValueError
        If the file's extension is unknown, or its content does not match the extension.
    OSError
        If it cannot be read.
    """
    path = Path(path)
    readers = {".npz": _npz, ".mat": _mat, ".qps": _qps, ".mps": _qps}
    if path.suffix.lower() not in readers:
        raise ValueError(f"path: must end in {', '.join(readers)}, got {path.name!r}")
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {path}")
    try:
        return readers[path.suffix.lower()](path)
    except (*CORRUPT_FILE_ERRORS, TypeError) as error:
        raise ValueError(f"{path.name}: cannot be read: {error}") from error


def _npz(path: Path) -> ConvexQP:
    try:
        with np.load(path) as archive:
            parts: dict[str, Any] = {name: archive[name] for name in archive.files}
    except ValueError as error:  # np.load takes any other file for a pickle
        raise ValueError(f"{path.name}: cannot be read: {error}") from error
    for name in ("P", "G", "A"):
        csr = [parts.pop(f"{name}_{part}", None) for part in ("data", "indices", "indptr", "shape")]
        if any(array is None for array in csr) and any(array is not None for array in csr):
            raise ValueError(
                f"{path.name}: has only some of {name}_data, {name}_indices, {name}_indptr and "
                f"{name}_shape; a sparse matrix needs all four"
            )
        if csr[0] is not None:
            parts[name] = scipy.sparse.csr_array(tuple(csr[:3]), shape=tuple(csr[3]))
    return _from_fields(parts, path)


def _from_fields(parts: Mapping[str, Any], path: Path) -> ConvexQP:
    if unknown := parts.keys() - set(_FIELDS):
        raise ValueError(
            f"{path.name}: has {', '.join(sorted(unknown))}; arrays are named {', '.join(_FIELDS)}"
        )
    return ConvexQP(**parts)


def _mat(path: Path) -> ConvexQP:
    from scipy.io import loadmat  # noqa: PLC0415 - slow to import

    try:
        arrays = {name: array for name, array in loadmat(path).items() if not name.startswith("__")}
    except Exception as error:  # scipy raises many types for corrupt files
        raise ValueError(f"{path.name}: cannot be read: {error}") from error
    for name in {"q", "h", "b_eq", "lb", "ub", "l", "u"} & arrays.keys():
        array = arrays[name]  # which may be sparse in MATLAB
        arrays[name] = (array.toarray() if scipy.sparse.issparse(array) else array).ravel()
    if not {"l", "u"} & arrays.keys():
        return _from_fields(arrays, path)
    if missing := {"P", "q", "A", "l", "u"} - arrays.keys():
        raise ValueError(f"{path.name}: lacks {', '.join(sorted(missing))}; has {sorted(arrays)}")
    q, rows = arrays["q"], scipy.sparse.csr_array(arrays["A"], dtype=np.float64)
    lower, upper, n = arrays["l"], arrays["u"], q.size
    if abs(rows[-n:] - scipy.sparse.eye_array(n)).nnz:
        raise ValueError(
            f"{path.name}: the last {n} rows of A must be the identity, for bounds of x"
        )
    sides = lower[:-n], upper[:-n]
    return _two_sided(arrays["P"], q, rows[:-n], sides, (lower[-n:], upper[-n:]))


def _qps(path: Path) -> ConvexQP:
    return _two_sided(*read_qps(path))


def _two_sided(P: Any, q: Any, rows: Any, sides: Any, bounds: Any) -> ConvexQP:
    """Return the problem with l ≤ Ax ≤ u split into equations, where l = u, and inequalities."""
    (lower, upper), (lb, ub) = (
        (np.where(low <= -_INFINITY, -np.inf, low), np.where(up >= _INFINITY, np.inf, up))
        for low, up in (sides, bounds)
    )
    same = lower == upper
    above, below = (
        np.flatnonzero(~same & (upper < np.inf)),
        np.flatnonzero(~same & (lower > -np.inf)),
    )
    G = scipy.sparse.vstack([rows[above], -rows[below]])
    h = np.concatenate([upper[above], -lower[below]])
    return ConvexQP(P, q, G, h, rows[same], upper[same], lb, ub)
