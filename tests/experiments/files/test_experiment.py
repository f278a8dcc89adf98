from __future__ import annotations

import pytest

from experiments.cases.plan import plan
from experiments.files.experiment import (
    ConfigError,
    experiment_names,
    find_experiments,
    read_experiment,
)
from problems.datasets import Published

PROBLEMS = """\
problems:
  - formulation: soft_margin_dual
    dataset: {name: four_gaussians, n: 24}
    C: 1
"""
SOLVERS = """\
solvers:
  - smo
"""
HEAD = "name: small\n"
ONE = "  - {formulation: soft_margin_dual, dataset: iris, "

# what is wrong, the file, its line, words that the message must have
BAD = [
    ("unknown key", HEAD + PROBLEMS + "solvrs: [smo]\n", 6, "'solvrs'; did you mean 'solvers'"),
    ("missing key", HEAD + SOLVERS, 1, "needs the key 'problems'"),
    ("duplicate key", HEAD + HEAD + PROBLEMS + SOLVERS, 2, 'duplicate key "name"'),
    ("duplicate inner key", HEAD + "problems:\n  - {C: 1, C: 2}\n" + SOLVERS, 3, "duplicate"),
    ("not a mapping", "- 1\n", 1, "must be a mapping"),
    ("empty file", "", 1, "must be a mapping"),
    ("no YAML", "name: [\n", 2, "is not YAML"),
    ("a date", "name: 2020-01-01\n" + PROBLEMS + SOLVERS, 1, "quotation marks"),
    ("path-like name", "name: ../x\n" + PROBLEMS + SOLVERS, 1, "becomes a folder"),
    ("hidden name", "name: .x\n" + PROBLEMS + SOLVERS, 1, "becomes a folder"),
    ("number for name", "name: 3\n" + PROBLEMS + SOLVERS, 1, "name: must be text, got 3"),
    ("no problems", HEAD + "problems: []\n" + SOLVERS, 2, "at least one entry"),
    ("no solvers", HEAD + PROBLEMS + "solvers: []\n", 6, "at least one entry"),
    ("problems no list", HEAD + "problems: 3\n" + SOLVERS, 2, "must be a list, got 3"),
    (
        "None for null",
        HEAD + PROBLEMS + SOLVERS + "time_limit: None\n",
        8,
        "time_limit: must be a number or null, got 'None', which YAML takes for text",
    ),
    (
        "null for a number",
        HEAD + PROBLEMS + "solvers: [{name: smo, tol: null}]\n",
        6,
        "smo: tol: must be a number, got null",
    ),
    ("true for a number", HEAD + PROBLEMS + SOLVERS + "repetitions: true\n", 8, "got true"),
    (
        "no repetition",
        HEAD + PROBLEMS + SOLVERS + "repetitions: 0\n",
        8,
        "greater than or equal to 1",
    ),
    ("negative seed", HEAD + PROBLEMS + SOLVERS + "seed: -1\n", 8, "greater than or equal to 0"),
    ("text for seconds", HEAD + PROBLEMS + SOLVERS + "time_limit: 10:30\n", 8, "'10:30'"),
    ("infinite time", HEAD + PROBLEMS + SOLVERS + "time_limit: .inf\n", 8, "finite"),
    (
        "memory without a unit",
        HEAD + PROBLEMS + SOLVERS + "memory_limit: 4\n",
        8,
        "give a unit, such as 4GiB",
    ),
    (
        "list of seeds",
        HEAD + PROBLEMS + SOLVERS + "seed: [1, 2]\n",
        8,
        "inside the entries of problems and solvers, as in {name: pegasos",
    ),
    (
        "three classes for two",
        HEAD + PROBLEMS.replace("four_gaussians, n: 24", "iris") + SOLVERS,
        4,
        "iris: positive: the data have 3 classes; say with 'positive' which one becomes +1",
    ),
    (
        "all classes for two",
        HEAD + PROBLEMS.replace("four_gaussians, n: 24", "iris, multiclass: true") + SOLVERS,
        3,
        "soft_margin_dual needs two classes, but iris keeps all of its own; give positive",
    ),
    ("C in small", HEAD + PROBLEMS + "    c: 1\n" + SOLVERS, 6, "did you mean 'C'?"),
    ("memory unit", HEAD + PROBLEMS + SOLVERS + "memory_limit: 4 lots\n", 8, "4GiB or 500MB"),
    ("no is text", HEAD + PROBLEMS + SOLVERS + "trace: no\n", 8, "must be true or false, got 'no'"),
    *(
        (
            f"label {label}",
            f"{HEAD}{PROBLEMS}solvers:\n  - {{name: smo, label: a}}\n"
            f"  - {{name: cvxopt_qp, label: {label}}}\n",
            8,
            words,
        )
        for label, words in {
            "a": "label: 'a' is that of line 7 too; give each entry a label of its own",
            "libsvm": "label: 'libsvm' is the name of a solver; choose another one",
            "3": "label: must be text of at most 60 characters",
            "[b, c]": "label: must be text of at most 60 characters",
            '""': "got ''",
            "x/y": "without '/'",
            '"\\t"': "control characters",
            '"\\u202e"': "control characters",
            '" a"': "without spaces at its ends",
            61 * "a": "at most 60",
        }.items()
    ),
    (
        "label of two solvers",
        HEAD + PROBLEMS + "solvers:\n  - {name: [smo, libsvm], label: a}\n",
        7,
        "label: 'a' would be that of several solvers; give each an entry of its own",
    ),
    ("problem no mapping", HEAD + "problems:\n  - iris\n" + SOLVERS, 3, "must be a mapping"),
    ("no formulation", HEAD + "problems:\n  - {dataset: iris}\n" + SOLVERS, 3, "'formulation'"),
    ("no data set", HEAD + "problems:\n  - {formulation: svr_dual}\n" + SOLVERS, 3, "'dataset'"),
    (
        "unknown formulation",
        HEAD + "problems:\n  - {formulation: soft_margin_dul, dataset: iris}\n" + SOLVERS,
        3,
        "did you mean 'soft_margin_dual'",
    ),
    (
        "formulation as mapping",
        HEAD + "problems:\n  - {formulation: {a: 1}, dataset: iris}\n",
        3,
        "unknown",
    ),
    (
        "C beyond floats",
        HEAD + PROBLEMS.replace("C: 1", "C: 1" + "0" * 400) + SOLVERS,
        5,
        "C: must be",
    ),
    ("infinite C", HEAD + PROBLEMS.replace("C: 1", "C: .inf") + SOLVERS, 5, "C: must be a finite"),
    (
        "unknown data set",
        HEAD + "problems:\n  - formulation: soft_margin_dual\n    dataset: iriss\n" + SOLVERS,
        4,
        "unknown data set 'iriss'; did you mean 'iris'",
    ),
    (
        "unknown data option",
        HEAD + "problems:\n  - {formulation: soft_margin_dual, dataset: {name: iris, limits: 3}}\n",
        3,
        "iris: unknown setting 'limits'; did you mean 'limit'",
    ),
    (
        "data option out of range",
        HEAD + PROBLEMS.replace("24", "1") + SOLVERS,
        4,
        "n: must be an integer, 2 or above, got 1",
    ),
    ("data option of wrong type", HEAD + PROBLEMS.replace("24", "2.5") + SOLVERS, 4, "got 2.5"),
    (
        "missing data file",
        HEAD
        + "problems:\n  - formulation: soft_margin_dual\n    dataset:\n"
        + "      name: libsvm_file\n      path: nowhere.libsvm\n"
        + SOLVERS,
        6,
        "nowhere.libsvm",
    ),
    (
        "data file without path",
        HEAD + PROBLEMS.replace("four_gaussians, n: 24", "libsvm_file"),
        4,
        "'path'",
    ),
    (
        "labels wanted",
        HEAD + PROBLEMS.replace("four_gaussians, n: 24", "diabetes") + SOLVERS,
        3,
        "needs labels, but diabetes is a regression data set",
    ),
    (
        "C of 0",
        HEAD + PROBLEMS.replace("C: 1", "C: 0") + SOLVERS,
        5,
        "C: must be a finite number above 0",
    ),
    (
        "one bad value of a list",
        HEAD + PROBLEMS.replace("C: 1", "C: [1, -1]") + SOLVERS,
        5,
        "got -1",
    ),
    (
        "C as text",
        HEAD + PROBLEMS.replace("C: 1", 'C: "1"') + SOLVERS,
        5,
        "must be a number, got '1'",
    ),
    ("C as switch", HEAD + PROBLEMS.replace("C: 1", "C: true") + SOLVERS, 5, "got true"),
    (
        "C for each sample",
        HEAD + PROBLEMS.replace("C: 1", "C: [[1, 2]]") + SOLVERS,
        5,
        "got [1, 2]",
    ),
    (
        "parameter of another",
        HEAD + PROBLEMS.replace("C: 1", "lam: 1") + SOLVERS,
        5,
        "accepted are C, kernel",
    ),
    (
        "missing lam",
        HEAD + "problems:\n  - {formulation: hinge_erm, dataset: iris}\n",
        3,
        "needs the setting 'lam'",
    ),
    (
        "missing epsilon",
        HEAD + "problems:\n  - {formulation: svr_dual, dataset: diabetes, C: 1}\n",
        3,
        "needs the setting 'epsilon'",
    ),
    (
        "intercept as number",
        HEAD + "problems:\n" + ONE + "intercept: 1}\n",
        3,
        "must be true or false",
    ),
    ("unknown kernel", HEAD + "problems:\n" + ONE + "kernel: rbv}\n", 3, "did you mean 'rbf'"),
    (
        "kernel without gamma",
        HEAD + "problems:\n" + ONE + "kernel: rbf}\n",
        3,
        "needs the setting 'gamma'",
    ),
    (
        "gamma out of range",
        HEAD + "problems:\n" + ONE + "kernel: {name: rbf, gamma: -1}}\n",
        3,
        "rbf: gamma: must be a finite number above 0, got -1",
    ),
    (
        "degree no whole number",
        HEAD + "problems:\n" + ONE + "kernel: {name: polynomial, degree: 2.0}}\n",
        3,
        "degree: must be a whole number, got 2.0",
    ),
    (
        "kernel inside a kernel",
        HEAD
        + "problems:\n"
        + ONE
        + "\n    kernel: {name: sum, left: linear,\n      right: {name: rbf, gam: 1}}}\n",
        5,
        "unknown setting 'gam'; did you mean 'gamma'",
    ),
    (
        "kernel without name",
        HEAD + "problems:\n" + ONE + "kernel: {gamma: 1}}\n",
        3,
        "needs the key 'name'",
    ),
    ("unknown solver", HEAD + PROBLEMS + "solvers:\n  - smoo\n", 7, "did you mean 'smo'"),
    (
        "unknown solver setting",
        HEAD + PROBLEMS + "solvers:\n  - {name: smo, tool: 1}\n",
        7,
        "smo: unknown setting 'tool'; did you mean 'tol'",
    ),
    (
        "solver setting out of range",
        HEAD + PROBLEMS + "solvers:\n  - name: smo\n    tol: 0\n",
        8,
        "tol: must be",
    ),
    ("missing solver file", HEAD + PROBLEMS + "solvers: ['nowhere.py:X']\n", 6, "there is no file"),
    (
        "solver twice",
        HEAD + PROBLEMS + "solvers:\n  - smo\n  - {name: smo, tol: 1e-3}\n",
        8,
        "repeats",
    ),
    ("empty list", HEAD + PROBLEMS.replace("C: 1", "C: []") + SOLVERS, 5, "empty grid"),
    ("empty inner list", HEAD + PROBLEMS + "solvers:\n  - {name: smo, tol: []}\n", 7, "empty grid"),
    (
        "enormous grid",
        HEAD
        + PROBLEMS.replace("C: 1", f"C: {list(range(1, 400))}")
        + SOLVERS
        + "repetitions: 300\n",
        2,
        "119,700 cases",
    ),
]


