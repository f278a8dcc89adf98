"""The table of faults, `faults.md`, names a test for each of them, and the tests exist."""

import ast
import re
from functools import cache
from pathlib import Path

HERE = Path(__file__).parent
SECTIONS = (
    "Solvers that die",
    "Solvers that lie",
    "The runner",
    "Experiment files",
    "Data",
    "Properties",
)


def table():
    """Section, fault, what happens, outcome and test of each line."""
    section, rows = "", []
    for line in (HERE / "faults.md").read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            section = line[3:]
        elif line.startswith("| ") and not line.startswith(("| fault |", "| property |")):
            rows.append((section, *(cell.strip() for cell in line.strip("|").split(" | "))))
    return rows


ROWS = table()


@cache
def names_in(file):
    """Names of the functions and classes of a file, which is read but not imported."""
    tree = ast.parse((HERE / file).read_text(encoding="utf-8"))
    return {n.name for n in ast.walk(tree) if isinstance(n, (ast.FunctionDef, ast.ClassDef))}


def test_every_kind_of_fault_has_its_section():
    assert tuple(dict.fromkeys(row[0] for row in ROWS)) == SECTIONS


def test_each_fault_is_fully_described_and_its_test_exists():
    for *cells, test in ROWS:
        assert len(cells) == 4
        assert all(cells)
        named = re.fullmatch(r"`([\w/]+\.py)::(test_\w+)`", test)
        assert named, test
        assert named[2] in names_in(named[1]), test


def test_the_faulty_solvers_that_the_table_names_exist():
    cells = [row[2].partition("zoo: ")[2] for row in ROWS]
    named = {name for cell in cells for name in re.findall(r"`(\w+)`", cell)}
    zoo = set().union(*(names_in(file) for file in sorted((HERE / "zoo").glob("*.py"))))
    assert len(named) > 20
    assert named <= zoo
