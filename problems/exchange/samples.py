"""Problems for other programs, all with all digits: their samples, or the box QP of their dual.

libsvm           the text that LIBSVM and LIBLINEAR read
npz, mat, csv    X (n, d), y and the weights C (n,), for NumPy, MATLAB and all others
qp, qp_mat, qps  min ½xᵀQx + pᵀx s.t. Ax = b, lb ≤ x ≤ ub as matrices, or as QPS
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import scipy

from problems.forms import BoxQP, Unsupported, reduce
from problems.formulations.formulation import Formulation
from problems.kernels import Precomputed, as_dense


def check_samples(problem: Formulation) -> None:
    """Raise Unsupported where there are no samples to be written."""
    if not problem.has_samples:
        raise Unsupported(
            "a convex QP has no samples to write: give other programs the file that it is read from, "
            "and their answers to certify(problem, x)"
        )


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


def write_csv(problem: Formulation, path: Path) -> None:
    """Write a table with the columns y, C and x1, ..., xd."""
    table = np.column_stack([problem.y, problem.weight, as_dense(problem.X)])
    names = ",".join(["y", "C", *(f"x{j + 1}" for j in range(problem.d))])
    np.savetxt(path, table, "%.17g", ",", header=names, comments="")


def write_mat(problem: Formulation, path: Path) -> None:
    """Write X, y and C as columns of a MATLAB file."""
    X: Any = scipy.sparse.csc_array(problem.X) if scipy.sparse.issparse(problem.X) else problem.X
    arrays = {"X": X, "y": problem.y, "C": problem.weight}
    scipy.io.savemat(path, arrays, do_compression=True, oned_as="column")


def qp_arrays(problem: Formulation) -> dict[str, Any]:
    """Return Q, p, lb, ub, and A and b if there are equalities, of the dual's box QP, all dense.

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
    return {"Q": form.Q.dense(), "p": form.p, "lb": form.lb, "ub": form.ub, **equalities}


def write_qp(problem: Formulation, path: Path) -> None:
    """Write the dual's box QP as a NumPy archive; errors as `qp_arrays`."""
    np.savez_compressed(path, **qp_arrays(problem))


def write_qp_mat(problem: Formulation, path: Path) -> None:
    """Write the dual's box QP as a MATLAB file; errors as `qp_arrays`."""
    scipy.io.savemat(path, qp_arrays(problem), do_compression=True, oned_as="column")


def write_qps(problem: Formulation, path: Path) -> None:
    """Write the dual's box QP as QPS, whose QUADOBJ is the lower triangle; errors as `qp_arrays`.

    Source: Maros and Mészáros 1999, "A repository of convex quadratic programming problems", the format.
    """
    qp = qp_arrays(problem)
    A, b = qp.get("A", np.zeros((0, problem.n))), qp.get("b", np.zeros(0))
    with path.open("w", encoding="ascii") as file:
        file.write("NAME dualgap\nROWS\n N f\n" + "".join(f" E r{i}\n" for i in range(len(b))))
        file.write("COLUMNS\n")
        for j, cost in enumerate(qp["p"].tolist()):
            file.write(f" x{j} f {cost!r}\n")
            file.writelines(f" x{j} r{i} {A[i, j].item()!r}\n" for i in np.flatnonzero(A[:, j]))
        file.write("RHS\n" + "".join(f" rhs r{i} {v!r}\n" for i, v in enumerate(b.tolist())))
        file.write("BOUNDS\n")
        for j, (low, high) in enumerate(zip(qp["lb"].tolist(), qp["ub"].tolist(), strict=True)):
            file.write(f" LO bnd x{j} {low!r}\n" if np.isfinite(low) else f" MI bnd x{j}\n")
            file.write(f" UP bnd x{j} {high!r}\n" if np.isfinite(high) else f" PL bnd x{j}\n")
        file.write("QUADOBJ\n")
        for j, column in enumerate(qp["Q"].T):
            below = np.flatnonzero(column[j:]) + j
            file.writelines(f" x{j} x{i} {column[i].item()!r}\n" for i in below)
        file.write("ENDATA\n")


Writer = Callable[[Formulation, Path], None]
WRITERS: Mapping[str, tuple[str, Writer]] = {  # the ending of each format's files, and its writer
    "libsvm": (".libsvm", write_libsvm),
    "npz": (".npz", write_samples),
    "csv": (".csv", write_csv),
    "mat": (".mat", write_mat),
    "qp": (".npz", write_qp),
    "qp_mat": (".mat", write_qp_mat),
    "qps": (".qps", write_qps),
}
