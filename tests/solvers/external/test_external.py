"""Peers are given the same problem as ours, say what they cannot do, and are judged alike."""

import importlib.util
import os
import stat
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from problems import (
    RBF,
    Formulation,
    HardMarginDual,
    HardMarginPrimal,
    HingeERM,
    Polynomial,
    Precomputed,
    Sigmoid,
    SoftMarginDual,
    SoftMarginPrimal,
    SVRDual,
    SVRPrimal,
)
from solvers import (
    SGD,
    SMO,
    LibLinear,
    OneDAL,
    QPSolversQP,
    SnapML,
    Solution,
    Solver,
    Status,
    SVMLight,
    solve,
)

N = 80
BACKENDS = {
    "clarabel": "clarabel",
    "highs": "highspy",
    "osqp": "osqp",
    "piqp": "piqp",
    "proxqp": "proxsuite",
    "quadprog": "quadprog",
    "scs": "scs",
}
PACKAGES = {"one_dal": "sklearnex", "snap_ml": "snapml", "qpsolvers_qp": "qpsolvers"}


def samples(seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return samples in single precision (SVMlight keeps no more), labels and targets; read-only."""
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(N) < 0.4, 1.0, -1.0)
    X = (rng.standard_normal((N, 4)) + 0.5 * y[:, None]).astype(np.float32).astype(np.float64)
    arrays = X, y, X @ [1.0, -2.0, 0.5, 0.0] + 0.3 * rng.standard_normal(N)
    for array in arrays:
        array.flags.writeable = False
    return arrays


X, Y, TARGETS = samples()
SPARSE = sp.csr_array(np.where(X > 0, X, 0.0))
WEIGHTS = np.random.default_rng(1).uniform(0.1, 3.0, N)
WITHOUT = {"intercept": False}
LINEAR = {
    "one C": SoftMarginPrimal(X, Y, 2.0, **WITHOUT),
    "sparse": SoftMarginPrimal(SPARSE, Y, 2.0, **WITHOUT),
    "a C for each": SoftMarginPrimal(X, Y, WEIGHTS, **WITHOUT),
    "risk": HingeERM(X, Y, 0.05),
    "flipped": SoftMarginPrimal(X, -Y, 2.0, **WITHOUT),
    "regression": SVRPrimal(X, TARGETS, 2.0, 0.1, **WITHOUT),
    "regression, a C for each": SVRDual(SPARSE, TARGETS, WEIGHTS, 0.1, **WITHOUT),
}
KERNEL = {
    "linear": SoftMarginDual(X, Y, 2.0),
    "rbf, a C for each": SoftMarginDual(X, Y, WEIGHTS, RBF(0.3)),
    "polynomial, sparse": SoftMarginDual(SPARSE, -Y, 1.0, Polynomial(2, 0.5, 1.0)),
    "regression": SVRDual(X, TARGETS, 2.0, 0.1, RBF(0.3)),
    "regression, a C for each": SVRDual(SPARSE, TARGETS + 3, WEIGHTS, 0.0, RBF(0.3)),
}
QUADRATIC = {
    "dual": KERNEL["rbf, a C for each"],
    "singular dual": KERNEL["linear"],
    "small C": SoftMarginDual(X, Y, 1e-4, RBF(0.3)),
    "primal": SoftMarginPrimal(SPARSE, Y, 2.0),
    "primal without intercept": LINEAR["a C for each"],
    "regression primal": SVRPrimal(X, TARGETS, WEIGHTS, 0.1),
    "hard margin": HardMarginPrimal(X + 3 * Y[:, None], Y),
    "hard margin dual": HardMarginDual(X, Y, RBF(1.0), **WITHOUT),
}


def installed(solver: Solver) -> None:
    """Skip where the package of an optional peer is absent; to import it here could change others."""
    package = PACKAGES[solver.name]
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"{package} is not installed")


def optimum(problem: Formulation) -> float:
    """Return the primal optimum, certified."""
    settings = problem.X, problem.y, problem.upper
    if problem.is_regression:
        view = SVRDual(*settings, problem.epsilon, problem.kernel, problem.intercept)
    else:
        view = SoftMarginDual(*settings, problem.kernel, problem.intercept)
    certificate = solve(view, SMO(tol=1e-8)).certificate
    assert certificate.relative_gap <= 1e-6
    return certificate.primal_objective


def excess(solution: Solution) -> float:
    """Return by how much the answer's primal value exceeds the optimum, relatively."""
    best = optimum(solution.problem)
    return solution.certificate.primal_objective / best - 1


# -- LIBLINEAR, SGD, Snap ML: weights without an intercept -------------------------------------------


@pytest.mark.parametrize("name", LINEAR)
def test_liblinear_finds_the_optimal_weights(name: str) -> None:
    solution = solve(LINEAR[name], LibLinear(tol=1e-7))
    assert solution.claimed == "optimal"
    assert solution.point.alpha is None
    assert abs(excess(solution)) <= 1e-6


def test_liblinear_comes_closer_with_a_smaller_tolerance() -> None:
    for name in ("one C", "regression"):
        errors = [excess(solve(LINEAR[name], LibLinear(tol=tol))) for tol in (1e-1, 1e-3, 1e-6)]
        assert errors[0] > errors[1] > errors[2]


def test_liblinear_at_its_limit_makes_no_claim() -> None:
    solution = solve(LINEAR["one C"], LibLinear(tol=1e-12), max_iter=3)
    assert solution.claimed == "stopped"
    assert solution.status is Status.MAX_ITER
    assert solution.iterations == 3


@pytest.mark.parametrize("solver", [LibLinear(tol=0.1), SGD(epochs=3)], ids=lambda s: s.name)
def test_another_seed_gives_another_answer_and_the_same_seed_the_same(solver: Solver) -> None:
    first, again = (solve(LINEAR["one C"], solver).point.w for _ in range(2))
    other = solve(LINEAR["one C"], type(solver)(**{**vars(solver), "seed": 5})).point.w
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


@pytest.mark.parametrize("name", LINEAR)
def test_sgd_approaches_the_optimum_epoch_by_epoch(name: str) -> None:
    looks = []
    solution = solve(LINEAR[name], SGD(epochs=200), callback=looks.append)
    assert solution.claimed == "stopped"
    assert solution.iterations == 200
    assert len(looks) > 1
    assert 0 <= excess(solution) <= 0.02


def test_sgd_visits_the_samples_in_a_new_order_each_epoch() -> None:
    form_seeds = set()
    models = importlib.import_module("sklearn.linear_model")
    partial_fit = models.SGDClassifier.partial_fit

    def recording(self, *arguments, **settings):
        form_seeds.add(self.random_state)
        return partial_fit(self, *arguments, **settings)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(models.SGDClassifier, "partial_fit", recording)
        solve(LINEAR["one C"], SGD(epochs=5))
    assert len(form_seeds) == 5


def test_averaging_can_be_turned_off_and_epochs_limited() -> None:
    mean, last = (solve(LINEAR["one C"], SGD(average=a)).point.w for a in (True, False))
    assert not np.array_equal(mean, last)
    assert solve(LINEAR["one C"], SGD(epochs=9), max_iter=4).iterations == 4
    with pytest.raises(ValueError, match="epochs"):
        SGD(epochs=0)


@pytest.mark.parametrize("name", ["one C", "sparse", "flipped", "risk"])
def test_snap_ml_solves_the_same_problem(name: str) -> None:
    installed(SnapML())
    solution = solve(LINEAR[name], SnapML(tol=1e-9, max_iter=100_000))
    assert solution.claimed == "stopped"
    assert abs(excess(solution)) <= 1e-3


def test_snap_ml_leaves_subnormal_numbers_to_others() -> None:
    installed(SnapML())
    solve(LINEAR["one C"], SnapML())
    assert sys.float_info.min / 2 > 0


def test_snap_ml_stops_at_its_limit() -> None:
    installed(SnapML())
    solution = solve(LINEAR["one C"], SnapML(tol=1e-12), max_iter=3)
    assert solution.status is Status.MAX_ITER
    assert solution.iterations == 3
    with pytest.raises(ValueError, match="threads"):
        SnapML(threads=0)


# -- oneDAL ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", KERNEL)
def test_one_dal_finds_the_optimum_of_smo(name: str) -> None:
    installed(OneDAL())
    solution = solve(KERNEL[name], OneDAL(tol=1e-7))
    assert solution.claimed == "optimal"
    assert solution.certificate.violating_pair <= 1e-6
    assert abs(excess(solution)) <= 1e-6


def test_one_dal_leaves_scikit_learn_as_it_is_and_never_falls_back_on_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    installed(OneDAL())
    svm = importlib.import_module("sklearn.svm")
    before = svm.SVC, svm.SVC.fit
    assert solve(KERNEL["linear"], OneDAL(tol=1e-7)).verdict == "solved"
    assert (svm.SVC, svm.SVC.fit) == before
    peer = importlib.import_module("sklearnex.svm").SVC
    monkeypatch.setattr(peer, "fit", lambda self, X, y, sample_weight: self)
    with pytest.raises(RuntimeError, match="did not run"):
        solve(KERNEL["linear"], OneDAL())


def test_one_dal_stops_at_its_limit_of_rounds() -> None:
    installed(OneDAL())
    solution = solve(KERNEL["rbf, a C for each"], OneDAL(tol=1e-9), max_iter=2)
    assert solution.status is Status.MAX_ITER
    assert solution.claimed == "stopped"
    assert solution.iterations == 2


# -- qpsolvers ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", QUADRATIC)
def test_every_back_end_solves_every_quadratic_program(name: str, backend: str) -> None:
    installed(QPSolversQP())
    solution = solve(QUADRATIC[name], QPSolversQP(backend, tol=1e-8))
    if solution.status is Status.NOT_INSTALLED:
        pytest.skip(solution.note)
    assert solution.verdict != "wrong"
    # their own limits on iterations end some runs of the first two, and HiGHS can cycle
    assert solution.claimed == "optimal" or backend in ("osqp", "scs", "highs")
    if solution.claimed == "optimal":
        assert solution.certificate.relative_gap <= 2e-6


@pytest.mark.parametrize("backend", BACKENDS)
def test_multipliers_of_the_margins_are_the_dual_variables(backend: str) -> None:
    installed(QPSolversQP())
    solution = solve(QUADRATIC["primal without intercept"], QPSolversQP(backend))
    if solution.status is Status.NOT_INSTALLED:
        pytest.skip(solution.note)
    point = solution.point
    assert solution.certificate.primal_residual <= 1e-5
    assert np.allclose(X.T @ (Y * point.alpha), point.w, atol=1e-5)


@pytest.mark.parametrize("backend", ["clarabel", "osqp", "scs"])
def test_an_infeasible_hard_margin_is_claimed_and_proven(backend: str) -> None:
    installed(QPSolversQP())
    for formulation in (HardMarginPrimal, HardMarginDual):
        solution = solve(formulation(X, Y), QPSolversQP(backend))
        if solution.status is Status.NOT_INSTALLED:
            pytest.skip(solution.note)
        assert solution.claimed == "infeasible"
        assert solution.status is Status.INFEASIBLE


@pytest.mark.parametrize("backend", ["clarabel", "osqp", "piqp", "proxqp", "scs"])
def test_back_ends_stop_at_max_iter(backend: str) -> None:
    installed(QPSolversQP())
    solution = solve(QUADRATIC["dual"], QPSolversQP(backend, tol=1e-10), max_iter=2)
    if solution.status is Status.NOT_INSTALLED:
        pytest.skip(solution.note)
    assert solution.status is Status.MAX_ITER
    assert solution.claimed == "stopped"
    assert solution.iterations == 2


def test_unknown_back_ends_are_refused_with_the_valid_ones() -> None:
    with pytest.raises(ValueError, match=r"clarabel, highs, osqp, .* got 'gurobi'"):
        QPSolversQP("gurobi")


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_missing_back_end_is_named(backend: str, monkeypatch: pytest.MonkeyPatch) -> None:
    installed(QPSolversQP())
    monkeypatch.setattr(importlib.import_module("qpsolvers"), "available_solvers", ["other"])
    solution = solve(QUADRATIC["dual"], QPSolversQP(backend))
    assert solution.status is Status.NOT_INSTALLED
    assert f"pip install qpsolvers {BACKENDS[backend]}" in solution.note


# -- SVMlight ----------------------------------------------------------------------------------------

FAKE = """#!{python}
import shutil, sys
arguments = sys.argv[1:]
open({folder!r} + "/arguments", "w").write("\\n".join(arguments))
shutil.copy(arguments[-2], {folder!r} + "/samples")
shutil.copy({folder!r} + "/known", arguments[arguments.index("-a") + 1])
print("Optimizing....done. (17 iterations)")
sys.exit({code})
"""


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a program `svm_learn` that answers with the file `known`, first on PATH."""
    return _install(tmp_path, monkeypatch, 0)


def _install(folder: Path, monkeypatch: pytest.MonkeyPatch, code: int) -> Path:
    program = folder / "svm_learn"
    program.write_text(FAKE.format(python=sys.executable, folder=str(folder), code=code))
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    (folder / "known").write_text("0\n")
    return folder


def test_svm_light_reads_the_answer_of_the_program(fake: Path) -> None:
    problem = KERNEL["rbf, a C for each"]
    known = solve(problem, SMO(tol=1e-8)).alpha
    np.savetxt(fake / "known", Y * known, fmt="%.18g")

    solution = solve(problem, SVMLight(tol=1e-5))

    assert solution.iterations == 17
    assert solution.claimed == "optimal"
    assert solution.verdict == "solved"
    assert np.array_equal(solution.point.alpha, known)
    told = (fake / "arguments").read_text().split("\n")
    pairs = dict(zip(told[0::2], told[1::2], strict=False))
    wanted = {"-z": "c", "-c": "1.0", "-b": "1", "-t": "2", "-g": "0.3", "-e": "1e-05"}
    assert {key: pairs[key] for key in wanted} == wanted


def test_svm_light_writes_samples_labels_and_costs(fake: Path) -> None:
    (fake / "known").write_text("0\n" * N)
    for problem in (KERNEL["rbf, a C for each"], KERNEL["polynomial, sparse"]):
        solve(problem, SVMLight())
        rows = [line.split() for line in (fake / "samples").read_text().splitlines()]
        read = np.zeros((N, 4))
        for i, row in enumerate(rows):
            for entry in row[1:]:
                name, value = entry.split(":")
                if name != "cost":
                    read[i, int(name) - 1] = float(value)
        costs = [float(e[5:]) for row in rows for e in row[1:] if e.startswith("cost:")]
        assert np.array_equal(
            read.astype(np.float32), problem.X[:].toarray() if sp.issparse(problem.X) else X
        )
        assert [float(row[0]) for row in rows] == list(problem.y)
        assert costs == (list(WEIGHTS) if np.ptp(problem.upper) else [])


def test_svm_light_for_regression_has_the_starred_variables_in_reverse(fake: Path) -> None:
    problem = KERNEL["regression"]
    known = solve(problem, SMO(tol=1e-9)).alpha
    both = np.append(np.maximum(known, 0), np.minimum(known, 0)[::-1])
    np.savetxt(fake / "known", both, fmt="%.18g")
    solution = solve(problem, SVMLight())
    assert np.array_equal(solution.point.alpha, known)
    assert solution.verdict == "solved"


def test_svm_light_without_intercept_says_so_to_the_program(fake: Path) -> None:
    (fake / "known").write_text("0\n" * N)
    solve(SoftMarginDual(X, Y, 2.0, **WITHOUT), SVMLight())
    told = (fake / "arguments").read_text().split("\n")
    assert told[told.index("-b") + 1] == "0"
    assert told[told.index("-c") + 1] == "2.0"


def test_a_program_that_fails_is_an_error_with_its_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _install(tmp_path, monkeypatch, 3)
    with pytest.raises(RuntimeError, match=r"ended with 3: Optimizing"):
        solve(KERNEL["linear"], SVMLight())


@pytest.mark.parametrize("name", KERNEL)
def test_the_real_svm_light_finds_the_optimum(name: str) -> None:
    solution = solve(KERNEL[name], SVMLight(tol=1e-6))
    if solution.status is Status.NOT_INSTALLED:
        pytest.skip(solution.note)
    assert abs(excess(solution)) <= 1e-5


# -- what all of them share --------------------------------------------------------------------------

SIGMOID = SoftMarginDual(X, Y, 1.0, Sigmoid(0.5, -1.0))
PRECOMPUTED = SoftMarginDual(X @ X.T, Y, 1.0, Precomputed())
ONE_CLASS = HingeERM(X, np.ones(N), 0.1)
REFUSALS = [
    (LibLinear(), KERNEL["rbf, a C for each"], "no kernels"),
    (LibLinear(), KERNEL["linear"], "regularises its intercept"),
    (LibLinear(), ONE_CLASS, "both classes"),
    (SGD(), KERNEL["rbf, a C for each"], "no kernels"),
    (SGD(), KERNEL["linear"], "damps its intercept"),
    (SnapML(), KERNEL["rbf, a C for each"], "only approximates kernels"),
    (SnapML(), KERNEL["linear"], "regularises its intercept"),
    (SnapML(), LINEAR["regression"], "no support vector regression"),
    (SnapML(), LINEAR["a C for each"], "one C for all"),
    (SnapML(), ONE_CLASS, "both classes"),
    (OneDAL(), PRECOMPUTED, "linear, RBF, polynomial and sigmoid kernels only"),
    (OneDAL(), LINEAR["one C"], "oneDAL always has an intercept"),
    (OneDAL(), HardMarginDual(X, Y), "oneDAL has no hard margin"),
    (SVMLight(), SIGMOID, "a sigmoid can hang it"),
    (SVMLight(), HardMarginDual(X, Y, **WITHOUT), "SVMlight has no hard margin"),
    (QPSolversQP(), SIGMOID, "indefinite"),
    (QPSolversQP("quadprog", max_iter=5), KERNEL["linear"], "no limit on its iterations"),
]


@pytest.mark.parametrize(("solver", "problem", "words"), REFUSALS)
def test_what_a_peer_cannot_do_is_refused_in_a_sentence(
    solver: Solver, problem: Formulation, words: str
) -> None:
    solution = solve(problem, solver)
    assert solution.status is Status.UNSUPPORTED
    assert words in solution.note


@pytest.mark.parametrize(
    ("solver", "module", "command"),
    [
        (LibLinear(), "sklearn.svm", "pip install scikit-learn"),
        (SGD(), "sklearn.linear_model", "pip install scikit-learn"),
        (SnapML(), "snapml", "pip install snapml"),
        (OneDAL(), "sklearnex.svm", "pip install scikit-learn-intelex"),
        (QPSolversQP(), "qpsolvers", "pip install qpsolvers clarabel"),
        (SVMLight(), None, "https://svmlight.joachims.org"),
    ],
)
def test_an_absent_peer_says_how_to_get_it(
    solver: Solver, module: str | None, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if module is None:
        monkeypatch.setenv("PATH", "")
    else:
        monkeypatch.setitem(sys.modules, module, None)
    with_intercept = isinstance(solver, (OneDAL, QPSolversQP, SVMLight))
    solution = solve(KERNEL["linear"] if with_intercept else LINEAR["one C"], solver)
    assert solution.status is Status.NOT_INSTALLED
    assert command in solution.note


@pytest.mark.parametrize("solver", [OneDAL(), SVMLight()], ids=lambda s: s.name)
def test_a_cache_must_be_positive(solver: Solver) -> None:
    with pytest.raises(ValueError, match="cache_size"):
        type(solver)(cache_size=0.0)


def test_peers_are_not_imported_before_they_are_prepared() -> None:
    import subprocess

    code = "import solvers, sys; solvers.all_solvers(); print(*sys.modules)"
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])}
    told = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment
    ).stdout.split()
    assert not {"sklearn", "sklearnex", "snapml", "qpsolvers", "clarabel", "osqp"} & set(told)
