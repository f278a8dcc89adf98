"""How each solver on each problem has changed, for the terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from rich.console import Group
from rich.text import Text

from experiments.analysis.compare import CHANGES, REGRESSIONS, Change, regressed
from experiments.analysis.noise import MARK, Comparison, compare
from experiments.output.text import FittingTable, duration
from experiments.store.manifest import differences

_UNLISTED = ("same", "unclear")  # counted, but not listed
_GOOD = ("faster", "solved", "mended")
_HEADS = ("change", "problem", "solver", "outcome", "gap", "time", "ratio")
_WORDS = ("change", "problem", "solver", "outcome")
_NOT_COMPARED = ("other data", "missing", "new")


def to_terminal(changes: Sequence[Change], old: Mapping[str, Any], new: Mapping[str, Any]) -> Group:
    """Return what changed, a sum for each solver, and how the two folders differ.

    Parameters
    ----------
    old, new : the manifests of the first and the second folder.
    """
    listed = [change for change in changes if change.change not in _UNLISTED]
    rows = map(_cells, _joined(listed))
    table = FittingTable(_HEADS, rows, _HEADS, "What changed", words=_WORDS)
    parts: list[Any] = [table, ""] if listed else []
    parts += [_by_solver(changes), "", *_notes(changes, old, new), "", _sentence(changes)]
    return Group(*parts)


def _joined(changes: Sequence[Change]) -> list[Change]:
    """Return the changes, with those where nothing was compared as one a solver, or a problem."""
    groups: dict[Change | tuple[str, str], list[Change]] = {}
    for change in changes:
        shared = change.problem if change.change == "other data" else change.solver
        compared = change.change not in _NOT_COMPARED
        groups.setdefault(change if compared else (change.change, shared), []).append(change)
    return [group[0] if len(group) == 1 else _one(group) for group in groups.values()]


def _one(changes: Sequence[Change]) -> Change:
    first, outcomes = changes[0], {(change.before, change.after) for change in changes}
    before, after = outcomes.pop() if len(outcomes) == 1 else ("", "")
    if first.change == "other data":
        return Change(first.change, first.problem, f"{len(changes)} solvers", before, after)
    return Change(first.change, f"{len(changes)} problems", first.solver, before, after)


def _cells(change: Change) -> list[str | Text]:
    word = change.change
    colour = "red" if word in REGRESSIONS else "green" if word in _GOOD else "yellow"
    gaps = [f"{gap:.1e}" if np.isfinite(gap) else "" for gap in change.gaps]
    return [
        Text(word, style=colour),
        change.problem,
        change.solver,
        _arrow(change.before, change.after),
        _arrow(*gaps),
        _arrow(*map(duration, change.times)),
        _ratio(change.comparison),
    ]


def _arrow(before: str, after: str) -> str:
    return before if before == after else f"{before or '–'} → {after or '–'}"


def _ratio(compared: Comparison) -> str:
    return "" if np.isnan(compared.ratio) else compared.factor + compared.spread


def _by_solver(changes: Sequence[Change]) -> FittingTable:
    """Return for each solver the mean ratio of its times, and how often each change occurs."""
    seen = Counter((change.solver, change.change) for change in changes)
    words = [word for word in CHANGES if any(word == changed for _, changed in seen)]
    rows: list[list[str]] = []
    for solver in sorted({change.solver for change in changes}):
        mine = [change for change in changes if change.solver == solver]
        pairs = [change.samples for change in mine if not np.isnan(change.comparison.ratio)]
        counted = [str(len(pairs)), *(str(seen[solver, word] or "") for word in words)]
        rows.append([solver, _ratio(compare(pairs)), *counted])
    title = "By solver: geometric mean of the ratios of times, second folder over first"
    return FittingTable(["solver", "ratio", "compared", *words], rows, ("solver", "ratio"), title)


def _notes(changes: Sequence[Change], old: Mapping[str, Any], new: Mapping[str, Any]) -> list[Text]:
    seen = {change.change for change in changes}
    notes = [f"{word}: {text}." for word, text in CHANGES.items() if word in seen]
    intervals = sum(not np.isnan(change.comparison.low) for change in changes)
    if intervals:
        notes += [
            f"{MARK}: 1 is inside the 95 % interval, or an A/A pair differs as much. Of the "
            f"{intervals} intervals, one in twenty misses the true ratio by chance."
        ]
    left_out = sum(change.change in ("wrong", "unsolved") for change in changes)
    if left_out:
        notes += [
            f"In no ratio of times: the {left_out} that became wrong or unsolved, however fast."
        ]
    notes += [f"The folders differ: {text}." for text in differences(old, new)]
    if old["host"] != new["host"]:
        notes.append(f"The folders were measured on different hosts: {old['host']}, {new['host']}.")
    return [Text(note, style="dim") for note in notes]


def _sentence(changes: Sequence[Change]) -> Text:
    seen = Counter(change.change for change in changes)
    counted = ", ".join(f"{seen[word]} {word}" for word in CHANGES if seen[word])
    if not counted:
        return Text("nothing to compare", style="bold")
    if all(change.change in _NOT_COMPARED for change in changes):
        return Text(f"nothing could be compared: {counted}", style="bold yellow")
    if regressed(changes):
        return Text(f"WORSE: {counted}", style="bold red")
    return Text(f"nothing became wrong, unsolved or broken: {counted}", style="bold green")
