"""Imports go one way: problems ← solvers ← experiments, within them from room to room, in no circle."""

import ast
import subprocess
import sys
from collections import Counter
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
# the order of the packages, and of the rooms in them: each imports only from those before it;
# "*" is all the rooms that are not named
ORDER = {
    "dualgap": ["problems", "solvers", "experiments"],
    "dualgap.problems": [
        *(
            "compilation",
            "registry",
            "texts",
            "validation",
            "html_table",
            "dataset",
            "labels",
            "arithmetic",
            "kernels",
            "losses",
            "blocks",
        ),
        *(
            "gram",
            "projection",
            "box_gap",
            "chains",
            "forms",
            "problem",
            "quadratic",
            "risk",
        ),
        *("certificates", "formulations", "answers", "exchange", "datasets"),
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
CROWDED = {"dualgap.solvers", "dualgap.experiments.commands"}  # one file a kind


def name_of(file):
    parts = file.relative_to(ROOT).with_suffix("").parts
    return ".".join(["dualgap", *(parts[:-1] if parts[-1] == "__init__" else parts)])


FILES = {
    name_of(file): file
    for package in ORDER["dualgap"]
    for file in sorted((ROOT / package).rglob("*.py"))
}


def imports_of(name):
    """Yield the modules that a module imports, those inside functions and for types alone too."""
    pending = [ast.parse(FILES[name].read_text(encoding="utf-8"))]
    while pending:
        node = pending.pop()
        pending += ast.iter_child_nodes(node)
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
    order = {room: place for place, room in enumerate(ORDER[package])}
    beside = BESIDE.get(package, set())
    prefix = f"{package}."
    rooms = {
        name: name.removeprefix(prefix).partition(".")[0]
        for name in FILES
        if name.startswith(prefix)
    }
    assert set(rooms.values()) >= set(order) - {"*"} | beside
    assert set(rooms.values()) <= set(order) | beside or "*" in order
    place = {room: order.get(room, order.get("*")) for room in {*rooms.values()} - beside}
    wrong = [
        f"{name} imports {other}"
        for name, room in rooms.items()
        for other in imports()[name] & rooms.keys()
        if rooms[other] in beside or (room in place and place[rooms[other]] > place[room])
    ]
    assert wrong == []


def test_nothing_imports_the_tests():
    assert not [
        name for name in FILES if any(m.partition(".")[0] == "tests" for m in imports()[name])
    ]


def test_no_imports_go_in_a_circle():
    """A package's `__init__` may import its modules, which know only one another."""
    try:
        TopologicalSorter({name: imports()[name] & FILES.keys() for name in FILES}).prepare()
    except CycleError as error:
        pytest.fail(" imports ".join(reversed(error.args[1])))


def test_a_room_has_few_modules_on_one_level():
    modules = [name.rpartition(".")[0] for name, file in FILES.items() if file.stem != "__init__"]
    many = {room for room, count in Counter(modules).items() if count > MOST}
    assert many <= CROWDED


def test_a_worker_imports_nothing_numerical_before_its_environment_is_set():
    modules = "dualgap.experiments.workers.supervision, dualgap.experiments.cases.case"
    assert not {"numpy", "scipy", "numba", "pandas"} & loaded_with(modules)


def test_solvers_import_little():
    heavy = {"scipy.sparse", "scipy.linalg", "sklearn", "cvxpy", "cvxopt", "pandas", "flint"}
    assert not heavy & loaded_with("dualgap.solvers")


def loaded_with(modules):
    code = f"import sys, {modules}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())
