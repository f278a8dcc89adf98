"""Quadratic programs from files: NumPy archives, MATLAB files of the Maros–Mészáros set, and QPS.

- `.npz`: arrays named as the fields of `ConvexQP`; a sparse matrix M as M_data, M_indices, M_indptr and
  M_shape of a CSR matrix.
- `.mat`: the same with sparse matrices as they are; or, as the set has them, P, q, A, l, u of
  min ½xᵀPx + qᵀx, l ≤ Ax ≤ u, the last n rows of A being the identity.
- `.qps`, `.mps` (also in capitals): see `dualgap.problems.exchange.qps`.

Maros & Mészáros 1999, "A repository of convex quadratic programming problems". Of its 138 problems
maros_meszaros.csv, beside this module, has the file in a public copy of the set and the SHA-1 that Git
has of it. It is the MATLAB file of five large problems only: in others costs and sides were computed
from the original decimals, so that equations which depend on one another no longer agree exactly.
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

from dualgap.problems.datasets.published import cache_folder, data_folder, downloaded
from dualgap.problems.datasets.source import Loadable, WholeProblem
from dualgap.problems.exchange.qps import read_qps
from dualgap.problems.formulations.convex_qp import ConvexQP
from dualgap.problems.validation import DAMAGE, check_choice

_INFINITE = 1e20  # from here on the sides of these files stand for none
_FIELDS = ("P", "q", "G", "h", "A", "b_eq", "lb", "ub")
_COPIES = {
    "QPS": "YimingYAN/QP-Test-Problems/871cc300154cfb438acc20f52b2c585db3f11e31/QPS_Files/",
    "mat": "qpsolvers/maros_meszaros_qpbenchmark/0cae37f473c2fd0a762e537a61bd4db5b31ff00c/data/",
}
_SITE = "https://raw.githubusercontent.com/"


@dataclass(frozen=True, kw_only=True)
class QuadraticProgram(Loadable):
    """A convex QP in a file, for the formulation convex_qp.

    Parameters
    ----------
    path : of a .npz, .mat, .qps or .mps file, see `read_qp`.
    """

    task: ClassVar[Literal["program"]] = "program"  # type: ignore[misc]
    kind: ClassVar[str] = "file"
    size: ClassVar[str] = "as the file has"
    origin: ClassVar[str] = "your own .npz, .mat, .qps or .mps"

    path: str

    def check(self) -> None:
        """Raise FileNotFoundError if there is no such file."""
        if not Path(self.path).expanduser().is_file():
            raise FileNotFoundError(f"path: there is no file {self.path}")

    def load(self) -> WholeProblem:
        """Read the file."""
        return WholeProblem(read_qp(Path(self.path).expanduser()))


@dataclass(frozen=True, kw_only=True)
class MarosMeszaros(Loadable):
    """One of the 138 problems of Maros & Mészáros, for the formulation convex_qp.

    It is looked for in the folder maros_meszaros of DUALGAP_DATA, then of the cache; else downloaded.

    Parameters
    ----------
    problem : its name, such as AUG2D.
    """

    task: ClassVar[Literal["program"]] = "program"  # type: ignore[misc]
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
            If there is none and it cannot be downloaded.
        ValueError
            If its checksum is not that of the catalogue.
        """
        file, checksum = _catalogue()[self.problem]
        folders = [own / "maros_meszaros" for own in (data_folder(), cache_folder()) if own]
        found = next((own / file for own in folders if (own / file).is_file()), None)
        if found is None:
            url = _SITE + _COPIES[Path(file).suffix[1:]] + file
            return downloaded(url, folders[-1] / file, partial(_verified, checksum=checksum))
        return _verified(found, checksum)


@cache
def _catalogue() -> dict[str, tuple[str, str]]:
    """Return the file and the checksum of each problem of the set."""
    with Path(__file__).with_name("maros_meszaros.csv").open(encoding="utf-8", newline="") as table:
        _, *rows = csv.reader(table)
    return {Path(file).stem: (file, checksum) for file, checksum in rows}


def _verified(path: Path, checksum: str) -> WholeProblem:
    content = path.read_bytes()
    found = hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()
    if found != checksum:
        raise ValueError(
            f"{path}: expected a file with the checksum {checksum}, found {found}; this is not the "
            "published content; quadratic_program loads a file as it is"
        )
    return WholeProblem(read_qp(path))


def read_qp(path: str | Path) -> ConvexQP:
    """Return the convex QP in a file; constants of its objective are left out.

    Raises
    ------
    ValueError
        If the file has another ending, or is not what its ending says.
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
    except (*DAMAGE, TypeError) as error:
        raise ValueError(f"{path.name}: cannot be read: {error}") from error


def _npz(path: Path) -> ConvexQP:
    try:
        with np.load(path) as archive:
            parts: dict[str, Any] = {name: archive[name] for name in archive.files}
    except ValueError as error:  # of a pickle, or of what is none
        raise ValueError(f"{path.name}: cannot be read: {error}") from error
    for name in ("P", "G", "A"):
        pieces = [
            parts.pop(f"{name}_{part}", None) for part in ("data", "indices", "indptr", "shape")
        ]
        if any(piece is None for piece in pieces) and any(piece is not None for piece in pieces):
            raise ValueError(
                f"{path.name}: has some of {name}_data, {name}_indices, {name}_indptr and "
                f"{name}_shape; a sparse matrix is all four"
            )
        if pieces[0] is not None:
            parts[name] = scipy.sparse.csr_array(tuple(pieces[:3]), shape=tuple(pieces[3]))
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
        found = {name: own for name, own in loadmat(path).items() if not name.startswith("__")}
    except Exception as error:  # whatever scipy raises of a file that is damaged
        raise ValueError(f"{path.name}: cannot be read: {error}") from error
    for name in {"q", "h", "b_eq", "lb", "ub", "l", "u"} & found.keys():
        own = found[name]  # which may be sparse in MATLAB
        found[name] = (own.toarray() if scipy.sparse.issparse(own) else own).ravel()
    if not {"l", "u"} & found.keys():
        return _from_fields(found, path)
    if lacking := {"P", "q", "A", "l", "u"} - found.keys():
        raise ValueError(f"{path.name}: lacks {', '.join(sorted(lacking))}; has {sorted(found)}")
    q, rows = found["q"], scipy.sparse.csr_array(found["A"], dtype=np.float64)
    lower, upper, n = found["l"], found["u"], q.size
    if abs(rows[-n:] - scipy.sparse.eye_array(n)).nnz:
        raise ValueError(
            f"{path.name}: the last {n} rows of A must be the identity, for bounds of x"
        )
    sides = lower[:-n], upper[:-n]
    return _two_sided(found["P"], q, rows[:-n], sides, (lower[-n:], upper[-n:]))


def _qps(path: Path) -> ConvexQP:
    return _two_sided(*read_qps(path))


def _two_sided(P: Any, q: Any, rows: Any, sides: Any, bounds: Any) -> ConvexQP:
    """Return the problem with l ≤ Ax ≤ u as equations where both are equal, and inequalities."""
    (lower, upper), (lb, ub) = (
        (np.where(low <= -_INFINITE, -np.inf, low), np.where(up >= _INFINITE, np.inf, up))
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
