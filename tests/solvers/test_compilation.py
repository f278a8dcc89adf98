"""Nothing is compiled or read from the disk between the start and the end of a solver's clock.

Each solve is the first of its solver and kind of problem: functions that are there already are let go
before, and come from the disk again.
"""

import importlib
import pkgutil
import sys

import numpy as np
import pytest
import scipy.sparse as sp
from numba.core.event import Listener, install_listener
from numba.core.registry import CPUDispatcher
from tests.small_problems import PROBLEMS, two_classes

from dualgap import problems, solvers
from dualgap.problems import (
    RBF,
    Formulation,
    HardMarginDual,
    NuSVC,
    Polynomial,
    Precomputed,
    RegularizedERM,
    SoftMarginDual,
    SVRDual,
)
from dualgap.solvers import Solver, Status, all_solvers, near_rows, solve
from dualgap.solvers.numerics import timing
from dualgap.solvers.semismooth_newton.storage import compile_pass
from dualgap.solvers.smo.small import compile_newton
from dualgap.solvers.smo.triangle import compile_triangle

OURS = [
    name
    for name, cls in all_solvers().items()
    if cls.__module__.startswith("dualgap.solvers.") and ".external." not in cls.__module__
]
SLOW = ("cvxpy_qp", "cvxpy_erm")  # which compile nothing but kernels, as the others do
MOST_STEPS = {"simplified_smo": 20, "platt_smo": 2000, "pegasos": 2000, "scg": 500}
MOST_STEPS |= {"coordinate_descent": 2000, "stochastic_subgradient": 2000}


class Recorder(Listener):
    """Notes where something is compiled or read: the innermost functions, by their names."""

    def __init__(self):
        self.n_started = 0

    def on_start(self, event):
        """Count one."""
        self.n_started += 1

    def on_end(self, event):
        """Do nothing."""


def functions_of_ours() -> list[CPUDispatcher]:
    """Return all compiled functions of the solvers and the problems."""
    for package in (problems, solvers):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if ".external" not in module.name:
                importlib.import_module(module.name)
    packages = "dualgap.problems.", "dualgap.solvers."
    modules = [module for name, module in sys.modules.items() if name.startswith(packages)]
    table = {id(f): f for m in modules for f in vars(m).values() if isinstance(f, CPUDispatcher)}
    return list(table.values())


FUNCTIONS = functions_of_ours()


def let_go() -> None:
    """Let go of all compiled functions and of what is known to be compiled, as in a new process."""
    timing._warm.clear()
    for compiling in (near_rows._compile, compile_newton, compile_triangle, compile_pass):
        compiling.cache_clear()
    for function in FUNCTIONS:
        function._make_finalizer()()
        function._reset_overloads()


def late(
    problem: Formulation, solver: Solver | None, start: Formulation | None = None
) -> list[str]:
    """Return which functions came to be there while a solver's clock ran in its first solve."""
    initial = None if start is None else solve(start, solver)
    let_go()
    counts: list[set[tuple[str, object]]] = []
    listen = Recorder()

    def loaded() -> set[tuple[str, object]]:
        return {
            (f.__module__ + "." + f.__name__, types) for f in FUNCTIONS for types in f.overloads
        }

    def started() -> None:
        counts.append(loaded())
        listen.n_started = 0

    steps = MOST_STEPS.get("" if solver is None else solver.name)
    with install_listener("numba:compile", listen):
        solution = solve(problem, solver, initial=initial, max_iter=steps, started=started)
        after, compiled = loaded(), listen.n_started
    if solution.status is Status.UNSUPPORTED:
        return []
    return sorted(name for name, _ in after - counts[-1]) or ["?"] * compiled


def soft_margin(n: int, kernel=RBF(0.3), C: float = 10.0, dtype=float, **more) -> SoftMarginDual:  # noqa: B008
    X, y = two_classes(n, 5)
    return SoftMarginDual(X.astype(dtype), y, C, kernel, **more)


