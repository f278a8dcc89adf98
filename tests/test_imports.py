"""Imports go one way: problems ← solvers ← experiments."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FORBIDDEN = {"problems": {"solvers", "experiments"}, "solvers": {"experiments"}}


def imported(file):
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (name.name.partition(".")[0] for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}:{node.lineno}: relative import"
            yield (node.module or "").partition(".")[0]


@pytest.mark.parametrize("package", ["problems", "solvers", "experiments"])
def test_imports_point_one_way(package):
    forbidden = FORBIDDEN.get(package, set()) | {"tests"}
    files = list((ROOT / package).rglob("*.py"))
    assert files or package == "experiments"
    wrong = [(str(f.relative_to(ROOT)), m) for f in files for m in imported(f) if m in forbidden]
    assert wrong == []


def test_solvers_import_little():
    code = "import sys, solvers; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    heavy = {"scipy.sparse", "scipy.linalg", "sklearn", "cvxpy", "cvxopt", "pandas", "flint"}
    assert not heavy & set(loaded.stdout.split())
