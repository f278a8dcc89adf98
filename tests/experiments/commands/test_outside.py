"""Whole experiments that programs of others answer: `export --all`, and `certify --answers`."""

import json
import shutil
import subprocess
import sys
import textwrap

import numpy as np
import pytest
from click.testing import CliRunner
from sklearn.svm import SVC, LinearSVC

from dualgap.experiments import load_results
from dualgap.experiments.cli import main
from dualgap.problems.quadratic.readers import read_qp

SMALL = """name: small
problems:
  - formulation: soft_margin_dual
    dataset: {name: four_gaussians, n: 24}
    kernel: {name: rbf, gamma: 0.05}
    C: [1, 10]
  - formulation: soft_margin_primal
    dataset: {name: four_gaussians, n: 24}
    C: 0.01
    intercept: false
solvers: [smo]
target_gap: 1e-4
"""


@pytest.fixture
def exported(command, tmp_path):
    """The problems, exported; an empty folder of answers beside them."""
    (tmp_path / "small.yaml").write_text(SMALL)
    command("export", "small.yaml", "--all", "given", "--format", "npz", "--format", "libsvm")
    (tmp_path / "answers").mkdir()
    return tmp_path / "given"


def trained(folder, key, C, **settings):
    with np.load(folder / f"{key}.npz") as archive:
        return SVC(C=C, tol=1e-6, **settings).fit(archive["X"], archive["y"])


def verdicts(folder):
    rows = load_results(folder).sort_values(["problem_id", "label"])
    return {(row.label, row.problem_id[-4:]): row.verdict for row in rows.itertuples()}


def test_each_answer_of_every_kind_and_each_missing_one_is_a_row(command, exported, tmp_path):
    sklearn, weights = tmp_path / "answers/sklearn", tmp_path / "answers/weights"
    sklearn.mkdir()
    weights.mkdir()
    one, ten = (trained(exported, f"p00{i}", C, gamma=0.05) for i, C in ((1, 1), (2, 10)))
    np.savez(sklearn / "p001.npz", coefs=one.dual_coef_, index=one.support_ + 1, b=one.intercept_)
    half = "".join(
        f"{i + 1},{c / 2}\n" for i, c in zip(ten.support_, ten.dual_coef_[0], strict=True)
    )
    (sklearn / "p002.csv").write_text(f"index,coefs\n{half}")
    with np.load(exported / "p003.npz") as archive:
        linear = LinearSVC(C=0.01, loss="hinge", fit_intercept=False, tol=1e-9, max_iter=10**5)
        w = linear.fit(archive["X"], archive["y"]).coef_[0]
    (weights / "p003.csv").write_text("w\n" + "".join(f"{v!r}\n" for v in w.tolist()))
    (weights / "p002.csv").write_text("torn")
    result = command("certify", "given", "--answers", "answers", "--out", "judged", code=1)
    assert verdicts(tmp_path / "judged") == {
        ("sklearn", " C=1"): "solved",
        ("sklearn", "C=10"): "wrong",
        ("sklearn", "alse"): "uncertified",
        ("weights", " C=1"): "uncertified",
        ("weights", "C=10"): "uncertified",
        ("weights", "alse"): "solved",
    }
    rows = load_results(tmp_path / "judged")
    assert rows["time_solve"].isna().all()
    assert "×" not in result.output
    missing = rows[rows["reason"].str.contains("expected one answer")]
    assert len(missing) == 2
    assert set(rows["status"]) == {"finished", "crashed"}


def test_model_files_of_command_line_tools_are_answers(command, exported, tmp_path):
    for name in ("svm-train", "liblinear-train"):
        if shutil.which(name) is None:
            pytest.skip(f"{name} is no program on this machine")
    for words in (
        "svm-train -q -c 1 -g 0.05 -e 1e-6 given/p001.libsvm answers/p001.model",
        "svm-train -q -c 10 -g 0.05 -e 1e-6 given/p002.libsvm answers/p002.model",
        "liblinear-train -q -s 3 -c 0.01 -e 1e-8 given/p003.libsvm answers/p003.model",
    ):
        subprocess.run(words.split(), check=True, cwd=tmp_path)
    result = command("certify", "given", "--answers", "answers", "--json")
    report = json.loads(result.output[result.output.index("{") :])
    assert report["outcomes"] == {"solved": 3}


def test_the_target_may_change_and_bounds_may_be_proven(command, exported, tmp_path):
    for i, C in ((1, 1), (2, 10)):
        model = trained(exported, f"p00{i}", C, gamma=0.05)
        arrays = {"coefs": model.dual_coef_, "index": model.support_ + 1}
        np.savez(tmp_path / f"answers/p00{i}.npz", **arrays)
    options = ("--answers", "answers", "--target-gap", "1e-15", "--rigorous", "--out", "judged")
    command("certify", "given", *options, code=1)
    rows = load_results(tmp_path / "judged")
    assert set(rows["target_gap"]) == {1e-15}
    assert set(rows["verdict"]) == {"inaccurate", "uncertified"}
    assert rows["bound_source"].str.startswith("proven").sum() == 2


