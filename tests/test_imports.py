"""Imports go one way: problems ← solvers ← experiments, within them from room to room, in no circle."""

import ast
import subprocess
import sys
from collections import Counter
from functools import cache
from graphlib import CycleError, TopologicalSorter

import pytest
from tests.sources import FILES, PACKAGES, nodes_of

# the order of the packages, and of the rooms in them: each imports only from those before it;
# "*" is all the rooms that are not named
ORDER = {
    "dualgap": [*PACKAGES],
    "dualgap.problems": [
        *("validation", "compilation", "registry", "texts", "html_table", "dataset", "labels"),
        *("arithmetic", "kernels", "losses", "blocks", "gram", "box"),
        *("chains", "forms", "problem", "quadratic", "risk", "certificates", "formulations"),
        *("answers", "exchange", "datasets"),
    ],
    "dualgap.solvers": ["needs", "base", "numerics", "*", "running", "paths", "estimators"],
    "dualgap.experiments": [
        *("workers", "records", "files", "cases", "store", "executors", "analysis", "tables"),
        *("plots", "report", "selftest", "gallery", "operations", "commands", "cli", "docs"),
    ],
}
# no rooms: they may import from all, and are imported by none
BESIDE = {"dualgap.experiments": {"choice", "floor", "from_python"}}
MOST = 12  # modules on one level
MOST_FOR_RUNNING = 28  # modules of the experiments that running imports; lower it
CROWDED = {"dualgap.solvers", "dualgap.experiments.commands"}  # one file a kind


def imports_of(name, nodes=None):
    """Yield the modules that a module imports, those inside functions and for types alone too.

    With `nodes`, only those that are imported by these.
    """
    for node in nodes_of(name) if nodes is None else nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name}:{node.lineno}: relative import"
            module = node.module or ""
            inside = {f"{module}.{alias.name}" for alias in node.names}
            yield from (inside & FILES.keys()) or [module]


@cache
def imports():
    return {name: set(imports_of(name)) for name in FILES}


@pytest.mark.parametrize("package", ORDER)
def test_imports_point_one_way(package):
    order = {part: rank for rank, part in enumerate(ORDER[package])}
    exempt = BESIDE.get(package, set())
    prefix = f"{package}."
    rooms = {
        name: name.removeprefix(prefix).partition(".")[0]
        for name in FILES
        if name.startswith(prefix)
    }
    assert set(rooms.values()) >= set(order) - {"*"} | exempt
    assert set(rooms.values()) <= set(order) | exempt or "*" in order
    rank = {part: order.get(part, order.get("*")) for part in {*rooms.values()} - exempt}
    wrong = [
        f"{name} imports {other}"
        for name, part in rooms.items()
        for other in imports()[name] & rooms.keys()
        if rooms[other] in exempt or (part in rank and rank[rooms[other]] > rank[part])
    ]
    assert wrong == []


def test_running_imports_neither_what_solves_nor_what_presents():
    """An executor brings the processes that solve; commands bring tables, once runs are recorded."""
    needed = {"dualgap.experiments.operations.run"}
    waiting = [*needed]
    while waiting:
        name = waiting.pop()
        more = {*imports_of(name, nodes_of(name)[0].body)} & FILES.keys() - needed
        needed |= more
        waiting += more
    ours = {name for name in needed if name.startswith("dualgap.experiments.")}
    rooms = {"records", "files", "cases", "store", "executors", "operations", "workers"}
    assert {name.split(".")[2] for name in ours} == rooms
    elsewhere = ("cases.solving", "cases.judging", "cases.messages", "store.reading")
    elsewhere += ("records.tables", "workers.supervision", "workers.processes", "workers.wire")
    assert not {f"dualgap.experiments.{name}" for name in elsewhere} & ours
    assert len(ours) <= MOST_FOR_RUNNING


def test_nothing_imports_the_tests():
    assert not [
        name for name in FILES if any(m.partition(".")[0] == "tests" for m in imports()[name])
    ]


def test_commands_contain_no_arithmetic():
    commands = [name for name in FILES if name.startswith("dualgap.experiments.commands")]
    numerical = {"numpy", "pandas", "scipy"}
    assert not [
        name for name in commands if numerical & {m.partition(".")[0] for m in imports()[name]}
    ]


def test_imports_have_no_cycles():
    """A package's `__init__` may import its modules, which know only one another."""
    try:
        TopologicalSorter({name: imports()[name] & FILES.keys() for name in FILES}).prepare()
    except CycleError as error:
        pytest.fail(" imports ".join(reversed(error.args[1])))


def test_a_package_has_at_most_12_modules_on_a_level():
    modules = [name.rpartition(".")[0] for name, file in FILES.items() if file.stem != "__init__"]
    full = {part for part, count in Counter(modules).items() if count > MOST}
    assert full <= CROWDED


NUMERICAL = {"numpy", "scipy", "numba", "pandas", "cvxpy", "sklearn", "matplotlib"}
BASELINES = {
    "sklearn",
    "sklearnex",
    "snapml",
    "libsvm",
    "liblinear",
    "qpsolvers",
    "clarabel",
    "osqp",
}
# what one process does, step by step, and what must not be loaded after each step
STEPS = {
    "import dualgap": NUMERICAL,
    "from dualgap.experiments.cli import main; main(['--help'], standalone_mode=False)": NUMERICAL
    | {"rich", "pydantic"},
    # in a worker, before its environment is set
    "import dualgap.experiments.workers.supervision, dualgap.experiments.cases.case": NUMERICAL,
    "import dualgap.solvers": {
        "scipy.sparse",
        "scipy.linalg",
        "sklearn",
        "cvxpy",
        "cvxopt",
        "flint",
    }
    | {"pandas"},
    "import dualgap.problems.datasets": {"sklearn", "pooch", "requests"},
    "dualgap.all_solvers()": BASELINES,
}


def test_imports_are_lazy_and_a_star_import_has_all_names(tmp_path):
    report = "print('LOADED', *sys.modules)"
    code = "\n".join(["import sys", *(f"{step}\n{report}" for step in STEPS)])
    code += "\nfrom dualgap import *\ncertify, SMO, datasets"
    command = [sys.executable, "-W", "error", "-c", code]
    printed = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert printed.returncode == 0, printed.stderr
    loaded = [line.split() for line in printed.stdout.splitlines() if line.startswith("LOADED")]
    for (step, heavy), modules in zip(STEPS.items(), loaded, strict=True):
        assert not heavy & {*modules}, step
