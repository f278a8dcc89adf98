"""Problems for other programs: NumPy archives, and the text that LIBSVM and LIBLINEAR read."""

from pathlib import Path
from typing import Any

import numpy as np
import scipy

from problems import BoxQP, Formulation, reduce
from problems.kernels import Precomputed


def write_samples(problem: Formulation, path: Path) -> None:
    """Write X, y and the weights C as a NumPy archive.

    Sparse samples are the parts `data`, `indices`, `indptr` and `shape` of a CSR matrix, which
    scipy.sparse.load_npz reads.
    """
    X: Any = problem.X
    parts: dict[str, Any] = {"X": X}
    if scipy.sparse.issparse(X):
        parts = {name: getattr(X, name) for name in ("data", "indices", "indptr", "shape")}
        parts["format"] = np.array(b"csr")
    np.savez_compressed(path, **parts, y=problem.y, C=problem.weight)


def write_libsvm(problem: Formulation, path: Path) -> None:
    """Write the samples as LIBSVM's text, with all digits; rows of a Gram matrix are numbered."""
    rows = scipy.sparse.csr_array(problem.X)
    numbered = isinstance(problem.kernel, Precomputed)
    with path.open("w", encoding="ascii") as file:
        for i, (first, last) in enumerate(zip(rows.indptr[:-1], rows.indptr[1:], strict=True)):
            columns, values = rows.indices[first:last] + 1, rows.data[first:last]
            entries = [f"{j}:{v!r}" for j, v in zip(columns.tolist(), values.tolist(), strict=True)]
            number = [f"0:{i + 1}"] if numbered else []
            file.write(" ".join([f"{problem.y[i]:.17g}", *number, *entries]) + "\n")


def write_qp(problem: Formulation, path: Path) -> None:
    """Write the dual's box QP as a NumPy archive of dense matrices.

    Raises
    ------
    Unsupported
        If the problem is no box QP.
    MemoryError
        If Q is too large.
    """
    form = reduce(problem, BoxQP).form
    A, b = form.equality_rows()
    equalities: dict[str, Any] = {} if A is None else {"A": A.toarray(), "b": b}
    np.savez_compressed(path, Q=form.Q.dense(), p=form.p, lb=form.lb, ub=form.ub, **equalities)
