"""The table of a selftest, and one sentence per failure."""

from rich.console import Group
from rich.text import Text

from dualgap.experiments.selftest.outcome import Report, not_supported
from dualgap.experiments.tables.table import Cell, Column, Table
from dualgap.problems.answers.diagnosis import most_frequent

_COLOURS = {"passed": "green", "failed": "bold red", "unsupported": "dim"}
_COLUMNS = {
    "property": Column("property", align="words"),
    "problems": Column("problems"),
    "not judged": Column("not judged"),
    "outcome": Column("outcome", align="left"),
}


def to_terminal(report: Report) -> Group:
    """Return the table of properties, then the failures, then the verdict."""
    table = Table.of(
        (
            {
                "property": outcome.name,
                "problems": len(outcome.attempted),
                "not judged": str(len(outcome.unsupported) or ""),
                "outcome": Cell(outcome.result, style=_COLOURS[outcome.result]),
            }
            for outcome in report.outcomes
            if outcome.result != "not run"
        ),
        _COLUMNS,
    )
    families = {not_supported(name) for o in report.outcomes for name in o.families}
    reasons = dict.fromkeys(text for o in report.outcomes for text in o.unsupported.values())
    refusals = [Text(f"– {text}", style="dim") for text in reasons if text not in families]
    sentences = [Text(f"✗ {text}") for text in report.sentences if text not in report.not_tried]
    diagnosis = [Text(text)] if (text := _diagnosis(report)) else []
    failed = f"{len(report.failed)} of {len(report.outcomes)} properties failed"
    summary = ", and ".join((failed, *report.not_tried))
    if not report.failed and not report.solved_something:
        summary = "it solved nothing"
    outcome = Text(f"{report.solver} does not conform: {summary}", style="bold red")
    if report.passed:
        outcome = Text(f"{report.solver} conforms", style="bold green")
    return Group(table, *refusals, *sentences, *diagnosis, outcome)


def _diagnosis(report: Report) -> str:
    """Return the most frequent diagnosis with its first problem, or an empty string."""
    if not (result := most_frequent(report.diagnoses)):
        return ""
    count, problem, diagnosis = result
    answers = f"{count} answers" if count > 1 else "one answer"
    return f"Diagnosis, from {answers}: on {problem}, {diagnosis.text}."
