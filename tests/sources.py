"""The source files of the packages, parsed once in a process."""

import ast
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGES = ("problems", "solvers", "experiments")


def name_of(file: Path) -> str:
    """Return the name of the module in a file."""
    parts = file.relative_to(ROOT).with_suffix("").parts
    return ".".join(["dualgap", *(parts[:-1] if parts[-1] == "__init__" else parts)])


FILES = {
    name_of(file): file for package in PACKAGES for file in sorted((ROOT / package).rglob("*.py"))
}


@cache
def nodes_of(name: str) -> list[ast.AST]:
    """Return all nodes of a module."""
    return list(ast.walk(ast.parse(FILES[name].read_text(encoding="utf-8"))))
