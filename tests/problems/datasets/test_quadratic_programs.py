"""Convex QPs read from archives, MATLAB files and QPS are the same problem."""

import numpy as np
import pytest
import scipy

from problems.datasets.quadratic_programs import read_qp

QPS = """NAME          SMALL
ROWS
 N  COST
 L  LIMIT
 E  SUM
COLUMNS
    X         COST      1.0          LIMIT     1.0
    X         SUM       1.0
    Y         COST      1.0          LIMIT     -1.0
    Y         SUM       1.0
RHS
    RHS       LIMIT     0.5          SUM       1.0
BOUNDS
 UP BND       X         4.0
QUADOBJ
    X         X         2.0
    X         Y         0.5
    Y         Y         1.0
ENDATA
"""


def files(folder):
    pytest.importorskip("highspy", reason="highspy is not installed: pip install highspy")
    (folder / "small.QPS").write_text(QPS)
    P, q = np.array([[2.0, 0.5], [0.5, 1.0]]), np.ones(2)
    rows = np.array([[1.0, -1.0], [1.0, 1.0], [1.0, 0.0], [0.0, 1.0]])
    lower, upper = np.array([-1e20, 1.0, 0.0, 0.0]), np.array([0.5, 1.0, 4.0, 1e20])
    sparse = {"P": scipy.sparse.csc_matrix(P), "A": scipy.sparse.csc_matrix(rows)}
    scipy.io.savemat(folder / "small.mat", {"q": q, "l": lower, "u": upper} | sparse)
    own = scipy.sparse.csr_array(P)
    parts = {f"P_{name}": getattr(own, name) for name in ("data", "indices", "indptr", "shape")}
    sides = {"G": rows[:1], "h": [0.5], "A": rows[1:2], "b_eq": [1.0], "lb": [0.0, 0.0]}
    np.savez(folder / "small.npz", q=q, ub=[4.0, np.inf], **parts, **sides)
    return [folder / f"small.{ending}" for ending in ("QPS", "mat", "npz")]


def test_three_formats_hold_the_same_problem(tmp_path):
    hashes = {read_qp(path).hash for path in files(tmp_path)}
    assert len(hashes) == 1


def test_what_is_no_quadratic_program_is_refused(tmp_path):
    np.savez(tmp_path / "a.npz", Q=np.eye(2))
    with pytest.raises(ValueError, match=r"has Q; arrays are named P, q, G"):
        read_qp(tmp_path / "a.npz")
    with pytest.raises(ValueError, match=r"must end in .npz, .mat, .qps, .mps"):
        read_qp(tmp_path / "a.csv")
    with pytest.raises(FileNotFoundError):
        read_qp(tmp_path / "b.mat")
