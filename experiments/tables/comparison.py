"""How each solver on each problem has changed, for the terminal."""

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
from dualgap.experiments.workers.provenance import differing

_UNLISTED = ("same", "unclear")  # counted, but not listed
_GOOD = ("faster", "solved", "mended")
_COLUMNS = {
    "change": Column("change", side="words"),
    "what": Column("solver and problem", side="words"),
    "outcome": Column("outcome", side="words"),
    "gap": Column("gap", side="left", optional=1),
    "time": Column("time", side="left", optional=2),
    "ratio": Column("ratio", side="left"),
}
_SOLVERS = {
    "solver": Column("solver", side="words"),
    "ratio": Column("ratio", side="left"),
    "compared": Column("compared"),
    "changes": Column("changes", side="words"),
}
_NOT_COMPARED = ("other data", "missing", "new")


def to_terminal(changes: Sequence[Change], old: Mapping[str, Any], new: Mapping[str, Any]) -> Group:
    """Return what changed, a sum for each solver, and how the two folders differ.

    Parameters
    ----------
    old, new : the manifests of the first and the second folder.
    """
    listed = [change for change in changes if change.change not in _UNLISTED]
    table = Table.of(_rows(listed), _COLUMNS, "What changed")
    parts: list[Any] = [table, ""] if listed else []
    sums: list[dict[str, str]] = []
    for solver in sorted({change.solver for change in changes}):
        mine = [change for change in changes if change.solver == solver]
        pairs = [change.samples for change in mine if not np.isnan(change.comparison.ratio)]
        shown = {"compared": str(len(pairs)), "changes": _counted(mine)}
        sums.append({"solver": solver, "ratio": str(compare(pairs))} | shown)
    title = "By solver: geometric mean of the ratios of times, second folder over first"
    parts += [Table.of(sums, _SOLVERS, title), "", *_notes(changes, old, new), ""]
    if not changes:
        return Group(*parts, Text("nothing to compare", style="bold"))
    said, colour = "nothing became wrong, unsolved or broken", "green"
    if all(change.change in _NOT_COMPARED for change in changes):
        said, colour = "nothing could be compared", "yellow"
    elif regressed(changes):
        said, colour = "WORSE", "red"
    return Group(*parts, Text(f"{said}: {_counted(changes)}", style=f"bold {colour}"))


def to_json(
    changes: Sequence[Change], old: Mapping[str, Any], new: Mapping[str, Any]
) -> dict[str, Any]:
    """Return what changed as plain values."""
    shown = ("change", "problem", "solver", "before", "after", "gaps", "times")
    return {
        "worse": regressed(changes),
        "changes": [
            {name: getattr(change, name) for name in shown}
            | {name: getattr(change.comparison, name) for name in ("ratio", "low", "high")}
            for change in changes
        ],
        "notes": [note.plain for note in _notes(changes, old, new)],
    }


def _rows(changes: Sequence[Change]) -> Iterator[dict[str, str | Cell]]:
    """Yield a row for each change; where nothing was compared one for each solver, or problem."""
    groups: dict[Change | tuple[str, str], list[Change]] = {}
    for change in changes:
        shared = change.problem if change.change == "other data" else change.solver
        compared = change.change not in _NOT_COMPARED
        groups.setdefault(change if compared else (change.change, shared), []).append(change)
    for first, *others in groups.values():
        what = [first.solver, first.problem]
        if others:
            several = 0 if first.change == "other data" else 1
            what[several] = f"{len(others) + 1} {('solvers', 'problems')[several]}"
        same = all((c.before, c.after) == (first.before, first.after) for c in others)
        gaps = [f"{gap:.1e}" if np.isfinite(gap) else "" for gap in first.gaps]
        worse, better = first.change in REGRESSIONS, first.change in _GOOD
        yield {
            "change": Cell(first.change, style="red" if worse else "green" if better else "yellow"),
            "what": " on ".join(what),
            "outcome": _arrow(first.before, first.after) if same else "",
            "gap": _arrow(*gaps),
            "time": _arrow(*map(duration, first.times)),
            "ratio": str(first.comparison),
        }


def _arrow(before: str, after: str) -> str:
    return before if before == after else f"{before or '–'} → {after or '–'}"


def _counted(changes: Sequence[Change]) -> str:
    """Return how often each change occurs, the worst first."""
    seen = Counter(change.change for change in changes)
    return ", ".join(f"{seen[word]} {word}" for word in CHANGES if seen[word])


def _notes(changes: Sequence[Change], old: Mapping[str, Any], new: Mapping[str, Any]) -> list[Text]:
    seen = {change.change for change in changes}
    notes = [f"{word}: {text}." for word, text in CHANGES.items() if word in seen]
    if intervals := sum(not np.isnan(change.comparison.low) for change in changes):
        notes.append(
            f"{MARK}: 1 is inside the 95 % interval, or an A/A pair differs as much. Of the "
            f"{intervals} intervals, one in twenty misses the true ratio by chance."
        )
    if left_out := sum(change.change in ("wrong", "unsolved") for change in changes):
        notes.append(
            f"In no ratio of times: the {left_out} that became wrong or unsolved, however fast."
        )
    notes += [f"The folders differ: {text}." for text in differences(old, new)]
    if old["host"] != new["host"]:
        notes.append(f"The folders were measured on different hosts: {old['host']}, {new['host']}.")
    apart = differing(old.get("provenance", []), new.get("provenance", []))
    told = [Text(f"Measured differently: {what}.", style="yellow") for what in apart]
    return [*told, *(Text(note, style="dim") for note in notes)]
