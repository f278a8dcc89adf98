"""Convex QPs read from archives, MATLAB files and QPS are the same problem."""

import gzip
import hashlib
import io
import pickle
import re
import zipfile
from pathlib import Path

import numpy as np
import pooch
import pytest
import scipy

from dualgap.problems import ConvexQP, datasets
from dualgap.problems.datasets import quadratic_programs
from dualgap.problems.exchange.samples import WRITERS, write
from dualgap.problems.quadratic.readers import read_qp
from dualgap.solvers import CvxoptQP, solve

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
# max 3x + 4y with x + 2y ≤ 80, 2 ≤ 3x − y ≤ 60, 0 ≤ x ≤ 28 and y free: 188 at (28, 26)
MPS = """NAME          SMALL
OBJSENSE
    MAX
ROWS
 N  PROFIT
 L  LABOUR
 G  BLEND
COLUMNS
    X         PROFIT    3.0          LABOUR    1.0
    X         BLEND     3.0
    Y         PROFIT    4.0          LABOUR    2.0
    Y         BLEND     -1.0
RHS
    RHS       LABOUR    80.0         BLEND     2.0
RANGES
    RNG       BLEND     58.0
BOUNDS
 UP BND       X         28.0
 FR BND       Y
ENDATA
"""
NUMBERED = """NAME          NUMBERED
ROWS
 N  COST
 E         1
 E         2
COLUMNS
           X  COST               1.0
           X         1           5.0
           X         2           7.0
RHS
           1         1           0.0
           1         2           3.0
ENDATA
"""


def files(folder):
    (folder / "small.QPS").write_text(QPS)
    P, q = np.array([[2.0, 0.5], [0.5, 1.0]]), np.ones(2)
    rows = np.array([[1.0, -1.0], [1.0, 1.0], [1.0, 0.0], [0.0, 1.0]])
    lower, upper = np.array([-1e20, 1.0, 0.0, 0.0]), np.array([0.5, 1.0, 4.0, 1e20])
    sparse = {"P": scipy.sparse.csc_matrix(P), "A": scipy.sparse.csc_matrix(rows)}
    scipy.io.savemat(folder / "small.mat", {"q": q, "l": lower, "u": upper} | sparse)
    matrix = scipy.sparse.csr_array(P)
    parts = {f"P_{name}": getattr(matrix, name) for name in ("data", "indices", "indptr", "shape")}
    sides = {"G": rows[:1], "h": [0.5], "A": rows[1:2], "b_eq": [1.0], "lb": [0.0, 0.0]}
    np.savez(folder / "small.npz", q=q, ub=[4.0, np.inf], **parts, **sides)
    return [folder / f"small.{ending}" for ending in ("QPS", "mat", "npz")]


def test_three_formats_hold_the_same_problem(tmp_path):
    hashes = {read_qp(path).hash for path in files(tmp_path)}
    assert len(hashes) == 1


@pytest.mark.parametrize("kind", ["qp", "qp_mat", "qps"])
def test_exported_formats_hold_the_same_problem(tmp_path, kind):
    random = np.random.default_rng(0)
    entries = scipy.sparse.random_array((8, 5), density=0.5, rng=random)
    inequalities = {"G": entries[:6], "h": random.standard_normal(6)}
    equations = {"A": entries[6:], "b_eq": random.standard_normal(2)}
    bounds = {"lb": [0, -1.5, -np.inf, -np.inf, 1 / 3], "ub": [np.inf, 0.1, 2, np.inf, 1 / 3]}
    for parts in ({"P": entries.T @ entries}, {}, inequalities, equations | bounds):
        problem = ConvexQP(q=random.standard_normal(5), **parts)
        path = tmp_path / f"written{WRITERS[kind][0]}"
        write(problem, kind, path)
        assert read_qp(path).hash == problem.hash


def test_a_file_that_is_not_a_quadratic_program_is_refused(tmp_path):
    np.savez(tmp_path / "a.npz", Q=np.eye(2))
    with pytest.raises(ValueError, match=r"has Q; arrays are named P, q, G"):
        read_qp(tmp_path / "a.npz")
    with pytest.raises(ValueError, match=r"must end in .npz, .mat, .qps, .mps"):
        read_qp(tmp_path / "a.csv")
    with pytest.raises(FileNotFoundError):
        read_qp(tmp_path / "b.mat")
    P = scipy.sparse.eye_array(2, format="csr")
    parts = {"P_data": P.data, "P_indices": P.indices, "P_indptr": P.indptr}
    np.savez(tmp_path / "a.npz", q=[1.0, 1.0], **parts)
    with pytest.raises(ValueError, match="a sparse matrix needs all four"):
        read_qp(tmp_path / "a.npz")
    np.savez(tmp_path / "a.npz", q=[1.0, 1.0], P_shape=[2, 2], **parts | {"P_indices": [0, 10**6]})
    with pytest.raises(ValueError, match="P: is a damaged sparse matrix"):
        read_qp(tmp_path / "a.npz")
    (tmp_path / "a.npz").write_text("none")
    (tmp_path / "a.mat").write_bytes(b"")
    for name in ("a.npz", "a.mat"):
        with pytest.raises(ValueError, match=f"{name}: cannot be read"):
            read_qp(tmp_path / name)


