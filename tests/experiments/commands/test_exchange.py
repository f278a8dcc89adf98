"""`dualgap certify` and `dualgap export`: what other programs answer, and what they are given."""

import re

import numpy as np
import pandas as pd
import pytest
import scipy
from scipy.sparse import load_npz
from sklearn.datasets import load_svmlight_file
from sklearn.svm import SVC, SVR

from dualgap.problems import (
    RBF,
    BoxQP,
    Linear,
    Point,
    Precomputed,
    SoftMarginDual,
    SVRDual,
    certify,
    reduce,
)
from dualgap.problems.datasets import load
from dualgap.problems.exchange.samples import write

DATA = load("breast_cancer", limit=120, standardize=True)
TARGETS = load("diabetes", limit=60, standardize=True)
PROBLEM = SoftMarginDual(DATA.X, DATA.y, 10.0, RBF(0.02))
REGRESSION = SVRDual(TARGETS.X, TARGETS.y, 10.0, 5.0)
MODEL = SVC(C=10, gamma=0.02, tol=1e-8).fit(DATA.X, DATA.y)
COEFS, SUPPORT, RHO = MODEL.dual_coef_[0], MODEL.support_, -MODEL.intercept_[0]
BETA = np.zeros(120)
BETA[SUPPORT] = COEFS
FILES = {
    "p.yaml": """formulation: soft_margin_dual
dataset: {name: breast_cancer, limit: 120, standardize: true}
kernel: {name: rbf, gamma: 0.02}
C: 10
""",
    "linear.yaml": """formulation: soft_margin_primal
dataset: {name: breast_cancer, limit: 120, standardize: true}
C: 0.1
""",
    "svr.yaml": """name: one
problems:
  - formulation: svr_dual
    dataset: {name: diabetes, limit: 60, standardize: true}
    C: 10
    epsilon: 5
solvers: [smo]
""",
    "two.yaml": "{formulation: soft_margin_dual, dataset: two_moons, C: [1, 10]}\n",
}


@pytest.fixture(autouse=True)
def _files(tmp_path):
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)


def arrays(name):
    with np.load(name) as archive:
        return dict(archive)


def svm_train_model(problem, coefs, support, rho, first=1):
    """Return what svm-train writes: values to eight digits, the class of the first label first."""
    kernel = problem.kernel
    is_linear = isinstance(kernel, Linear)
    head = ["svm_type epsilon_svr" if problem.risk.loss.is_regression else "svm_type c_svc"]
    head += (
        ["kernel_type linear"] if is_linear else ["kernel_type rbf", f"gamma {kernel.gamma:.6g}"]
    )
    head += ["nr_class 2", f"total_sv {len(support)}", f"rho {first * rho:.9g}"]
    head += [] if problem.risk.loss.is_regression else [f"label {first} {-first}"]
    rows = [
        f"{first * coef:.17g} "
        + " ".join(f"{j + 1}:{v:.8g}" for j, v in enumerate(problem.X[i]) if v)
        for coef, i in zip(coefs, support, strict=True)
    ]
    return "\n".join([*head, "SV", *rows]) + "\n"


def r_table(coefs, support, rho):
    """Return what write.csv makes of index, coefs and rho of R's e1071."""
    frame = pd.DataFrame({"index": support + 1, "coefs": coefs})
    frame.loc[0, "rho"] = rho
    return frame.to_csv(index=True)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("svm.model", svm_train_model(PROBLEM, COEFS, SUPPORT, RHO)),
        ("other.model", svm_train_model(PROBLEM, COEFS, SUPPORT, RHO, first=-1)),
        ("r.csv", r_table(COEFS, SUPPORT, RHO)),
        ("alpha.csv", "alpha\n" + "\n".join(map(str, DATA.y * BETA))),
        ("coefs.tsv", "coefs\tb\n" + "\n".join(f"{v}\t{-RHO}" for v in BETA)),
    ],
)
def test_answers_of_each_program_are_certified(command, tmp_path, name, text):
    (tmp_path / name).write_text(text)
    result = command("certify", "p.yaml", name, "--target-gap", "1e-5")
    assert "verdict:              solved" in result.output
    certificate = certify(PROBLEM, Point(alpha=DATA.y * BETA))
    assert f"{certificate.primal_objective:.8g}"[:8] in result.output
    assert "diagnosis" not in result.output


def test_a_regression_model_is_certified(command, tmp_path):
    model = SVR(kernel="linear", C=10, epsilon=5, tol=1e-6).fit(TARGETS.X, TARGETS.y)
    text = svm_train_model(REGRESSION, model.dual_coef_[0], model.support_, -model.intercept_[0])
    (tmp_path / "svr.model").write_text(text)
    command("certify", "svr.yaml", "svr.model", "--target-gap", "1e-5")


def test_weights_alone_are_certified(command):
    model = SVC(kernel="linear", C=0.1, tol=1e-8).fit(DATA.X, DATA.y)
    np.savez("w.npz", w=model.coef_[0], b=model.intercept_)
    result = command("certify", "linear.yaml", "w.npz", "--target-gap", "1e-5")
    assert "bounds from:          recovered from w" in result.output


def test_a_wrong_answer_is_named_with_a_diagnosis(command):
    np.savez("half.npz", coefs=0.5 * BETA, b=-RHO)
    result = command("certify", "p.yaml", "half.npz", code=1)
    assert "verdict:              wrong" in result.output
    assert "as if that were C = 10. Look at C" in result.output