@pytest.mark.parametrize(("text", "line", "words"), [b[1:] for b in BAD], ids=[b[0] for b in BAD])
def test_a_bad_file_is_refused_with_file_line_and_what_is_accepted(write, text, line, words):
    path = write(text, "bad.yaml")
    with pytest.raises(ConfigError) as refusal:
        read_experiment(path)
    here = [told for told in str(refusal.value).splitlines() if words in told]
    assert here, str(refusal.value)
    assert here[0].startswith(f"{path}:{line}: ")


DATA = """\
name: data
problems:
  - formulation: soft_margin_dual
    dataset: {name: libsvm_file, path: data.txt}
    C: [1, 2, 3]
solvers: [smo]
"""


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("a,b,y\n1,2,1\n", "line 1: is CSV, not LIBSVM text"),
        ("1 1:0.5\n-1 1:nan\n", "line 2: NaN or infinite entries; drop or impute them first"),
        ("1 1:0.5\n2 1:1\n3 1:4\n", "positive: the data have 3 classes (1, 2, 3); say with"),
        ("1.5 1:0.5\n2.25 1:1\n3 1:4\n", "positive: the data have 3 classes (1.5, 2.25, 3)"),
    ],
)
def test_unusable_data_of_a_file_are_told_once_and_before_the_first_run(write, content, words):
    path = write(DATA)
    (path.parent / "data.txt").write_text(content)
    with pytest.raises(ConfigError) as refusal:
        read_experiment(path)
    (told,) = str(refusal.value).splitlines()
    assert told.startswith(f"{path}:4: libsvm_file: ")
    assert words in told
    (path.parent / "data.txt").write_text("1 1:0.5\n-1 1:1.5\n")
    assert len(read_experiment(path).problems) == 3


