"""Labels of solvers in tables and figures: short but distinct."""

import json
from collections.abc import Mapping, Sequence, Set
from typing import Any, NamedTuple

from dualgap.experiments.records.names import AA_REPEAT, value_text
from dualgap.solvers import SOLVERS


class SolverEntry(NamedTuple):
    """Solver, settings and label of a run.

    Attributes
    ----------
    settings : as JSON. label : from the experiment file, or empty.
    is_repeat : whether it is the second run of an A/A pair.
    """

    solver: str
    settings: str
    label: str = ""
    is_repeat: bool = False


def labels_of(
    entries: Sequence[SolverEntry],
    leave_out: Set[str] = frozenset(),
    seed_counts: Sequence[int] = (),
) -> list[str]:
    """Return each entry's label, or else its solver, with the settings that distinguish equal names.

    Entries that differ only in the seed or in the settings in `leave_out` share a label. The second run
    of an A/A pair is marked, unless `leave_out` contains the mark.

    Parameters
    ----------
    seed_counts : number of seeds of each entry, shown if above 1.
    """
    settings: dict[SolverEntry, dict[str, Any]] = {
        entry: json.loads(entry.settings) for entry in dict.fromkeys(entries)
    }
    tails = {entry.solver: entry.solver.rsplit("/", 1)[-1] for entry in settings}
    used = list(tails.values())  # the file name, unless two files share it
    short = {solver: tail if used.count(tail) == 1 else solver for solver, tail in tails.items()}
    names = {entry: entry.label or short[entry.solver] for entry in settings}
    keys = {
        name: _distinguishing(
            [settings[entry] for entry in settings if names[entry] == name], {"seed", *leave_out}
        )
        for name in set(names.values())
    }
    # at each entry's first run
    counts = dict(zip(reversed(entries), reversed(seed_counts), strict=False))
    labels: dict[SolverEntry, str] = {}
    for entry, name in names.items():
        selected = {key: settings[entry].get(key) for key in keys[name]}
        texts = _setting_texts(entry.solver, selected)
        texts += [f"{count} seeds" for count in [counts.get(entry, 1)] if count > 1]
        texts += [AA_REPEAT] * (entry.is_repeat and AA_REPEAT not in leave_out)
        labels[entry] = f"{name} ({', '.join(texts)})" if texts else name
    return [labels[entry] for entry in entries]


def _distinguishing(settings: list[dict[str, Any]], leave_out: Set[str]) -> list[str]:
    """Return the first settings that distinguish all variants."""
    chosen: list[str] = []
    count = 1
    for key in settings[0]:
        variants = {repr([s.get(k) for k in (*chosen, key)]) for s in settings}
        if key not in leave_out and len(variants) > count:
            chosen.append(key)
            count = len(variants)
    return chosen


def _setting_texts(solver: str, settings: Mapping[str, Any]) -> list[str]:
    """Return settings as texts: strings without their key, no flags that have their default."""
    default = SOLVERS.get(solver)
    return [
        value if isinstance(value, str) else f"{key}={value_text(value)}"
        for key, value in settings.items()
        if not (isinstance(value, bool) and getattr(default, key, None) is value)
    ]
