"""Quadratic programs from files: NumPy archives, MATLAB files of the Maros–Mészáros set, and QPS.

- `.npz`: arrays named as the fields of `ConvexQP`; a sparse matrix M as M_data, M_indices, M_indptr and
  M_shape of a CSR matrix.
- `.mat`: the same with sparse matrices as they are; or, as the set has them, P, q, A, l, u of
  min ½xᵀPx + qᵀx, l ≤ Ax ≤ u, the last n rows of A being the identity.
- `.qps`, `.mps` (also in capitals): through HiGHS, which needs the package highspy. It leaves out
  coefficients of at most 1e-12, and the log tells; a file of which it leaves out more is refused.

Maros & Mészáros 1999, "A repository of convex quadratic programming problems". Of its 138 problems
maros_meszaros.csv, beside this module, has the file in a public copy of the set and the SHA-1 that Git
has of it. It is the MATLAB file of five large problems only: in others costs and sides were computed
from the original decimals, so that equations which depend on one another no longer agree exactly.
"""

import csv
import hashlib
import logging
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
import scipy

from problems.datasets.published import cache_folder, data_folder, downloaded
from problems.datasets.source import Loadable, WholeProblem
from problems.formulations.convex_qp import ConvexQP
from problems.validation import DAMAGE, check_choice

_log = logging.getLogger("dualgap")
_INFINITE = 1e20  # from here on the sides of these files stand for none
_LEAST_COEFFICIENT = 1e-12  # of a matrix: HiGHS cannot be asked to keep smaller ones
# of HiGHS' warnings: of bounds that exclude each other and ways of reading, and what the log tells
_HARMLESS = ("|value|", "inconsistent bounds", "names with spaces", "under development")
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
    ModuleNotFoundError
        If it is QPS and highspy is not installed.
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
    try:
        import highspy  # noqa: PLC0415 - optional
    except ModuleNotFoundError:
        raise ModuleNotFoundError(
            f"{path.name}: QPS is read by HiGHS; install it with: pip install 'dualgap[qp]'"
        ) from None
    model, left_out = _by_highs(path, free=True)
    if left_out:  # in fixed format columns tell a row from a set of right-hand sides of its name
        model, missing = _by_highs(path, free=False)
        if missing:
            told = "; ".join(left_out)
            raise ValueError(f"{path.name}: HiGHS reads less than it has: {told}")
    lp, hessian = model.lp_, model.hessian_
    if len(lp.integrality_):
        raise ValueError(f"{path.name}: has integer variables; a convex QP has none")
    n, sign = lp.num_col_, -1.0 if lp.sense_ == highspy.ObjSense.kMaximize else 1.0
    P = scipy.sparse.csc_array((n, n))
    if hessian.dim_:
        parts = np.array(hessian.value_), np.array(hessian.index_), np.array(hessian.start_)
        half = scipy.sparse.csc_array(parts, shape=(n, n))
        P = half + half.T - scipy.sparse.diags_array(half.diagonal())
    matrix = lp.a_matrix_
    parts = np.array(matrix.value_), np.array(matrix.index_), np.array(matrix.start_)
    rows = scipy.sparse.csc_array(parts, shape=(lp.num_row_, n)).tocsr()
    sides = np.array(lp.row_lower_), np.array(lp.row_upper_)
    bounds = np.array(lp.col_lower_), np.array(lp.col_upper_)
    return _two_sided(sign * P, sign * np.array(lp.col_cost_), rows, sides, bounds)


def _by_highs(path: Path, *, free: bool) -> tuple[Any, list[str]]:
    """Return the model that HiGHS reads of a file, and its words for what it leaves out of it.

    Of coefficients that it leaves out because they are too small only the log tells.
    """
    import highspy  # noqa: PLC0415 - optional

    highs = highspy.Highs()
    highs.setOptionValue("log_to_console", False)
    highs.setOptionValue("small_matrix_value", _LEAST_COEFFICIENT)
    highs.setOptionValue("mps_parser_type_free", free)
    with tempfile.TemporaryDirectory() as folder:
        log, named = Path(folder) / "log", Path(folder) / "problem.mps"  # HiGHS goes by the ending
        named.symlink_to(path.resolve())
        highs.setOptionValue("log_file", str(log))
        status = highs.readModel(str(named))
        lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    warnings = [line.removeprefix("WARNING: ") for line in lines if line.startswith("WARNING: ")]
    if status == highspy.HighsStatus.kError:
        raise ValueError(f"{path.name}: HiGHS cannot read it as QPS")
    for text in warnings:
        if "|value|" in text:
            _log.warning("%s: %s", path.name, text)
    left_out = [text for text in warnings if not any(words in text for words in _HARMLESS)]
    if highs.getLp().num_col_ != len(_columns(path, free)):
        left_out.append("other sections name variables that COLUMNS does not")
    return highs.getModel(), left_out


def _columns(path: Path, free: bool) -> set[str]:
    """Return the names of variables in the section of them, in free format or in the fixed one."""
    section, names = "", set[str]()
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        if line[:1] not in (" ", "\t", "*", ""):
            section = line.split()[0]
        elif section == "COLUMNS" and line[:1] != "*" and line.strip() and "'MARKER'" not in line:
            names.add(line.split()[0] if free else line[4:12].strip())
    return names


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