SOLVER_FILE = """\
from solvers import Solver
class Formless(Solver):
    def iterates(self, form):
        yield
"""


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("mine.py:A", "class A\n", "mine.py, line 1: expected ':'"),
        (
            "mine.py",
            "class A: pass\nclass B: pass\n",
            "add the class to the file: mine.py:A, mine.py:B",
        ),
        ("mine.py:Formless", SOLVER_FILE, "needs the class attribute `form`"),
    ],
)
def test_a_solver_file_that_cannot_be_used_is_told_before_the_first_run(
    write, name, content, words
):
    path = write(HEAD + PROBLEMS + f"solvers:\n  - {name}\n")
    (path.parent / "mine.py").write_text(content)
    with pytest.raises(ConfigError) as refusal:
        read_experiment(path)
    assert f"{path}:7: " in str(refusal.value)
    assert words in str(refusal.value)


def test_all_faults_of_a_file_are_told_together(write):
    text = (
        HEAD + PROBLEMS.replace("C: 1", "C: 0") + "solvers: [smoo, {name: smo, tol: 0}]\nseed: x\n"
    )
    with pytest.raises(ConfigError) as refusal:
        read_experiment(write(text))
    assert len(str(refusal.value).splitlines()) == 4


def test_a_file_that_is_not_utf8_is_refused_at_its_line(tmp_path):
    path = tmp_path / "x.yaml"
    path.write_bytes(b"name: a\nseed: \xff\n")
    with pytest.raises(ConfigError, match=r"x\.yaml:2: is not UTF-8"):
        read_experiment(path)