def test_changed_exports_are_refused(command, exported, tmp_path):
    (exported / "p002.libsvm").write_text("+1 1:1\n")
    refused = command("certify", "given", "--answers", "answers", code=2)
    assert "p002.libsvm has changed since it was exported" in refused.output
    (exported / "problems.json").write_text("{}")
    refused = command("certify", "given", "--answers", "answers", code=2)
    assert "is not as written by `dualgap export --all`" in refused.output


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"target_gap": "x"}, "target_gap: must be a valid number, got 'x'"),
        ({"target_gap": 1e9}, "target_gap: must be less than 1, got 1000000000.0"),
        ({"target_gap": -1}, "target_gap: must be greater than 0, got -1"),
        ({"target_gap": None}, "target_gap: "),
        ({"problems": {}}, "problems: Dictionary should have at least 1 item"),
        ({"problems": []}, "problems: must be an object, got []"),
        ({"folder": 3}, "folder: must be a valid string, got 3"),
        ({"more": 3}, "more: Extra inputs are not permitted"),
        ({"hash": None}, "problems.p001.hash: must be a valid string, got None"),
        (
            {"specification": {"formulation": "x"}},
            "problems.p001.specification.dataset: Field required",
        ),
        ({"experiment": "{"}, "is not as written by `dualgap export --all`: "),
        ({"files": {}}, "problems.p001.files: Dictionary should have at least 1 item"),
        ({"files": {"p009.npz": "0"}}, "p009.npz"),
        ({"files": {"../p001.npz": "0"}}, "'../p001.npz' is not a relative path without '..'"),
    ],
)
def test_a_damaged_index_is_refused_by_the_value_that_is_wrong(command, exported, change, message):
    index = json.loads((exported / "problems.json").read_text())
    first = index["problems"]["p001"]
    for key, value in change.items():
        (first if key in first else index)[key] = value
    (exported / "problems.json").write_text(json.dumps(index))
    refused = command("certify", "given", "--answers", "answers", code=2)
    assert message in " ".join(refused.output.split())


def test_a_duplicate_problem_of_an_index_is_refused(command, exported):
    index = json.loads((exported / "problems.json").read_text())
    index["problems"]["p002"] = index["problems"]["p001"]
    (exported / "problems.json").write_text(json.dumps(index))
    refused = command("certify", "given", "--answers", "answers", code=2)
    assert "two problems have the same name" in refused.output


DAMAGED = [3, [], {}, "x", {"name": 3, "C": "x", "kernel": "rbf"}]


@pytest.mark.parametrize(
    ("part", "value"),
    # without a path, {} is what the specification has
    [(p, v) for p in ("dataset", "parameters", "path") for v in DAMAGED if (p, v) != ("path", {})],
)
@pytest.mark.usefixtures("command")
def test_a_damaged_specification_is_refused_or_fails(exported, part, value):
    for i, C in ((1, 1), (2, 10)):
        model = trained(exported, f"p00{i}", C, gamma=0.05)
        np.savez(f"answers/p00{i}.npz", coefs=model.dual_coef_, index=model.support_ + 1)
    index = json.loads((exported / "problems.json").read_text())
    del index["problems"]["p003"]
    assert index["problems"]["p001"]["specification"][part] != value
    index["problems"]["p001"]["specification"][part] = value
    (exported / "problems.json").write_text(json.dumps(index))
    ran = CliRunner().invoke(main, ["certify", "given", "--answers", "answers"])
    assert ran.exit_code in (1, 2), ran.output
    assert isinstance(ran.exception, SystemExit)


def test_an_answer_to_a_problem_missing_from_the_index_is_refused(command, exported, tmp_path):
    (tmp_path / "answers/p009.csv").write_text("alpha\n")
    refused = command("certify", "given", "--answers", "answers", code=2)
    assert "there is an answer to p009, but no such problem" in " ".join(refused.output.split())


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        (SMALL, ("--format", "lisbvm"), "unknown format 'lisbvm'; did you mean 'libsvm'?"),
        (
            SMALL.replace("C: [1, 10]", "path: {C: [1, 10]}"),
            (),
            "contains a path. Give values of C",
        ),
        (SMALL.replace("rbf, gamma: 0.05", "rbf, gama: 1"), (), "gama"),
    ],
)
def test_an_experiment_that_cannot_be_exported_is_refused(
    command, tmp_path, text, options, message
):
    (tmp_path / "small.yaml").write_text(text)
    refused = command("export", "small.yaml", "--all", "given", *options, code=2)
    assert message in refused.output


POSED = "formulation: convex_qp\ndataset: {name: quadratic_program, path: small.npz}\n"


