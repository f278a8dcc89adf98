"""What is wrong with an experiment file is told with its line, and with what is accepted there."""

import pytest

from dualgap.experiments.files.experiment import ConfigError, read_experiment

HEAD = "name: small\n"
PROBLEMS = """\
problems:
  - formulation: soft_margin_dual
    dataset: {name: four_gaussians, n: 24}
    C: 1
"""
SOLVERS = "solvers:\n  - smo\n"
WHOLE = HEAD + PROBLEMS + SOLVERS
LABELLED = "solvers:\n  - {name: smo, label: a}\n  - {name: cvxopt_qp, label: %s}\n"
AFTER = [  # a line after a whole file
    ("time_limit: None", "a number of seconds, or null, got 'None', which YAML reads as text"),
    ("seed: None", "must be a whole number, got 'None', which YAML reads as text"),
    ("repetitions: true", "got true"),
    ("repetitions: 0", "greater than or equal to 1"),
    ("seed: -1", "greater than or equal to 0"),
    ("time_limit: 10:30", "'10:30'"),
    ("time_limit: .inf", "finite"),
    ("memory_limit: 4", "give a unit, such as 4GiB"),
    ("memory_limit: 4 lots", "4GiB or 500MB"),
    ("memory_limit: 4GiB each", "4GiB or 500MB"),
    ("seed: [1, 2]", "in the entries of problems and solvers, as in {name: pegasos"),
    ("trace: no", "must be true or false, got 'no'"),
    ("noise: 2", "noise: must be true or false, got 2"),
    ("target: prove", "target: must be 'certified' or 'proven', got 'prove'"),
]
REPLACED = [  # a piece of a whole file by another
    ("solvers", "solvrs", 6, "'solvrs'; did you mean 'solvers'"),
    (PROBLEMS, "", 1, "needs the key 'problems'"),
    (HEAD, 2 * HEAD, 2, 'duplicate key "name"'),
    (WHOLE, "- 1\n", 1, "must be a mapping"),
    (WHOLE, "", 1, "must be a mapping"),
    (WHOLE, "name: [\n", 2, "is not YAML"),
    ("small", "2020-01-01", 1, "quotation marks"),
    ("small", "../x", 1, "becomes a folder"),
    ("small", ".x", 1, "becomes a folder"),
    ("small", "3", 1, "name: must be text, got 3"),
    (PROBLEMS, "problems: []\n", 2, "at least one entry"),
    (SOLVERS, "solvers: []\n", 6, "at least one entry"),
    (PROBLEMS, "problems: 3\n", 2, "must be a list, got 3"),
    ("four_gaussians, n: 24", "iris", 4, "3 classes; say with 'positive' which one becomes +1"),
    ("four_gaussians, n: 24", "iris, multiclass: true", 3, "needs two classes, but iris keeps all"),
    ("four_gaussians, n: 24", "diabetes", 3, "needs labels, but diabetes is a regression data set"),
    ("four_gaussians, n: 24", "libsvm_file", 4, "'path'"),
    ("four_gaussians, n: 24", "libsvm_file, path: nowhere.libsvm", 4, "nowhere.libsvm"),
    ("{name: four_gaussians, n: 24}", "iriss", 4, "unknown data set 'iriss'; did you mean 'iris'"),
    ("24", "1", 4, "n: must be an integer, 2 or above, got 1"),
    ("24", "2.5", 4, "got 2.5"),
    ("    C: 1\n", "    C: 1\n    c: 1\n", 6, "did you mean 'C'?"),
    ("C: 1", "C: 1" + "0" * 400, 5, "C: must be"),
    ("C: 1", "C: .inf", 5, "C: must be a finite"),
    ("C: 1", "C: 0", 5, "C: must be a finite number above 0"),
    ("C: 1", "C: [1, -1]", 5, "got -1"),
    ("C: 1", 'C: "1"', 5, "must be a number, got '1'"),
    ("C: 1", "C: true", 5, "got true"),
    ("C: 1", "C: [[1, 2]]", 5, "got [1, 2]"),
    ("C: 1", "lam: 1", 5, "accepted are C, kernel"),
    ("C: 1", "C: []", 5, "empty grid"),
    ("smo", "smoo", 7, "did you mean 'smo'"),
    ("smo", "{name: smo, max_iter: null}", 7, "smo: max_iter: must be a"),
    ("smo", "{name: smo, tool: 1}", 7, "smo: unknown setting 'tool'; did you mean 'tol'"),
    ("smo", "name: smo\n    tol: 0", 8, "tol: must be"),
    ("smo", "nowhere.py:X", 7, "there is no file"),
    ("smo", "smo\n  - {name: smo, tol: null}", 8, "repeats"),
    ("smo", "{name: smo, tol: []}", 7, "empty grid"),
    ("smo", "{name: [smo, libsvm], label: a}", 7, "label: 'a' would label several solvers"),
    ("smo", "{name: smo, slurm: 4}", 7, "slurm: must be a mapping such as {cpus: 4, mem: 8GiB,"),
    ("smo", "{name: smo, slurm: {cpu: 4}}", 7, "slurm: unknown key 'cpu'; did you mean 'cpus'?"),
    ("smo", "name: smo\n    slurm:\n      cpus: 0", 9, "slurm: cpus: must be greater than"),
    ("smo", "{name: smo, slurm: {mem: 1GG}}", 7, "slurm: mem: must be a size such as 4GiB or 500MB"),
    ("smo", "{name: smo, slurm: {time: soon}}", 7, "slurm: time: must be a duration such as 90s, 10m"),
    (WHOLE, WHOLE.replace("C: 1", f"C: {[*range(1, 400)]}") + "repetitions: 300", 2, "119,700 cases"),
]  # fmt: skip
LABELS = {
    "a": "'a' is also the label in line 7; give each entry its own label",
    "libsvm": "'libsvm' is the name of a solver; choose another label",
    "3": "must be text of at most 60 characters",
    "[b, c]": "must be text of at most 60 characters",
    '""': "got ''",
    "x/y": "without '/'",
    '"\\t"': "control characters",
    '"\\u202e"': "control characters",
    '" a"': "without spaces at its ends",
    61 * "a": "at most 60",
}
IRIS = "formulation: soft_margin_dual, dataset: iris"
SOFT = "formulation: soft_margin_dual, dataset: {name: four_gaussians, n: 24}"
RISK = "formulation: regularized_erm, lam: 0.1"
ENTRIES = [  # the one entry of `problems`
    ("{C: 1, C: 2}", "duplicate"),
    ("iris", "must be a mapping"),
    ("{dataset: iris}", "'formulation'"),
    ("{formulation: svr_dual}", "'dataset'"),
    ("{formulation: soft_margin_dul, dataset: iris}", "did you mean 'soft_margin_dual'"),
    ("{formulation: {a: 1}, dataset: iris}", "formulation: must be a name, got {'a': 1}"),
    ("{formulation: soft_margin_dual, dataset: {name: iris, limits: 3}}", "did you mean 'limit'"),
    ("{formulation: hinge_erm, dataset: iris}", "needs the setting 'lam'"),
    ("{formulation: svr_dual, dataset: diabetes, C: 1}", "needs the setting 'epsilon'"),
    (f"{{{IRIS}, intercept: 1}}", "must be true or false"),
    (f"{{{IRIS}, kernel: rbv}}", "did you mean 'rbf'"),
    (f"{{{IRIS}, kernel: rbf}}", "needs the setting 'gamma'"),
    (f"{{{IRIS}, kernel: {{gamma: 1}}}}", "needs the key 'name'"),
    (f"{{{IRIS}, kernel: {{name: rbf, gamma: -1}}}}", "gamma: must be a finite number above 0, got"),
    (f"{{{IRIS}, kernel: {{name: polynomial, degree: 2.0}}}}", "must be a whole number, got 2.0"),
    (f"{{{IRIS}, kernel: {{name: sum, left: linear, right: {{name: rbf, gam: 1}}}}}}", "'gamma'"),
    (f"{{{IRIS}, kernel: {{name: spectrum, k: 0}}}}", "k: must be a whole number of 1 or more, got 0"),
    (f"{{{IRIS}, kernel: {{name: spectrum, k: 2.5}}}}", "k: must be a whole number, got 2.5"),
    (f"{{{IRIS}, kernel: {{name: spectrum}}}}", "needs the setting 'k'"),
    (f"{{{IRIS}, kernel: {{name: spectral, k: 2}}}}", "did you mean 'spectrum'"),
    (f"{{{IRIS}, kernel: {{name: weisfeiler_lehman, iterations: -1}}}}", "iterations: must be"),
    (f"{{{IRIS}, kernel: {{name: quadratic_form, matrix: [[[1, 2], [2, 1]]]}}}}", "eigenvalue is -1"),
    (f"{{{IRIS}, kernel: {{name: polynomial_of, kernel: linear, coefficients: [[-1]]}}}}", "must be"),
    (f"{{{IRIS}, kernel: {{name: subset, kernel: {{name: rbf}}, features: [[0]]}}}}", "'gamma'"),
    (f"{{{RISK}, dataset: two_moons, loss: logistik}}", "did you mean 'logistic'"),
    (f"{{{RISK}, dataset: two_moons, loss: epsilon_insensitive}}", "needs the setting 'epsilon'"),
    (f"{{{RISK}, dataset: two_moons, loss: {{name: epsilon_insensitive, epsilon: -1}}}}", "epsilon: "),
    (f"{{{RISK}, dataset: diabetes}}", "needs labels"),
    (f"{{{RISK}, dataset: {{name: two_moons, folds: 3, fold: 3}}}}", "fold: must be below"),
    (f"{{{SOFT}, path: {{C: 3}}}}", "C: must be a list or null, got 3"),
    (f"{{{SOFT}, path: {{C: [3]}}}}", "C: must be a list"),
    (f"{{{SOFT}, path: {{C: [3, 1]}}}}", "C: must be an interval (low, high) above 0"),
    (f"{{{SOFT}, path: {{C: [1, 3], gap: 2}}}}", "gap: must be between 0 and 1"),
    (f"{{{SOFT}, path: {{lam: [1, 3]}}}}", "unknown setting 'lam'"),
    (f"{{{SOFT}, path: {{c: [1, 3]}}}}", "unknown setting 'c'"),
    (f"{{{SOFT}, path: {{gap: 0.1}}}}", "give the interval of one of them"),
    (f"{{{SOFT}, path: C}}", "path: must be a mapping such as {C: [0.01, 100]}, got 'C'"),
    (f"{{{SOFT}, C: 1, path: {{C: [1, 3]}}}}", "C: is set by the path; remove it here"),
    ("{formulation: one_vs_rest, dataset: wine, path: {C: [1, 3]}}", "a path is of one function"),
]  # fmt: skip
FAULTS = [
    *((f"{WHOLE}{line}\n", 8, words) for line, words in AFTER),
    *((WHOLE.replace(old, new, 1), line, words) for old, new, line, words in REPLACED),
    *((HEAD + PROBLEMS + LABELLED % text, 8, words) for text, words in LABELS.items()),
    *((f"{HEAD}problems:\n  - {text}\n{SOLVERS}", 3, words) for text, words in ENTRIES),
]


@pytest.mark.parametrize(("text", "line", "words"), FAULTS)
def test_a_fault_is_reported_with_file_line_and_accepted_values(write, text, line, words):
    path = write(text, "bad.yaml")
    with pytest.raises(ConfigError) as refusal:
        read_experiment(path)
    matching = [message for message in str(refusal.value).splitlines() if words in message]
    assert matching, str(refusal.value)
    assert matching[0].startswith(f"{path}:{line}: ")