def test_the_experiments_that_come_along_are_right(monkeypatch):
    monkeypatch.setattr(Published, "check", lambda self: None)  # their data need not be here
    for name in experiment_names():
        for file in find_experiments(name):
            experiment = read_experiment(file)
            assert experiment.name == file.stem
            assert plan(experiment)


def test_a_folder_stands_for_all_experiments_in_it(tmp_path):
    for name in "ab":
        (tmp_path / f"{name}.yaml").write_text("")
    assert [file.stem for file in find_experiments(str(tmp_path))] == ["a", "b"]
    assert len(find_experiments("notes")) > 5


def test_yaml_is_version_1_2(write):
    experiment = read_experiment(write(f"name: no\ntarget_gap: 1e-3\n{PROBLEMS}{SOLVERS}"))
    assert experiment.name == "no"
    assert experiment.target_gap == 1e-3


def test_defaults_and_units(write):
    experiment = read_experiment(write(HEAD + PROBLEMS + SOLVERS + "memory_limit: 4GiB\n"))
    assert experiment.memory_limit == 4 * 2**30
    defaults = (experiment.seed, experiment.repetitions, experiment.time_limit, experiment.trace)
    assert defaults == (0, 1, None, True)
    assert experiment.target_gap == 1e-6


@pytest.mark.parametrize(
    ("text", "size"), [("500MB", 500_000_000), ("1.5 MiB", 1_572_864), ("7000000", 7_000_000)]
)
def test_sizes_have_units(write, text, size):
    experiment = read_experiment(write(HEAD + PROBLEMS + SOLVERS + f"memory_limit: {text}\n"))
    assert experiment.memory_limit == size


def test_a_list_is_an_axis_at_any_depth(write):
    text = """\
        name: grid
        problems:
          - formulation: [soft_margin_dual, soft_margin_primal]
            dataset: [breast_cancer, {name: four_gaussians, n: [24, 40]}]
            C: [1, 10]
          - formulation: soft_margin_dual
            dataset: {name: four_gaussians, n: 24}
            kernel: [linear, {name: rbf, gamma: [0.1, 1]},
                     {name: sum, left: linear, right: {name: rbf, gamma: [1, 2]}}]
            C: 3
        solvers:
          - {name: smo, tol: [1e-3, 1e-6], cache_size: [10, 100]}
          - cvxopt_qp
        """
    experiment = read_experiment(write(text))
    assert len(experiment.problems) == 2 * 3 * 2 + 5
    assert len(experiment.solvers) == 5