@pytest.fixture
def small_qp(tmp_path):
    """Files of min x₁ − x₂ in the unit square below x₁ + x₂ = 1/2, and of an experiment of it."""
    arrays = {"q": [1.0, -1.0], "G": [[1.0, 1.0]], "h": [0.5], "lb": [0.0, 0.0], "ub": [1.0, 1.0]}
    np.savez(tmp_path / "small.npz", **{name: np.array(values) for name, values in arrays.items()})
    (tmp_path / "one.yaml").write_text(POSED)
    problems = textwrap.indent(POSED, "    ").replace("    form", "  - form", 1)
    (tmp_path / "all.yaml").write_text(f"name: all\nproblems:\n{problems}solvers: [cvxopt_qp]\n")


@pytest.mark.usefixtures("small_qp")
def test_a_convex_qp_is_exported_and_its_answers_are_certified(command, tmp_path):
    expected_hash = read_qp("small.npz").hash
    for name in ("one.npz", "one.mat", "one.qps"):
        command("export", "one.yaml", "--out", name)
        assert read_qp(name).hash == expected_hash
    for name, text in (("xz.csv", "x,z\n0,1\n0.5,\n"), ("x.csv", "x\n0\n0.5\n")):
        (tmp_path / name).write_text(text)
        assert "verdict:              solved" in command("certify", "one.yaml", name).output
    command("export", "all.yaml", "--all", "given", "--format", "qp", "--format", "qp_mat")
    assert read_qp("given/p001_qp.npz").hash == read_qp("given/p001_qp.mat").hash == expected_hash
    for program in ("exact", "none"):
        (tmp_path / "answers" / program).mkdir(parents=True)
    np.savez(tmp_path / "answers/exact/p001.npz", x=[0.0, 0.5])
    command("certify", "given", "--answers", "answers", "--out", "judged", code=1)
    rows = load_results(tmp_path / "judged")
    assert dict(zip(rows["label"], rows["verdict"], strict=True)) == {
        "exact": "solved",
        "none": "uncertified",
    }


@pytest.mark.usefixtures("small_qp")
@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.csv", "alpha,b\n1,1\n", "has none of x; found 'alpha', 'b'"),
        ("a.csv", "1\n2\n", "its column is called '1'; call it x"),
        ("a.csv", "x\n1\n", "x: has 1 entries, expected 2"),
        ("a.csv", "x,z\n1,1\n1,1\n", "z: has 2 entries, expected 1"),
        ("a.model", "svm_type c_svc\n", "an answer to a convex QP is x in one"),
    ],
)
def test_an_invalid_answer_to_a_convex_qp_is_refused(command, tmp_path, name, text, message):
    (tmp_path / name).write_text(text)
    assert message in command("certify", "one.yaml", name, code=2).output


@pytest.mark.exhaustive
@pytest.mark.usefixtures("small_qp")
def test_a_convex_qp_cannot_be_exported_as_samples(command, tmp_path):
    refused = command("export", "one.yaml", "--out", "one.txt", code=2)
    assert "the file name of a QP must end in .npz, .mat, .qps; got one.txt" in refused.output
    refused = command("export", "all.yaml", "--all", "given", code=2)
    assert "no samples to write as libsvm; write it as qp, qp_mat or qps" in refused.output
    text = (tmp_path / "all.yaml").read_text()
    entry = f"{{name: program, command: [{sys.executable}, '{{samples}}'], answer: npz}}"
    (tmp_path / "all.yaml").write_text(text.replace("cvxopt_qp", entry))
    command("run", "all.yaml", "--out", "ran")
    assert set(load_results(tmp_path / "ran")["status"]) == {"unsupported"}


def test_export_refuses_a_folder_that_is_not_empty(command, exported):
    refused = command("export", "small.yaml", "--all", "given", code=2)
    assert "Output folder given is not empty" in refused.output


def test_an_experiment_of_one_problem_supplies_the_target(command, tmp_path):
    head = SMALL.partition("  - formulation: soft_margin_primal")[0].replace("[1, 10]", "1")
    (tmp_path / "one.yaml").write_text(f"{head}solvers: [smo]\ntarget_gap: 0.1\n")
    command("export", "one.yaml", "--out", "p001.npz")
    model = trained(tmp_path, "p001", 1, gamma=0.05)
    np.savez("answer.npz", coefs=0.99 * model.dual_coef_, index=model.support_ + 1)
    command("certify", "one.yaml", "answer.npz")
    command("certify", "one.yaml", "answer.npz", "--target-gap", "1e-6", code=1)


def test_certified_answers_go_to_the_users_default_folder(command, exported, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    (tmp_path / "dualgap.yaml").write_text("out: kept\n")
    command("certify", "given", "--answers", "answers", code=1)  # none of the answers is there
    assert len(load_results("kept/answers")) == 3
    assert not (tmp_path / "runs").exists()
