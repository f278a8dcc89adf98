"""The result of a verification: as a table of checks, as Markdown, and for the terminal."""

from __future__ import annotations

from dataclasses import fields
from itertools import groupby
from math import isnan
from operator import attrgetter

import pandas as pd
from rich.console import Group
from rich.table import Table
from rich.text import Text

from experiments.analysis.verify import Check, Verification
from experiments.output.text import markdown_table, terminal_table

CHECKS = "verification.csv"
_DIFFERENCES = "Difference to the QP optimum: of the worse bound, relative"


def verification_texts(verification: Verification, title: str) -> dict[str, str]:
    """Return the files of a verification: `verification.csv` (see `to_frame`) and `verification.md`."""
    return {
        CHECKS: to_frame(verification).to_csv(index=False),
        "verification.md": to_markdown(verification, title),
    }


def to_frame(verification: Verification) -> pd.DataFrame:
    """Return the checks as a table, one row each; its columns are the attributes of `Check`."""
    names = [field.name for field in fields(Check)]
    rows = [[getattr(check, name) for name in names] for check in verification.checks]
    return pd.DataFrame(rows, columns=names)


def by_solver(verification: Verification) -> pd.DataFrame:
    """Return as text how many problems each solver was checked on, how many passed, and the worst."""
    checks = to_frame(verification)
    passed, unsupported = checks["passed"].astype(bool), checks["status"] == "unsupported"
    counts = pd.DataFrame(
        {"passed": passed & ~unsupported, "failed": ~passed, "unsupported": unsupported}
    )
    counts.insert(0, "problems", 1)
    counted = counts.groupby(checks["solver"], sort=False).sum()
    worst = checks.groupby("solver", sort=False)["difference"].max()
    counted["worst difference"] = worst.map("{:.1e}".format, na_action="ignore").fillna("")
    return counted.reset_index().astype(str)


def to_markdown(verification: Verification, title: str) -> str:
    """Return the outcome in a sentence, the counts of each solver, and every difference."""
    checks = to_frame(verification)
    shown = checks.assign(cell=[_shown(check) for check in verification.checks])
    table = shown.pivot_table("cell", "problem_id", "solver", aggfunc="first", sort=False)
    optima = shown.groupby("problem_id", sort=False)["reference"].first()
    table.insert(0, "optimum", ["" if isnan(value) else f"{value:.8g}" for value in optima])
    parts = [
        f"# {title}",
        verification.sentence,
        markdown_table(by_solver(verification)),
        f"## {_DIFFERENCES}",
        markdown_table(table.fillna("").reset_index()),
    ]
    return "\n\n".join(parts) + "\n"


def to_terminal(verification: Verification) -> Group:
    """Return every difference, the counts of each solver, and the outcome in a sentence."""
    colour = "green" if verification.passed else "red"
    outcome = Text(verification.sentence, style=f"bold {colour}")
    return Group(_differences(verification), _by_solver(verification), outcome)


def _differences(verification: Verification) -> Table:
    solvers = list(dict.fromkeys(check.solver for check in verification.checks))
    rows: list[list[str | Text]] = []
    for problem, group in groupby(verification.checks, attrgetter("problem_id")):
        checks = {check.solver: check for check in group}
        reference = next(iter(checks.values())).reference
        cells = [_cell(checks[name]) if name in checks else "" for name in solvers]
        rows.append([problem, "" if isnan(reference) else f"{reference:.8g}", *cells])
    return terminal_table(["problem", "optimum", *solvers], rows, ("problem",), _DIFFERENCES)


def _cell(check: Check) -> Text:
    colour = "dim" if _without_number(check) else "green"
    return Text(_shown(check), style=colour if check.passed else "red")


def _shown(check: Check) -> str:
    known = check.status if isnan(check.difference) else f"{check.difference:.1e}"
    return _without_number(check) or known


def _without_number(check: Check) -> str:
    ends = (check.status, check.verdict)
    return next((word for word in ends if word in ("unsupported", "infeasible")), "")


def _by_solver(verification: Verification) -> Table:
    counted = by_solver(verification)
    rows = [[str(cell) for cell in row] for row in counted.itertuples(index=False)]
    return terminal_table(map(str, counted), rows, ("solver",))