@pytest.mark.parametrize("kind", [np.uint8, np.uint16, np.bool_])
def test_an_unsigned_integer_matrix_of_a_mat_file_keeps_its_signs(tmp_path, kind):
    rows = np.array([[1, 1], [1, 0], [0, 1]], kind)
    sides = {"l": np.array([1.0, -1e20, -1e20]), "u": np.full(3, 1e20)}
    scipy.io.savemat(tmp_path / "a.mat", {"P": np.eye(2), "q": np.zeros(2), "A": rows} | sides)
    assert read_qp(tmp_path / "a.mat").G.toarray().tolist() == [[-1.0, -1.0]]


def test_a_row_and_the_right_hand_side_may_have_one_name(tmp_path):
    """As they are in DPKLO1."""
    (tmp_path / "a.qps").write_text(NUMBERED)
    program = read_qp(tmp_path / "a.qps")
    assert program.A.toarray().tolist() == [[5.0], [7.0]]
    assert program.b_eq.tolist() == [0.0, 3.0]


def catalogue(_):
    content = b"blob %d\0" % len(QPS) + QPS.encode()
    return {"HS21": ("HS21.QPS", hashlib.sha1(content, usedforsecurity=False).hexdigest())}


def test_a_published_problem_is_verified_by_its_checksum(tmp_path, monkeypatch):
    monkeypatch.setenv("DUALGAP_DATA", str(tmp_path))
    (tmp_path / "maros_meszaros").mkdir()
    (tmp_path / "maros_meszaros" / "HS21.QPS").write_bytes(QPS.encode())
    with pytest.raises(
        ValueError, match=r"HS21.QPS: expected a file with the checksum c7130\w+, found"
    ):
        datasets.load("maros_meszaros", problem="HS21")
    with pytest.raises(ValueError, match=r"problem: .* did you mean 'HS21'"):
        datasets.make("maros_meszaros", problem="hs21")
    monkeypatch.setattr(quadratic_programs, "_catalogue", catalogue)
    assert datasets.load("maros_meszaros", problem="HS21").X.n == 2


@pytest.mark.parametrize(
    ("name", "size", "address"),
    [
        ("maros_meszaros", 138, "/QPS_Files/AUG2D.QPS"),
        ("mpc", 64, "/mpc_qpbenchmark/1548e6b364074fcb708bc400189bfe76bf00442a/data/LIPMWALK0.npz"),
        ("free_for_all", 28, "/data/CONT-050.mat"),
        ("netlib", 91, "/f1cc423067407d55d579c9c35fb01edf860dbc24/25fv47.mps.gz"),
    ],
)
def test_a_catalogue_has_every_problem_of_the_set(name, size, address):
    problems = quadratic_programs._catalogue(name)
    assert len(problems) == size
    assert list(problems) == sorted(problems)
    file, _ = next(iter(problems.values()))
    assert quadratic_programs._copy_of(name, file).endswith(address)
    assert datasets.make("published_qp", catalogue=name, problem=next(iter(problems)))


def test_an_unknown_catalogue_is_refused_with_those_accepted():
    accepted = "free_for_all, maros_meszaros, mpc, netlib"
    with pytest.raises(ValueError, match=f"catalogue: must be one of {accepted}, got 'qplib'"):
        datasets.make("published_qp", catalogue="qplib", problem="QPLIB_0018")


