"""Export of problems to other programs, in full precision: their samples, or a quadratic program.

libsvm           the text format of LIBSVM and LIBLINEAR
npz, mat, csv    X (n, d), y and the weights C (n,), for NumPy, MATLAB and all others
qp, qp_mat, qps  the dual min ½xᵀQx + pᵀx s.t. Ax = b, lb ≤ x ≤ ub as matrices, or as QPS;
                 a convex QP itself, readable by `read_qp`
"""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import scipy

from dualgap.problems.dataset import Vector
from dualgap.problems.forms import QP, BoxQP, Unsupported
from dualgap.problems.formulations.formulation import Formulation, SampleProblem
from dualgap.problems.kernels import Precomputed, as_dense
from dualgap.problems.problem import Problem, reduce
from dualgap.problems.quadratic.convex_qp import ConvexQP


def write(problem: Problem, kind: str, path: Path) -> None:
    """Write a problem in one of the formats of `WRITERS`.

    Raises
    ------
    Unsupported
        If the format needs samples or a box QP, and the problem has none.
    MemoryError
        If the matrix of its box QP is too large.
    """
    if reason := refusal(problem, kind):
        raise Unsupported(reason)
    WRITERS[kind][1](problem, path)


def refusal(problem: Problem, kind: str) -> str | None:
    """Return why a problem cannot be written in a format, None if it can."""
    if not isinstance(problem, SampleProblem):
        missing = f"a convex QP has no samples to write as {kind}; write it as qp, qp_mat or qps"
        return None if kind in QP_FORMATS.values() else missing
    if problem.in_blocks:
        return "samples in blocks are not exported, as they are in files already"
    return None


def targets_and_weights(problem: Any) -> tuple[Vector, Vector]:
    """Return the targets, labels or classes (n,) of a problem on samples, and the weights C (n,)."""
    if isinstance(problem, Formulation):
        return problem.risk.y, problem.risk.C
    return problem.y, np.full(problem.n, problem.C, np.float64)


def write_samples(problem: SampleProblem, path: Path) -> None:
    """Write X, y and the weights C as a NumPy archive.

    Sparse samples are stored as the arrays `data`, `indices`, `indptr` and `shape` of a CSR matrix,
    which scipy.sparse.load_npz reads.
    """
    X: Any = problem.X
    parts: dict[str, Any] = {"X": X}
    if scipy.sparse.issparse(X):
        parts = _csr_parts(X) | {"format": np.array(b"csr")}
    y, C = targets_and_weights(problem)
    np.savez_compressed(path, **parts, y=y, C=C)


def write_libsvm(problem: SampleProblem, path: Path) -> None:
    """Write the samples as LIBSVM text in full precision; rows of a Gram matrix are numbered."""
    rows = scipy.sparse.csr_array(problem.X)
    numbered = isinstance(problem.kernel, Precomputed)
    if numbered:  # LIBSVM reads entries by position, so zeros must be written too
        gram, (n, d) = as_dense(problem.X), problem.X.shape
        positions = np.tile(np.arange(d), n), np.arange(n + 1) * d
        rows = scipy.sparse.csr_array((gram.ravel(), *positions), shape=(n, d))
    y, _ = targets_and_weights(problem)
    with path.open("w", encoding="ascii") as file:
        for i, (first, last) in enumerate(zip(rows.indptr[:-1], rows.indptr[1:], strict=True)):
            columns, values = rows.indices[first:last] + 1, rows.data[first:last]
            entries = [f"{j}:{v!r}" for j, v in zip(columns.tolist(), values.tolist(), strict=True)]
            number = [f"0:{i + 1}"] if numbered else []
            file.write(" ".join([f"{y[i]:.17g}", *number, *entries]) + "\n")


def write_csv(problem: SampleProblem, path: Path) -> None:
    """Write a table with the columns y, C and x1, ..., xd."""
    table = np.column_stack([*targets_and_weights(problem), as_dense(problem.X)])
    names = ",".join(["y", "C", *(f"x{j + 1}" for j in range(problem.d))])
    np.savetxt(path, table, "%.17g", ",", header=names, comments="")


def write_mat(problem: SampleProblem, path: Path) -> None:
    """Write X, y and C as columns of a MATLAB file."""
    X: Any = scipy.sparse.csc_array(problem.X) if scipy.sparse.issparse(problem.X) else problem.X
    y, C = targets_and_weights(problem)
    arrays = {"X": X, "y": y, "C": C}
    scipy.io.savemat(path, arrays, do_compression=True, oned_as="column")


def qp_arrays(problem: Problem) -> dict[str, Any]:
    """Return the arrays of a quadratic program by their names in files.

    For a convex QP they are its fields, sparse, without G and h or A and b_eq if there are none. For
    another problem they are Q, p, lb, ub, and A and b if there are equalities, of the dual's box QP,
    all dense.

    Raises
    ------
    Unsupported
        If the problem has no box QP.
    MemoryError
        If Q is too large.
    """
    if isinstance(problem, ConvexQP):
        fields = ((name, getattr(problem, name)) for name in problem.data_fields)
        return {name: value for name, value in fields if value.shape[0]}
    form = reduce(problem, BoxQP).form
    A, b = form.equality_rows()
    equalities: dict[str, Any] = {} if A is None else {"A": A.toarray(), "b": b}
    return {"Q": form.Q.dense(), "p": form.p, "lb": form.lb, "ub": form.ub, **equalities}