def test_the_variables_of_the_exported_qp_are_an_answer(command):
    command("export", "svr.yaml", "--out", "qp.npz", "--qp")
    qp, form = arrays("qp.npz"), reduce(REGRESSION, BoxQP).form
    x = np.linspace(0, 1, 120)
    np.testing.assert_allclose(qp["Q"] @ x + qp["p"], form.Q.matvec(x) + form.p)
    assert qp["A"].shape == (1, 120)
    assert (qp["ub"] == 10).all()
    beta = SVR(kernel="linear", C=10, epsilon=5, tol=1e-6).fit(TARGETS.X, TARGETS.y)
    alpha = np.zeros(60)
    alpha[beta.support_] = beta.dual_coef_[0]
    np.savez("x.npz", x=np.concatenate([np.maximum(alpha, 0), np.maximum(-alpha, 0)]))
    command("certify", "svr.yaml", "x.npz", "--target-gap", "1e-5")


def test_exported_samples_equal_those_of_the_problem_to_the_last_digit(command):
    for out in ("p.libsvm", "p.npz"):
        command("export", "p.yaml", "--out", out)
    X, y = load_svmlight_file("p.libsvm", n_features=PROBLEM.d)
    assert (X.toarray() == PROBLEM.X).all()
    assert (y == PROBLEM.y).all()
    archive = arrays("p.npz")
    assert (archive["X"] == PROBLEM.X).all()
    assert (archive["C"] == 10).all()


def test_exported_sparse_samples_are_read_by_scipy(command, tmp_path):
    text = FILES["p.yaml"].replace(
        "breast_cancer, limit: 120, standardize: true", "sparse_classification"
    )
    (tmp_path / "sparse.yaml").write_text(text)
    command("export", "sparse.yaml", "--out", "s.npz")
    assert (load_npz("s.npz") != load("sparse_classification").X).nnz == 0


OF_PROBLEM = svm_train_model(PROBLEM, COEFS, SUPPORT, RHO)
SCALED = SoftMarginDual(2 * DATA.X, DATA.y, 1.0, RBF(0.02))
OF_SCALED = svm_train_model(SCALED, COEFS, SUPPORT, RHO)
REFUSED = [
    ("p.yaml", "a.csv", "alpha\n1\n2\n", "alpha: has 2 entries, expected 120"),
    ("p.yaml", "a.csv", "a,b\n1,2\n", "has none of alpha, x, coefs, w"),
    ("p.yaml", "a.csv", "0.5\n1\n", "call it alpha, coefs or w"),
    ("p.yaml", "a.csv", "index,coefs\n121,1\n", "index: must be 1 different numbers from 1 to 120"),
    ("p.yaml", "a.csv", "w\n" + "1\n" * 30, "alpha: is needed with a kernel"),
    ("p.yaml", "a.model", "hello", "is not a LIBSVM model"),
    ("p.yaml", "a.model", OF_SCALED, "support vector 1 is none of the problem's samples"),
    ("p.yaml", "a.npz", "hello", "a.npz: "),
    ("linear.yaml", "a.model", OF_PROBLEM, "its kernel is rbf"),
    ("svr.yaml", "a.model", OF_PROBLEM, "is a model of c_svc"),
    ("two.yaml", "a.csv", "alpha\n1\n", "has 2 problems; leave one value in each list"),
]  # fmt: skip


@pytest.mark.parametrize(("problem", "name", "text", "message"), REFUSED)
def test_an_invalid_answer_is_refused(command, tmp_path, problem, name, text, message):
    (tmp_path / name).write_text(text)
    refused = command("certify", problem, name, code=2)
    assert message in refused.output


def test_a_qp_is_written_to_files_of_matrices_only(command):
    refused = command("export", "p.yaml", "--out", "qp.txt", "--qp", code=2)
    assert "the file name of a QP must end in .npz, .mat, .qps; got qp.txt" in refused.output


def test_zeros_of_an_exported_gram_matrix_are_read_by_libsvm(tmp_path):
    problem = SoftMarginDual(np.eye(3), [1, -1, 1], 1.0, Precomputed())
    write(problem, "libsvm", tmp_path / "gram")
    lines = (tmp_path / "gram").read_text().splitlines()
    assert lines[1] == "-1 0:2 1:0.0 2:1.0 3:0.0"


def test_export_refuses_csv_of_one_problem_and_blocks(command, tmp_path):
    printed = command("export", "p.yaml", "--format", "csv", "--out", "p.csv", code=2).output
    assert "--all DIR, possibly with --format" in printed
    dataset = "{name: generated_blocks, n: 100, d: 3}"
    (tmp_path / "b.yaml").write_text(
        f"{{formulation: soft_margin_primal, dataset: {dataset}, C: 1}}"
    )
    printed = command("export", "b.yaml", "--out", "b.libsvm", code=2).output
    assert "samples in blocks are not exported" in " ".join(printed.split())
    (tmp_path / "w.csv").write_text("w\n0\n0\n0\n")
    assert "gap" in command("certify", "b.yaml", "w.csv", code=1).output


def test_multipliers_of_a_matlab_file_may_be_sparse(command, tmp_path):
    alpha = scipy.sparse.csc_matrix((DATA.y * BETA)[:, None])
    scipy.io.savemat(tmp_path / "a.mat", {"alpha": alpha})
    result = command("certify", "p.yaml", "a.mat", "--target-gap", "1e-5")
    assert re.search(r"verdict: +solved", result.output)
