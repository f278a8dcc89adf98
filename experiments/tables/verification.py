"""Output of a verification: table of checks, Markdown, terminal and JSON."""

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
_MAX_PROBLEMS = 5  # problems with failed runs in the terminal
_COLUMNS = {
    "problem": Column("problem", align="words"),
    "optimum": Column("optimum", "{:.8g}".format),
    "failed": Column("failed", align="words"),
    "passed": Column("passed", align="words"),
}
_SOLVERS = {
    "solver": Column("solver", align="words"),
    **{name: Column(name) for name in ("runs", "passed", "failed", "unsupported")},
    "worst": Column("worst difference", "{:.1e}".format),
}
_DIFFERENCES_TITLE = "Relative difference between the worse bound and the QP optimum"


def verification_texts(verification: Verification, title: str) -> dict[str, str]:
    """Return the files of a verification: `verification.csv` (see `to_frame`) and `verification.md`."""
    return {
        CHECKS: to_frame(verification).to_csv(index=False),
        "verification.md": to_markdown(verification, title),
    }


def to_frame(verification: Verification) -> pd.DataFrame:
    """Return a table with one row per check; its columns are the attributes of `Check`."""
    names = [field.name for field in fields(Check)]
    return pd.DataFrame(map(vars, verification.checks), columns=names)


def _by_solver(checks: pd.DataFrame) -> Table:
    """Return the numbers of checked and passed runs of each solver, and its worst difference."""
    unsupported = checks["status"] == "unsupported"
    passed = checks["passed"].astype(bool)
    counted = checks.assign(passed=passed & ~unsupported, failed=~passed, unsupported=unsupported)
    groups = counted.groupby("solver", sort=False)
    rows = groups[["passed", "failed", "unsupported"]].sum()
    rows = rows.assign(runs=groups.size(), worst=groups["difference"].max())
    return Table.of(rows.reset_index(), _SOLVERS)


def to_markdown(verification: Verification, title: str) -> str:
    """Return the outcome in a sentence, diagnoses, counts per solver, and all differences."""
    checks = to_frame(verification).assign(cell=list(map(_check_text, verification.checks)))
    table = checks.pivot_table("cell", "problem_id", "solver", aggfunc=_joined, sort=False)
    optima = checks.groupby("problem_id")["reference"].first()
    table.insert(0, "optimum", optima.map("{:.8g}".format, na_action="ignore"))
    parts = [
        f"# {markdown(title)}",
        *map(markdown, [verification.sentence, *diagnosis_sentences(verification)]),
        _by_solver(checks).markdown(),
        f"## {_DIFFERENCES_TITLE}",
        Table.of(table.reset_index()).markdown(),
    ]
    return "\n\n".join(parts) + "\n"


def to_terminal(verification: Verification) -> Group:
    """Return all differences, counts per solver, and the outcome in a sentence.

    For a failed verification, return only the worst problems, and a diagnosis per solver.
    """
    checks = listed = verification.checks
    failed = sorted(verification.failed, key=attrgetter("badness"), reverse=True)
    failed_problems = list(dict.fromkeys(check.problem_id for check in failed))
    if failed:
        listed = [check for check in checks if check.problem_id in failed_problems[:_MAX_PROBLEMS]]
    more = len(failed_problems) - _MAX_PROBLEMS
    notes = [f"{more} more problems have failed runs."] if more > 0 else []
    columns = {name: column for name, column in _COLUMNS.items() if failed or name != "failed"}
    rows: list[dict[str, Any]] = []
    for problem, grouped in groupby(listed, attrgetter("problem_id")):
        problem_checks = list(grouped)
        failing, passing = (
            ", ".join(f"{c.solver} {_check_text(c)}" for c in problem_checks if c.passed is passed)
            for passed in (False, True)
        )
        row = {"problem": problem, "optimum": problem_checks[0].reference}
        row |= {"failed": Cell(failing, style="red"), "passed": Cell(passing, style="green")}
        rows.append(row)
    differences = Table.of(rows, columns, _DIFFERENCES_TITLE, notes)
    outcome = Text(verification.sentence, f"bold {'green' if verification.passed else 'red'}")
    diagnoses = map(Text, diagnosis_sentences(verification))
    return Group(differences, _by_solver(to_frame(verification)), outcome, *diagnoses)


def to_json(verification: Verification) -> dict[str, Any]:
    """Return the verification as plain values, for `dualgap verify --json`."""
    return {
        "passed": verification.passed,
        "proven": verification.proven,
        "sentence": verification.sentence,
        "checks": [asdict(check) for check in verification.checks],
        "diagnoses": [
            {"solver": entry.solver, "problem_id": entry.problem_id}
            | {"runs": entry.runs, "of": entry.of, "diagnosis": entry.diagnosis.text}
            for entry in verification.diagnosed
        ],
    }


def diagnosis_sentences(verification: Verification) -> list[str]:
    """Return one sentence per diagnosed solver: what is wrong, and what to check."""
    return [
        f"Diagnosis of {entry.solver}, from {entry.runs} of {entry.of} failed runs: "
        f"on {entry.problem_id}, {entry.diagnosis.text}."
        for entry in verification.diagnosed
    ]


def _joined(cells: pd.Series) -> str:
    """Return the texts of the repetitions on a problem, equal ones once."""
    return ", ".join(dict.fromkeys(cells))


def _check_text(check: Check) -> str:
    """Return a check's difference, with the verdict if it failed, or why there is none."""
    for word in (check.status, check.verdict):
        if word in ("unsupported", "infeasible"):
            return word
    text = check.status if isnan(check.difference) else f"{check.difference:.1e}"
    return text if check.passed else f"{check.verdict} {text}"
