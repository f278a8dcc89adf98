"""The result of a verification: as a table of checks, as Markdown, and for the terminal."""

from dataclasses import asdict, fields
from itertools import groupby
from math import isnan
from operator import attrgetter
from typing import Any

import pandas as pd
from rich.console import Group
from rich.text import Text

from dualgap.experiments.analysis.verify import Check, Verification
from dualgap.experiments.tables.table import Cell, Column, Table
from dualgap.problems.texts import markdown

CHECKS = "verification.csv"
_MOST = 5  # problems with failed runs that the terminal shows
_COLUMNS = {
    "problem": Column("problem", side="words"),
    "optimum": Column("optimum", "{:.8g}".format),
    "failed": Column("failed", side="words"),
    "passed": Column("passed", side="words"),
}
_SOLVERS = {
    "solver": Column("solver", side="words"),
    **{name: Column(name) for name in ("runs", "passed", "failed", "unsupported")},
    "worst": Column("worst difference", "{:.1e}".format),
}
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
    return pd.DataFrame(map(vars, verification.checks), columns=names)


def _by_solver(checks: pd.DataFrame) -> Table:
    """Return how many runs of each solver were checked, how many passed, and the worst."""
    unsupported = checks["status"] == "unsupported"
    passed = checks["passed"].astype(bool)
    counted = checks.assign(passed=passed & ~unsupported, failed=~passed, unsupported=unsupported)
    groups = counted.groupby("solver", sort=False)
    rows = groups[["passed", "failed", "unsupported"]].sum()
    rows = rows.assign(runs=groups.size(), worst=groups["difference"].max())
    return Table.of(rows.reset_index(), _SOLVERS)


def to_markdown(verification: Verification, title: str) -> str:
    """Return the outcome in a sentence, diagnoses, the counts of each solver, every difference."""
    checks = to_frame(verification).assign(cell=list(map(_shown, verification.checks)))
    table = checks.pivot_table("cell", "problem_id", "solver", aggfunc=_joined, sort=False)
    optima = checks.groupby("problem_id")["reference"].first()
    table.insert(0, "optimum", optima.map("{:.8g}".format, na_action="ignore"))
    parts = [
        f"# {markdown(title)}",
        *map(markdown, [verification.sentence, *diagnosis_sentences(verification)]),
        _by_solver(checks).markdown(),
        f"## {_DIFFERENCES}",
        Table.of(table.reset_index()).markdown(),
    ]
    return "\n\n".join(parts) + "\n"


def to_terminal(verification: Verification) -> Group:
    """Return every difference, the counts of each solver, and the outcome in a sentence.

    Of a verification that failed only the worst problems, and what is wrong with the solvers.
    """
    checks = shown = verification.checks
    failed = sorted(verification.failed, key=attrgetter("badness"), reverse=True)
    places = list(dict.fromkeys(check.problem_id for check in failed))
    if failed:
        shown = [check for check in checks if check.problem_id in places[:_MOST]]
    more = len(places) - _MOST
    notes = [f"{more} more problems have failed runs."] if more > 0 else []
    columns = {name: column for name, column in _COLUMNS.items() if failed or name != "failed"}
    rows: list[dict[str, Any]] = []
    for problem, grouped in groupby(shown, attrgetter("problem_id")):
        own = list(grouped)
        failing, passing = (
            ", ".join(f"{c.solver} {_shown(c)}" for c in own if c.passed is passed)
            for passed in (False, True)
        )
        row = {"problem": problem, "optimum": own[0].reference}
        row |= {"failed": Cell(failing, style="red"), "passed": Cell(passing, style="green")}
        rows.append(row)
    differences = Table.of(rows, columns, _DIFFERENCES, notes)
    outcome = Text(verification.sentence, f"bold {'green' if verification.passed else 'red'}")
    diagnoses = map(Text, diagnosis_sentences(verification))
    return Group(differences, _by_solver(to_frame(verification)), outcome, *diagnoses)


def to_json(verification: Verification) -> dict[str, Any]:
    """Return the same as plain values, which `dualgap verify --json` prints."""
    return {
        "passed": verification.passed,
        "proven": verification.proven,
        "sentence": verification.sentence,
        "checks": [asdict(check) for check in verification.checks],
        "diagnoses": [
            {"solver": found.solver, "problem_id": found.problem_id}
            | {"runs": found.runs, "of": found.of, "diagnosis": found.diagnosis.text}
            for found in verification.diagnosed
        ],
    }


def diagnosis_sentences(verification: Verification) -> list[str]:
    """Return what is wrong with each solver that was diagnosed, and what to look at."""
    return [
        f"Diagnosis of {found.solver}, from {found.runs} of {found.of} failed runs: "
        f"on {found.problem_id}, {found.diagnosis.text}."
        for found in verification.diagnosed
    ]


def _joined(cells: pd.Series) -> str:
    """Return what the repetitions on a problem came to, equal ones once."""
    return ", ".join(dict.fromkeys(cells))


def _shown(check: Check) -> str:
    """Return the difference with the verdict of what failed, or why there is none."""
    for word in (check.status, check.verdict):
        if word in ("unsupported", "infeasible"):
            return word
    known = check.status if isnan(check.difference) else f"{check.difference:.1e}"
    return known if check.passed else f"{check.verdict} {known}"