X, Y = two_classes(700, 5)
T = X @ np.arange(1.0, 6.0)
SPARSE = sp.csr_array(np.where(np.abs(X) > 1.0, X, 0.0))
TEXT = sp.random_array((2600, 5000), density=0.01, rng=np.random.default_rng(0), format="csr")
TOPIC = np.where(np.arange(2600) % 2 == 0, 1.0, -1.0)
# of each size that solvers tell apart, in the types that users give
OTHERS: dict[str, Formulation] = {
    "integers": SoftMarginDual((10 * X[:50]).astype(int), Y[:50], 1.0, RBF(0.01)),
    "single": soft_margin(50, dtype=np.float32),
    "fortran": SoftMarginDual(np.asfortranarray(X[:50]), Y[:50], 1.0, RBF(0.3)),
    "long indices": SoftMarginDual(
        sp.csr_array(
            (SPARSE.data, SPARSE.indices.astype(np.int64), SPARSE.indptr.astype(np.int64)),
            SPARSE.shape,
        ),
        Y,
    ),
    "700": soft_margin(700),
    "700, C large": soft_margin(700, C=1e4),
    "700, sparse": SoftMarginDual(SPARSE, Y, 10.0, RBF(0.3)),
    "700, far": SoftMarginDual(1e3 * SPARSE, Y, 1.0, RBF(0.3)),
    "700, polynomial": soft_margin(700, Polynomial(2, 0.5)),
    "700, precomputed": SoftMarginDual(X @ X.T, Y, 1.0, Precomputed()),
    "700, text": SoftMarginDual(TEXT[:700], TOPIC[:700], 10.0, RBF(0.3)),
    "2600, text": SoftMarginDual(TEXT, TOPIC, 10.0, RBF(0.3)),
    "700, linear": SoftMarginDual(X, Y, 1.0),
    "700, linear, sparse": SoftMarginDual(SPARSE, Y, 1.0),
    "700, weights": soft_margin(700, C=np.linspace(0.1, 3.0, 700)),  # type: ignore[arg-type]
    "700, no intercept": soft_margin(700, intercept=False),
    "700, tube": SVRDual(X, T, 10.0, 0.1, RBF(0.3)),
    "700, nu": NuSVC(X, Y, 0.3, RBF(0.3)),
    "700, hard": HardMarginDual(X, Y, RBF(3.0)),
    "700, risk": RegularizedERM(X, Y, 0.01, "logistic"),
    "2600": soft_margin(2600),
}
ALL = {**PROBLEMS, **OTHERS}
# one of each way that a solver works in, on the kinds of problems that were compiled late before
FEW: list[tuple[str | None, str]] = [
    ("smo", "svr_dual_rbf"),
    ("smo", "nu_svc"),
    ("smo", "700"),
    ("dual_coordinate_descent", "soft_primal_wide"),
    ("finite_newton", "risk_ridge"),
    ("projected_gradient", "svdd"),
    ("platt_smo", "soft_dual_weights"),
    ("perceptron", "hard_dual_rbf"),
    ("interior_point", "soft_dual_rbf"),
    ("sdca", "risk_logistic_rbf"),
    ("pegasos", "erm_sparse"),
    (None, "700, nu"),
    (None, "single"),
]


@pytest.mark.parametrize(("solver", "problem"), FEW)
def test_nothing_is_compiled_or_read_while_a_clock_runs(solver, problem):
    assert late(ALL[problem], None if solver is None else all_solvers()[solver]()) == []


def test_nothing_is_compiled_or_read_after_a_warm_start():
    assert late(PROBLEMS["soft_dual_rbf"], solvers.SMO(), PROBLEMS["soft_dual_weights"]) == []


@pytest.mark.exhaustive
@pytest.mark.parametrize("solver", [None, *(name for name in OURS if name not in SLOW)])
def test_nothing_is_compiled_or_read_in_the_first_solve_of_any_kind_of_problem(solver):
    table = {}
    for name, problem in ALL.items():
        if problem.n > 700 and solver not in (None, "smo", "projected_gradient"):
            continue
        if functions := late(problem, None if solver is None else all_solvers()[solver]()):
            table[name] = functions
    assert table == {}


@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", range(3))
def test_nothing_is_compiled_late_in_any_order_of_problems(seed):
    """Functions stay loaded from one solve to the next here: what is known to be compiled has to be."""
    rng = np.random.default_rng(seed)
    names = [name for name, problem in ALL.items() if problem.n <= 700]
    pairs = [(s, p) for s in ("smo", "dual_coordinate_descent", "platt_smo", None) for p in names]
    let_go()
    for k in rng.permutation(len(pairs)):
        solver, name = pairs[k]
        counts: list[int] = []
        solve(
            ALL[name],
            None if solver is None else all_solvers()[solver](),
            max_iter=MOST_STEPS.get(solver or ""),
            started=lambda counts=counts: counts.append(sum(len(f.overloads) for f in FUNCTIONS)),
        )
        assert not counts or sum(len(f.overloads) for f in FUNCTIONS) == counts[-1], (solver, name)
