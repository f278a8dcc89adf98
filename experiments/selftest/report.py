"""The table of a selftest, and a sentence for each failure."""

from __future__ import annotations

from typing import Any

from rich import box
from rich.console import Group
from rich.table import Table
from rich.text import Text

from experiments.selftest.outcome import Outcome, Report
from problems.answers.diagnosis import most_frequent

_COLOURS = {"passed": "green", "failed": "bold red", "not run": "yellow", "unsupported": "dim"}


def to_terminal(report: Report) -> Group:
    """Return property | problems | outcome, then the failures, then the verdict."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("property")
    table.add_column("problems", justify="right")
    table.add_column("not judged", justify="right")
    table.add_column("outcome")
    for outcome in report.outcomes:
        colour = _COLOURS[outcome.result]
        counts = str(len(outcome.tried)), str(len(outcome.unsupported) or "")
        table.add_row(outcome.name, *counts, Text(outcome.result, style=colour))
    sentences = [Text(f"✗ {sentence}") for sentence in report.sentences]
    found = most_frequent(report.diagnoses)
    diagnosis = [Text(f"Diagnosis, from {found[0]} answers: {found[1].text}.")] if found else []
    return Group(table, *_refusals(report), *sentences, *diagnosis, verdict(report))


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


def _refusals(report: Report) -> list[Text]:
    """Return each reason for not trying a problem once."""
    reasons = dict.fromkeys(text for o in report.outcomes for text in o.unsupported.values())
    return [Text(f"– {reason}", style="dim") for reason in reasons]


def verdict(report: Report) -> Text:
    """Return the outcome in a sentence."""
    if report.passed:
        return Text(f"{report.solver} conforms", style="bold green")
    if not report.failed and not report.solved_something:
        return Text(f"{report.solver} does not conform: it solved nothing", style="bold red")
    left = sum(o.result == "not run" for o in report.outcomes)
    skipped = f", {left} were not run" if left else ""
    failed = f"{len(report.failed)} of {len(report.outcomes)} properties failed{skipped}"
    return Text(f"{report.solver} does not conform: {failed}", style="bold red")


def line(outcome: Outcome) -> str:
    """Return an outcome in a line, for progress."""
    return f"{outcome.name}: {outcome.result}"