def test_values_are_typed_by_the_class(write):
    experiment = read_experiment(write(HEAD + PROBLEMS + SOLVERS))
    C = experiment.problems[0].parameters["C"]
    assert isinstance(C, float)
    assert C == 1.0


def test_files_are_found_beside_the_experiment_file(write, tmp_path, monkeypatch):
    (tmp_path / "here.libsvm").write_text("+1 1:1\n-1 1:2\n")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    text = PROBLEMS.replace("four_gaussians, n: 24", "libsvm_file, path: here.libsvm")
    experiment = read_experiment(write(HEAD + text + SOLVERS))
    assert experiment.problems[0].dataset["path"] == "here.libsvm"


def test_aliases_that_multiply_are_refused(write):
    levels = [f"l{i}: &l{i} [{', '.join([f'*l{i - 1}'] * 9)}]" for i in range(1, 9)]
    text = "l0: &l0 [1, 1]\n" + "\n".join(levels)
    with pytest.raises(ConfigError, match="more than 100000 values"):
        read_experiment(write(text))


def test_an_unknown_experiment_is_refused_with_the_nearest():
    with pytest.raises(ConfigError, match="did you mean 'quickstart'"):
        find_experiments("quikstart")
    with pytest.raises(ConfigError, match="there is no such file"):
        find_experiments("nowhere/x.yaml")


def test_settings_of_a_solver_from_outside_are_checked(write, strange):
    name = strange()
    with pytest.raises(ConfigError) as refusal:
        read_experiment(
            write(
                HEAD
                + PROBLEMS
                + f"solvers:\n  - {{name: '{name}', tol: -1}}\n  - {{name: '{name}', tl: 1}}\n"
                + f"  - '{name}x'\n"
            )
        )
    told = str(refusal.value).splitlines()
    assert ":7: " in told[0]
    assert "tol: must be a finite number above 0" in told[0]
    assert "did you mean 'tol'" in told[1]
    assert "not 'Strangex'" in told[2]


def test_a_solver_file_that_kills_its_process_is_left_to_its_runs(write, strange):
    name = strange(before="os._exit(3)")
    text = HEAD + PROBLEMS + f"solvers:\n  - {{name: '{name}', tol: [1, 2]}}\n  - smo\n"
    experiment = read_experiment(write(text))
    assert [solver.settings.get("tol") for solver in experiment.solvers] == [1, 2, 1e-3]


def test_an_unknown_target_is_refused(write):
    with pytest.raises(ConfigError, match=r"must be .certified. or .proven., got .prove."):
        read_experiment(write(f"{HEAD}target: prove\n{PROBLEMS}{SOLVERS}"))


def test_the_published_experiment_is_proven():
    cases = plan(read_experiment(find_experiments("proven")[0]))
    assert all(case.proven for case in cases)


RISK = """\
name: risks
problems:
  - formulation: {formulation}
    dataset: {{{dataset}}}
    lam: 0.1
    {loss}
solvers: [{solver}]
"""


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"loss": "loss: logistik"}, "did you mean 'logistic'"),
        ({"loss": "loss: epsilon_insensitive"}, "needs the setting 'epsilon'"),
        ({"loss": "loss: {name: epsilon_insensitive, epsilon: -1}"}, "epsilon: must be"),
        ({"dataset": "name: diabetes"}, "needs labels"),
        ({"dataset": "name: two_moons, folds: 3, fold: 3"}, "fold: must be below"),
    ],
)
def test_what_is_wrong_is_said_before_anything_runs(write, parts, message):
    usual = {"formulation": "regularized_erm", "dataset": "name: two_moons", "loss": ""}
    text = RISK.format(**usual | {"solver": "lbfgs"} | parts)
    with pytest.raises(ConfigError, match=message):
        read_experiment(write(text))


def test_new_options_leave_the_ids_of_older_runs_alone(write):
    text = RISK.format(
        formulation="hinge_erm", dataset="name: two_moons", loss="", solver="pegasos"
    )
    (problem,) = read_experiment(write(text)).problems
    assert not {"folds", "fold", "multiclass"} & set(problem.dataset)


@pytest.mark.parametrize("name", ["erm_zoo", "cross_validation"])
def test_the_experiments_are_valid(name):
    experiment = read_experiment(find_experiments(name)[0])
    assert plan(experiment)


def test_noise_is_true_or_false(write):
    with pytest.raises(ConfigError, match="noise"):
        read_experiment(write(HEAD + PROBLEMS + SOLVERS + "noise: 2\n"))
