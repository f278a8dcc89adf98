"""The result of a verification: as a table of checks, as Markdown, and for the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, fields, replace
from itertools import groupby
from math import isnan
from operator import attrgetter
from typing import Any

import pandas as pd
from rich.console import Group
from rich.text import Text

from experiments.analysis.verify import REFERENCES, Check, Verification
from experiments.output.text import FittingTable, markdown_table

CHECKS = "verification.csv"
_MOST = 5  # problems with failed runs that the terminal shows
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
    """Return the outcome in a sentence, diagnoses, the counts of each solver, every difference."""
    checks = to_frame(verification)
    shown = checks.assign(cell=[_shown(check) for check in verification.checks])
    table = shown.pivot_table("cell", "problem_id", "solver", aggfunc="first", sort=False)
    optima = shown.groupby("problem_id", sort=False)["reference"].first()
    table.insert(0, "optimum", ["" if isnan(value) else f"{value:.8g}" for value in optima])
    parts = [
        f"# {title}",
        verification.sentence,
        *diagnosis_sentences(verification),
        markdown_table(by_solver(verification)),
        f"## {_DIFFERENCES}",
        markdown_table(table.fillna("").reset_index()),
    ]
    return "\n\n".join(parts) + "\n"


def to_terminal(verification: Verification) -> Group:
    """Return every difference, the counts of each solver, and the outcome in a sentence.

    Of a verification that failed only the worst problems, and what is wrong with the solvers.
    """
    verification = replace(
        verification,
        checks=_in_order(verification.checks),
        diagnosed=tuple(sorted(verification.diagnosed, key=attrgetter("solver"))),
    )
    outcome = Text(verification.sentence, f"bold {'green' if verification.passed else 'red'}")
    if not verification.failed:
        return Group(_differences(verification.checks), _by_solver(verification), outcome)
    failed = sorted(verification.failed, key=attrgetter("badness"), reverse=True)
    places = list(dict.fromkeys(check.problem_id for check in failed))
    shown = [check for check in verification.checks if check.problem_id in places[:_MOST]]
    left = f"{len(places) - _MOST} more problems have failed runs." if len(places) > _MOST else ""
    diagnoses = map(Text, diagnosis_sentences(verification))
    return Group(_differences(shown, left), _by_solver(verification), outcome, *diagnoses)


def to_json(verification: Verification) -> dict[str, Any]:
    """Return the same as plain values, which `dualgap verify --json` prints."""
    return {
        "passed": verification.passed,
        "proven": verification.proven,
        "sentence": verification.sentence,
        "checks": [asdict(check) for check in _in_order(verification.checks)],
        "diagnoses": [
            {"solver": found.solver, "problem_id": found.problem_id}
            | {"runs": found.runs, "of": found.of, "diagnosis": found.diagnosis.text}
            for found in verification.diagnosed
        ],
    }


def _in_order(checks: Sequence[Check]) -> tuple[Check, ...]:
    """Return the checks of each problem by solver, the references first: runs are in a random order."""
    places = {check.problem_id: place for place, check in reversed([*enumerate(checks)])}
    return tuple(
        sorted(
            checks,
            key=lambda c: (places[c.problem_id], not c.solver.startswith(REFERENCES), c.solver),
        )
    )


def diagnosis_sentences(verification: Verification) -> list[str]:
    """Return what is wrong with each solver that was diagnosed, and what to look at."""
    return [
        f"Diagnosis of {found.solver}, from {found.runs} of {found.of} failed runs: "
        f"on {found.problem_id}, {found.diagnosis.text}."
        for found in verification.diagnosed
    ]


def _differences(checks: Sequence[Check], note: str = "") -> FittingTable:
    solvers = list(dict.fromkeys(check.solver for check in checks))
    rows: list[list[str | Text]] = []
    for problem, group in groupby(checks, attrgetter("problem_id")):
        by_name = {check.solver: check for check in group}
        reference = next(iter(by_name.values())).reference
        cells = [_cell(by_name[name]) if name in by_name else "" for name in solvers]
        rows.append([problem, "" if isnan(reference) else f"{reference:.8g}", *cells])
    heads = ["problem", "optimum", *solvers]
    return FittingTable(heads, rows, ("problem",), _DIFFERENCES, note)


def _cell(check: Check) -> Text:
    colour = "dim" if _without_number(check) else "green"
    return Text(_shown(check), style=colour if check.passed else "red")


def _shown(check: Check) -> str:
    known = check.status if isnan(check.difference) else f"{check.difference:.1e}"
    return _without_number(check) or (known if check.passed else f"{check.verdict} {known}")


def _without_number(check: Check) -> str:
    ends = (check.status, check.verdict)
    return next((word for word in ends if word in ("unsupported", "infeasible")), "")


def _by_solver(verification: Verification) -> FittingTable:
    counted = by_solver(verification)
    rows = [[str(cell) for cell in row] for row in counted.itertuples(index=False)]
    return FittingTable(map(str, counted), rows, ("solver",))
