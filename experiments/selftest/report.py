"""The table of a selftest, and a sentence for each failure."""

from typing import Any

from rich.console import Group
from rich.text import Text

from experiments.selftest.outcome import Report
from experiments.tables.table import Cell, Column, Table
from problems.answers.diagnosis import most_frequent

_COLOURS = {"passed": "green", "failed": "bold red", "not run": "yellow", "unsupported": "dim"}
_COLUMNS = {
    "property": Column("property", side="words"),
    "problems": Column("problems"),
    "not judged": Column("not judged"),
    "outcome": Column("outcome", side="left"),
}


def to_terminal(report: Report) -> Group:
    """Return property | problems | outcome, then the failures, then the verdict."""
    table = Table.of(
        (
            {
                "property": outcome.name,
                "problems": len(outcome.tried),
                "not judged": str(len(outcome.unsupported) or ""),
                "outcome": Cell(outcome.result, style=_COLOURS[outcome.result]),
            }
            for outcome in report.outcomes
        ),
        _COLUMNS,
    )
    reasons = dict.fromkeys(text for o in report.outcomes for text in o.unsupported.values())
    refusals = [Text(f"– {reason}", style="dim") for reason in reasons]
    sentences = [Text(f"✗ {sentence}") for sentence in report.sentences]
    found = most_frequent(report.diagnoses)
    diagnosis = [Text(f"Diagnosis, from {found[0]} answers: {found[1].text}.")] if found else []
    left = sum(o.result == "not run" for o in report.outcomes)
    failed = f"{len(report.failed)} of {len(report.outcomes)} properties failed"
    why = failed + f", {left} were not run" * (left > 0)
    if not report.failed and not report.solved_something:
        why = "it solved nothing"
    outcome = Text(f"{report.solver} does not conform: {why}", style="bold red")
    if report.passed:
        outcome = Text(f"{report.solver} conforms", style="bold green")
    return Group(table, *refusals, *sentences, *diagnosis, outcome)


def to_json(report: Report) -> dict[str, Any]:
    """Return the same as plain values, which `dualgap selftest --json` prints."""
    found = most_frequent(report.diagnoses)
    return {
        "solver": report.solver,
        "passed": report.passed,
        "properties": [
            {
                "name": outcome.name,
                "result": outcome.result,
                "problems": outcome.tried,
                "unsupported": dict(outcome.unsupported),
                "sentences": outcome.sentences,
                "killed": outcome.hung,
            }
            for outcome in report.outcomes
        ],
        "sentences": report.sentences,
        "diagnosis": found[1].text if found else None,
    }
