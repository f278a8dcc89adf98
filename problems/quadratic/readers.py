"""Quadratic programs from files: NumPy archives, MATLAB files of the Maros–Mészáros set, and QPS.

- `.npz`: arrays named like the fields of `ConvexQP`; a sparse matrix M as M_data, M_indices, M_indptr
  and M_shape of a CSR matrix. Or as qpsolvers writes them: b for b_eq, and None for what is missing.
- `.mat`: the same, with sparse matrices stored directly; or, as in the set, P, q, A, l, u of
  min ½xᵀPx + qᵀx, l ≤ Ax ≤ u, the last n rows of A being the identity.
- `.qps`, `.mps` (also in capitals, and compressed as `.gz`): see `dualgap.problems.quadratic.qps`.
"""

import pickle
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import scipy

from dualgap.problems.quadratic.convex_qp import ConvexQP
from dualgap.problems.quadratic.qps import read_qps
from dualgap.problems.validation import CORRUPT_FILE_ERRORS


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
    readers |= {".qps.gz": _qps, ".mps.gz": _qps}
    read = next((readers[end] for end in readers if path.name.lower().endswith(end)), None)
    if read is None:
        raise ValueError(f"path: must end in {', '.join(readers)}, got {path.name!r}")
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {path}")
    try:
        return read(path)
    except (*CORRUPT_FILE_ERRORS, TypeError) as error:
        raise ValueError(f"{path.name}: cannot be read: {error}") from error


def _npz(path: Path) -> ConvexQP:
    try:
        with np.load(path) as archive:
            parts: dict[str, Any] = {name: _member(archive, name) for name in archive.files}
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
    if "b_eq" not in parts and "b" in parts:
        parts["b_eq"] = parts.pop("b")
    return _from_fields(parts, path)


def _member(archive: Any, name: str) -> Any:
    """Return an array of an archive, or None for the object None, of which nothing is unpickled."""
    try:
        return archive[name]
    except ValueError:
        nones = [pickle.dumps(np.array(None), protocol) for protocol in (3, 4)]
        nones += [nones[0].replace(b"numpy._core", b"numpy.core")]  # NumPy 1
        with archive.zip.open(f"{name}.npy") as member:
            if not member.read(1000).endswith(tuple(nones)):
                raise
        return None


def _from_fields(parts: Mapping[str, Any], path: Path) -> ConvexQP:
    if unknown := parts.keys() - {*ConvexQP.data_fields}:
        accepted = ", ".join(ConvexQP.data_fields)
        raise ValueError(
            f"{path.name}: has {', '.join(sorted(unknown))}; arrays are named {accepted}"
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
    """Return the problem with l ≤ Ax ≤ u split into equations, where l = u, and inequalities.

    In these files a side of at least 1e20 means no bound.
    """
    (lower, upper), (lb, ub) = (
        (np.where(low <= -1e20, -np.inf, low), np.where(up >= 1e20, np.inf, up))
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