def test_a_file_that_cannot_be_downloaded_is_named_with_its_folder(tmp_path, monkeypatch):
    def refuse(url, *_):
        raise OSError(f"could not download {url}")

    monkeypatch.setenv("DUALGAP_DATA", str(tmp_path))
    monkeypatch.setenv("DUALGAP_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(quadratic_programs, "download", refuse)
    folder = re.escape(str(tmp_path / "netlib"))
    with pytest.raises(OSError, match=rf"afiro.mps.gz; put the file afiro.mps.gz into .*{folder}$"):
        datasets.load("published_qp", catalogue="netlib", problem="afiro")


@pytest.mark.parametrize("numpy", ["numpy.core", "numpy._core"])
def test_an_archive_of_qpsolvers_is_read_without_unpickling(tmp_path, monkeypatch, numpy):
    """The layout of the files of qpbenchmark: `b`, and None for arrays that a problem lacks."""
    arrays = {"P": np.eye(2), "q": [1.0, -1.0], "A": [[1.0, 1.0]], "b": [1.0]}
    arrays |= dict.fromkeys(("G", "h", "lb", "ub"), np.array(None))
    (tmp_path / "mpc").mkdir()
    monkeypatch.setenv("DUALGAP_DATA", str(tmp_path))
    file = tmp_path / "mpc" / "LIPMWALK0.npz"
    np.savez(file, **arrays)
    if numpy == "numpy.core":  # as NumPy 1 wrote None, in the published files
        replaced, none = {f"{name}.npy" for name in ("G", "h", "lb", "ub")}, io.BytesIO()
        np.lib.format.write_array_header_1_0(
            none, np.lib.format.header_data_from_array_1_0(arrays["G"])
        )
        none.write(pickle.dumps(arrays["G"], 3).replace(b"numpy._core", b"numpy.core"))
        with zipfile.ZipFile(file) as archive:
            members = {name: archive.read(name) for name in archive.namelist()}
        with zipfile.ZipFile(file, "w") as archive:
            for name, content in members.items():
                archive.writestr(name, none.getvalue() if name in replaced else content)
    expected = ConvexQP(np.eye(2), [1.0, -1.0], A=[[1.0, 1.0]], b_eq=[1.0])
    assert read_qp(file).hash == expected.hash
    with pytest.raises(
        ValueError, match=r"LIPMWALK0.npz: expected a file with the checksum 5186ff"
    ):
        datasets.load("published_qp", catalogue="mpc", problem="LIPMWALK0")


def test_an_object_in_an_archive_is_refused_and_not_unpickled(tmp_path):
    class Sabotage:
        def __reduce__(self):
            return (Path(tmp_path / "executed").write_text, ("by unpickling",))

    for value in (Sabotage(), 5, scipy.sparse.eye_array(2)):
        stored = np.empty((), object)
        stored[()] = value
        np.savez(tmp_path / "a.npz", q=[1.0, 1.0], P=stored)
        with pytest.raises(
            ValueError, match=r"a.npz: cannot be read: Object arrays cannot be loaded"
        ):
            read_qp(tmp_path / "a.npz")
    assert not (tmp_path / "executed").exists()


@pytest.mark.parametrize("ending", [".mps", ".MPS", ".mps.gz", ".qps.gz"])
def test_a_linear_program_is_read_from_mps(tmp_path, ending):
    path, content = tmp_path / f"small{ending}", MPS.encode()
    path.write_bytes(gzip.compress(content) if ending.endswith(".gz") else content)
    problem = datasets.load("quadratic_program", path=str(path)).X
    assert problem.P.nnz == 0
    answer = solve(problem, CvxoptQP())
    assert answer.verdict == "solved"
    assert answer.objective == pytest.approx(-188.0)
    if ending.endswith(".gz"):
        path.write_bytes(content)
        with pytest.raises(ValueError, match=f"{path.name}: cannot be read: Not a gzipped file"):
            read_qp(path)


def test_a_published_problem_is_downloaded_and_cached(tmp_path, monkeypatch):
    monkeypatch.delenv("DUALGAP_DATA", raising=False)
    monkeypatch.setenv("DUALGAP_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(quadratic_programs, "_catalogue", catalogue)
    urls = []

    def downloader(**_):
        def download(url, target, _):
            urls.append(url)
            Path(target).write_text(QPS)

        return download

    monkeypatch.setattr(pooch, "HTTPDownloader", downloader)
    assert datasets.load("maros_meszaros", problem="HS21").X.n == 2
    assert datasets.load("maros_meszaros", problem="HS21").X.n == 2
    assert len(urls) == 1
    assert urls[0].endswith("/QPS_Files/HS21.QPS")


def test_vectors_of_a_matlab_file_may_be_sparse(tmp_path):
    lb, q = scipy.sparse.csc_matrix((2, 1)), scipy.sparse.csc_matrix([[1.0], [0.0]])
    scipy.io.savemat(tmp_path / "p.mat", {"P": np.eye(2), "q": q, "lb": lb})
    problem = read_qp(tmp_path / "p.mat")
    assert (problem.q.tolist(), problem.lb.tolist()) == ([1.0, 0.0], [0.0, 0.0])
