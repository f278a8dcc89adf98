"""The changes of each solver on each problem, for the terminal."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from rich.console import Group
from rich.text import Text

from dualgap.experiments.analysis.compare import CHANGES, REGRESSIONS, Change, regressed
from dualgap.experiments.analysis.noise import MARK, compare
from dualgap.experiments.store.manifest import differences
from dualgap.experiments.tables.formats import duration
from dualgap.experiments.tables.table import Cell, Column, Table

_FREQUENCY_RTOL = 0.1  # smaller differences between sessions are not worth a remark
_UNLISTED = ("same", "unclear")  # counted, but not listed
_IMPROVEMENTS = ("faster", "solved", "mended")
_COLUMNS = {
    "change": Column("change", align="words"),
    "what": Column("solver and problem", align="words"),
    "outcome": Column("outcome", align="words"),
    "gap": Column("gap", align="left", drop_priority=1),
    "time": Column("time", align="left", drop_priority=2),
    "ratio": Column("ratio", align="left"),
}
_SOLVERS = {
    "solver": Column("solver", align="words"),
    "ratio": Column("ratio", align="left"),
    "compared": Column("compared"),
    "changes": Column("changes", align="words"),
}
_NOT_COMPARED = ("other data", "missing", "new")


def to_terminal(changes: Sequence[Change], old: Mapping[str, Any], new: Mapping[str, Any]) -> Group:
    """Return the changes, a summary per solver, and how the two folders differ.

    Parameters
    ----------
    old, new : the manifests of the first and the second folder.
    """
    listed = [change for change in changes if change.change not in _UNLISTED]
    table = Table.of(_rows(listed), _COLUMNS, "What changed")
    parts: list[Any] = [table, ""] if listed else []
    sums: list[dict[str, str]] = []
    for solver in sorted({change.solver for change in changes}):
        group = [change for change in changes if change.solver == solver]
        pairs = [change.samples for change in group if not np.isnan(change.comparison.ratio)]
        counts = {"compared": str(len(pairs)), "changes": _counts_text(group)}
        sums.append({"solver": solver, "ratio": str(compare(pairs))} | counts)
    title = "By solver: geometric mean of the ratios of times, second folder over first"
    parts += [Table.of(sums, _SOLVERS, title), "", *_notes(changes, old, new), ""]
    if not changes:
        return Group(*parts, Text("nothing to compare", style="bold"))
    message, colour = "nothing became wrong, unsolved or broken", "green"
    if all(change.change in _NOT_COMPARED for change in changes):
        message, colour = "nothing could be compared", "yellow"
    elif regressed(changes):
        message, colour = "WORSE", "red"
    return Group(*parts, Text(f"{message}: {_counts_text(changes)}", style=f"bold {colour}"))


def to_json(
    changes: Sequence[Change], old: Mapping[str, Any], new: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the changes as plain values."""
    fields = ("change", "problem", "solver", "before", "after", "gaps", "times")
    return {
        "worse": regressed(changes),
        "changes": [
            {name: getattr(change, name) for name in fields}
            | {name: getattr(change.comparison, name) for name in ("ratio", "low", "high")}
            for change in changes
        ],
        "notes": [note.plain for note in _notes(changes, old, new)],
    }


def _rows(changes: Sequence[Change]) -> Iterator[dict[str, str | Cell]]:
    """Yield one row per change; without a comparison, one per solver or problem."""
    groups: dict[Change | tuple[str, str], list[Change]] = {}
    for change in changes:
        shared = change.problem if change.change == "other data" else change.solver
        compared = change.change not in _NOT_COMPARED
        groups.setdefault(change if compared else (change.change, shared), []).append(change)
    for first, *further in groups.values():
        subject = [first.solver, first.problem]
        if further:
            several = 0 if first.change == "other data" else 1
            subject[several] = f"{len(further) + 1} {('solvers', 'problems')[several]}"
        same = all((c.before, c.after) == (first.before, first.after) for c in further)
        gaps = [f"{gap:.1e}" if np.isfinite(gap) else "" for gap in first.gaps]
        worse, better = first.change in REGRESSIONS, first.change in _IMPROVEMENTS
        yield {
            "change": Cell(first.change, style="red" if worse else "green" if better else "yellow"),
            "what": " on ".join(subject),
            "outcome": _arrow(first.before, first.after) if same else "",
            "gap": _arrow(*gaps),
            "time": _arrow(*map(duration, first.times)),
            "ratio": str(first.comparison),
        }


