import pytest

from dualgap.experiments.cases.plan import plan
from dualgap.experiments.files.experiment import (
    ConfigError,
    experiment_names,
    find_experiments,
    read_experiment,
)
from dualgap.experiments.files.specs import build_source
from dualgap.problems.datasets import Published

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
def test_unusable_data_are_reported_once_before_the_first_run(write, content, words):
    path = write(DATA)
    (path.parent / "data.txt").write_text(content)
    with pytest.raises(ConfigError) as refusal:
        read_experiment(path)
    (lines,) = str(refusal.value).splitlines()
    assert lines.startswith(f"{path}:4: libsvm_file: ")
    assert words in lines
    (path.parent / "data.txt").write_text("1 1:0.5\n-1 1:1.5\n")
    assert len(read_experiment(path).problems) == 3


SOLVER_FILES = {
    "broken.py": "class A\n",
    "two.py": "class A: pass\nclass B: pass\n",
    "formless.py": "from dualgap.solvers import Solver\n"
    "class Formless(Solver):\n    def iterates(self, form):\n        yield\n",
}
UNUSABLE = [  # an entry of `solvers`, and what is said of it
    ("broken.py:A", "broken.py, line 1: expected ':'"),
    ("two.py", "the class is missing; write two.py:A or two.py:B"),
    ("formless.py:Formless", "needs the class attribute `form`"),
    ("{name: strange.py:Strange, tol: -1}", "tol: must be a finite number above 0"),
    ("{name: strange.py:Strange, tl: 1}", "did you mean 'tol'"),
    ("strange.py:Strangex", "not 'Strangex'"),
]


@pytest.mark.usefixtures("in_process")
def test_faults_of_plug_in_solvers_are_reported_before_the_first_run(write, strange, tmp_path):
    strange()
    for name, content in SOLVER_FILES.items():
        (tmp_path / name).write_text(content)
    path = write(
        HEAD + PROBLEMS + "solvers:\n" + "".join(f"  - {entry}\n" for entry, _ in UNUSABLE)
    )
    with pytest.raises(ConfigError) as refusal:
        read_experiment(path)
    lines = str(refusal.value).splitlines()
    for line, (entry, (_, words)) in enumerate(zip(lines, UNUSABLE, strict=True), 7):
        assert entry.startswith(f"{path}:{line}: ")
        assert words in entry


def test_all_faults_of_a_file_are_reported_together(write):
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


def test_the_bundled_experiments_are_valid(monkeypatch, in_process):
    monkeypatch.setattr(Published, "check", lambda self: None)  # their data need not be here
    for name in experiment_names():
        for file in find_experiments(name):
            experiment = read_experiment(file)
            assert experiment.name == file.stem
            assert plan(experiment)


def test_a_folder_means_all_experiments_in_it(tmp_path):
    for name in "ab":
        (tmp_path / f"{name}.yaml").write_text("")
    assert [file.stem for file in find_experiments(str(tmp_path))] == ["a", "b"]
    assert len(find_experiments("notes")) > 5


def test_defaults_and_types(write):
    experiment = read_experiment(write(HEAD + PROBLEMS + SOLVERS))
    defaults = (experiment.seed, experiment.repetitions, experiment.time_limit, experiment.trace)
    assert defaults == (0, 1, None, True)
    assert experiment.target_gap == 1e-6
    assert repr(experiment.problems[0].parameters["C"]) == "1.0"


@pytest.mark.parametrize(
    ("text", "size"),
    [("4GiB", 4 * 2**30), ("500MB", 500_000_000), ("1.5 MiB", 1_572_864), ("7000000", 7_000_000)],
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


def test_a_solver_file_that_kills_its_process_fails_only_its_runs(write, strange):
    name = strange(before="os._exit(3)")
    text = HEAD + PROBLEMS + f"solvers:\n  - {{name: '{name}', tol: [1, 2]}}\n  - smo\n"
    experiment = read_experiment(write(text))
    assert [solver.settings.get("tol") for solver in experiment.solvers] == [1, 2, None]


def test_the_published_experiment_is_proven():
    cases = plan(read_experiment(find_experiments("proven")[0]))
    assert all(case.proven for case in cases)


@pytest.mark.parametrize(
    ("option", "expected"),
    [
        ("drop: [Id]", [("a", "b")]),
        ("columns: [b, a]", [("b", "a")]),
        ("columns: [[a], [b, a]]", [("a",), ("b", "a")]),
        ("drop: []", [("Id", "a", "b")]),
    ],
)
def test_a_list_of_columns_is_a_value_and_a_list_of_lists_an_axis(tmp_path, option, expected):
    (tmp_path / "data.csv").write_text("Id,a,b,y\n1,2,3,+\n2,5,4,-\n")
    path = tmp_path / "data.yaml"
    table = f"table_file, path: data.csv, target: y, {option}"
    path.write_text(DATA.replace("libsvm_file, path: data.txt", table).replace("[1, 2, 3]", "1"))
    frame = {"Id": [1, 2], "a": [2, 5], "b": [3, 4]}
    problems = read_experiment(path).problems
    assert len(problems) == len(expected)
    for problem, names in zip(problems, expected, strict=True):
        X = build_source(problem.dataset, str(tmp_path)).load().X
        assert X.tolist() == [[frame[name][i] for name in names] for i in (0, 1)]