def write_qp(problem: Problem, path: Path) -> None:
    """Write a quadratic program as a NumPy archive; errors as `qp_arrays`.

    A sparse matrix P is stored as the arrays P_data, P_indices, P_indptr and P_shape of a CSR matrix.
    """
    parts = dict[str, Any]()
    for name, value in qp_arrays(problem).items():
        sparse = scipy.sparse.issparse(value)
        parts |= _csr_parts(value, f"{name}_") if sparse else {name: value}
    np.savez_compressed(path, **parts)


def write_qp_mat(problem: Problem, path: Path) -> None:
    """Write a quadratic program as a MATLAB file; errors as `qp_arrays`."""
    arrays = {
        name: scipy.sparse.csc_array(value) if scipy.sparse.issparse(value) else value
        for name, value in qp_arrays(problem).items()
    }
    scipy.io.savemat(path, arrays, do_compression=True, oned_as="column")


def write_qps(problem: Problem, path: Path) -> None:
    """Write a quadratic program as QPS, whose QUADOBJ is the lower triangle; errors as `qp_arrays`.

    Rows of inequalities are called g0, g1, ..., those of equations r0, r1, ..., variables x0, x1, ...

    Source: Maros and Mészáros 1999, "A repository of convex quadratic programming problems", the format.
    """
    if isinstance(problem, ConvexQP):
        p = problem.program  # as the user stated it, not in the solvers' units
        qp = QP(p.P, p.q, p.G, p.h, p.A, p.b, p.lb, p.ub)
    else:
        box = reduce(problem, BoxQP).form
        Q = scipy.sparse.csc_array(box.Q.dense())
        qp = QP(Q, box.p, None, None, *box.equality_rows(), box.lb, box.ub)
    sides = [
        (f"{kind}{i}", value)
        for kind, side in (("g", qp.h), ("r", qp.b_eq))
        for i, value in enumerate(() if side is None else side.tolist())
    ]
    matrices = [scipy.sparse.csr_array(matrix) for matrix in (qp.G, qp.A) if matrix is not None]
    columns = scipy.sparse.vstack(matrices or [scipy.sparse.csr_array((0, qp.n))]).tocsc()
    lower = scipy.sparse.csc_array(scipy.sparse.tril(qp.P))
    with path.open("w", encoding="ascii") as file:
        file.write("NAME dualgap\nROWS\n N f\n")
        file.writelines(f" {'L' if name[0] == 'g' else 'E'} {name}\n" for name, _ in sides)
        file.write("COLUMNS\n")
        for j, cost in enumerate(qp.q.tolist()):
            file.write(f" x{j} f {cost!r}\n")
            file.writelines(f" x{j} {sides[i][0]} {v!r}\n" for i, v in _column(columns, j))
        file.write("RHS\n")
        file.writelines(f" rhs {name} {v!r}\n" for name, v in sides)
        file.write("BOUNDS\n")
        for j, (low, high) in enumerate(zip(qp.lb.tolist(), qp.ub.tolist(), strict=True)):
            file.write(f" LO bnd x{j} {low!r}\n" if np.isfinite(low) else f" MI bnd x{j}\n")
            file.write(f" UP bnd x{j} {high!r}\n" if np.isfinite(high) else f" PL bnd x{j}\n")
        file.write("QUADOBJ\n")
        for j in range(qp.n):
            file.writelines(f" x{j} x{i} {v!r}\n" for i, v in _column(lower, j))
        file.write("ENDATA\n")


def _csr_parts(matrix: Any, prefix: str = "") -> dict[str, Any]:
    """Return the arrays of a CSR matrix by name."""
    names = ("data", "indices", "indptr", "shape")
    return {prefix + name: np.asarray(getattr(matrix, name)) for name in names}


def _column(matrix: Any, j: int) -> Iterator[tuple[int, float]]:
    """Return the rows and values of the entries in a column of a CSC matrix."""
    entries = slice(matrix.indptr[j], matrix.indptr[j + 1])
    return zip(matrix.indices[entries].tolist(), matrix.data[entries].tolist(), strict=True)


Writer = Callable[[Any, Path], None]
WRITERS: Mapping[str, tuple[str, Writer]] = {  # file extension and writer of each format
    "libsvm": (".libsvm", write_libsvm),
    "npz": (".npz", write_samples),
    "csv": (".csv", write_csv),
    "mat": (".mat", write_mat),
    "qp": ("_qp.npz", write_qp),
    "qp_mat": ("_qp.mat", write_qp_mat),
    "qps": (".qps", write_qps),
}
QP_FORMATS: Mapping[str, str] = {".npz": "qp", ".mat": "qp_mat", ".qps": "qps"}