def _arrow(before: str, after: str) -> str:
    return before if before == after else f"{before or '–'} → {after or '–'}"


def _counts_text(changes: Sequence[Change]) -> str:
    """Return how often each change occurs, worst first."""
    counts = Counter(change.change for change in changes)
    return ", ".join(f"{counts[word]} {word}" for word in CHANGES if counts[word])


def _notes(changes: Sequence[Change], old: Mapping[str, Any], new: Mapping[str, Any]) -> list[Text]:
    kinds = {change.change for change in changes}
    notes = [f"{word}: {text}." for word, text in CHANGES.items() if word in kinds]
    if intervals := sum(not np.isnan(change.comparison.low) for change in changes):
        notes.append(
            f"{MARK}: 1 is inside the 95 % interval, or an A/A pair differs as much. Of the "
            f"{intervals} intervals, one in twenty misses the true ratio by chance."
        )
    if left_out := sum(change.change in ("wrong", "unsolved") for change in changes):
        notes.append(
            f"Ratios of times exclude the {left_out} that became wrong or unsolved, however fast."
        )
    notes += [f"The folders differ: {text}." for text in differences(old, new)]
    if old["host"] != new["host"]:
        notes.append(f"The folders were measured on different hosts: {old['host']}, {new['host']}.")
    settings = _changed_conditions(old.get("provenance", []), new.get("provenance", []))
    warnings = [Text(f"Measured differently: {text}.", style="yellow") for text in settings]
    return [*warnings, *(Text(note, style="dim") for note in notes)]


def _changed_conditions(
    old: Sequence[Mapping[str, Any]], new: Sequence[Mapping[str, Any]]
) -> list[str]:
    """Return one phrase per condition that differs between the sessions of two folders.

    Folders of earlier releases, which do not record conditions, never differ.
    """
    labels = {"git": "commit", "blas": "BLAS", "environment": "environment variables"}
    differences: list[str] = []
    for key in ("git", "blas", "environment", "governor", "container") if old and new else ():
        before, now = ({_value_text(each.get(key)) for each in sessions} for sessions in (old, new))
        if before != now:
            texts = (" and ".join(sorted(values)) for values in (before, now))
            differences.append(f"{labels.get(key, key)}: {' against '.join(texts)}")
    clocks = [
        [
            each[key]
            for each in sessions
            for key in ("frequency", "frequency_after")
            if each.get(key)
        ]
        for sessions in (old, new)
    ]
    if all(clocks):
        before, now = (sum(each) / len(each) for each in clocks)
        if abs(now - before) > _FREQUENCY_RTOL * before:
            differences.append(f"processor's clock: {before:.0f} MHz against {now:.0f} MHz")
    return differences


def _value_text(value: Any) -> str:
    """Format a value of `provenance`."""
    if isinstance(value, dict):
        if "commit" in value:
            return f"{value['commit'][:10]}{' with changes' * bool(value['dirty'])}"
        return " ".join(f"{k}={v}" for k, v in value.items()) or "none"
    if isinstance(value, list):
        pools = (
            f"{p['library']} {p['version']} on {p['threads']} thread{'s' * (p['threads'] != 1)}"
            for p in value
        )
        return ", ".join(sorted(pools)) or "none"  # sorted, as the load order varies
    return str(value or "unknown")
