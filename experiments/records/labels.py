"""Labels of solvers, as tables and figures print them: short, and still distinct."""

import json
from collections.abc import Mapping, Sequence, Set
from typing import Any, NamedTuple

from dualgap.experiments.records.names import AA_REPEAT, value_text
from dualgap.solvers import SOLVERS


class SolverEntry(NamedTuple):
    """What a run says of its solver.

    Attributes
    ----------
    settings : as JSON. label : the experiment file's own, or empty.
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
    """Return each entry's label, else its solver, with the settings that distinguish those of that name.

    Entries that differ only in the seed or in the settings in `leave_out` share a label. The second run
    of an A/A pair is marked, unless `leave_out` contains the mark.

    Parameters
    ----------
    seed_counts : for each entry the number of its seeds, which is shown if there are several.
    """
    settings: dict[SolverEntry, dict[str, Any]] = {
        entry: json.loads(entry.settings) for entry in dict.fromkeys(entries)
    }
    tails = {entry.solver: entry.solver.rsplit("/", 1)[-1] for entry in settings}
    used = list(tails.values())  # a file's own name, unless two files share it
    short = {solver: tail if used.count(tail) == 1 else solver for solver, tail in tails.items()}
    names = {entry: entry.label or short[entry.solver] for entry in settings}
    keys = {
        name: _distinguishing(
            [settings[entry] for entry in settings if names[entry] == name], {"seed", *leave_out}
        )
        for name in set(names.values())
    }
    counts = dict(zip(reversed(entries), reversed(seed_counts), strict=False))  # the first of each
    labels: dict[SolverEntry, str] = {}
    for entry, name in names.items():
        shown = {key: settings[entry].get(key) for key in keys[name]}
        texts = _setting_texts(entry.solver, shown)
        texts += [f"{count} seeds" for count in [counts.get(entry, 1)] if count > 1]
        texts += [AA_REPEAT] * (entry.is_repeat and AA_REPEAT not in leave_out)
        labels[entry] = f"{name} ({', '.join(texts)})" if texts else name
    return [labels[entry] for entry in entries]


def _distinguishing(settings: list[dict[str, Any]], leave_out: Set[str]) -> list[str]:
    """Return the first settings that distinguish all variants."""
    chosen: list[str] = []
    known = 1
    for key in settings[0]:
        variants = {repr([s.get(k) for k in (*chosen, key)]) for s in settings}
        if key not in leave_out and len(variants) > known:
            chosen.append(key)
            known = len(variants)
    return chosen


def _setting_texts(solver: str, settings: Mapping[str, Any]) -> list[str]:
    """Return settings as texts, a text value without its key, and no switch that is so by default."""
    default = SOLVERS.get(solver)
    return [
        value if isinstance(value, str) else f"{key}={value_text(value)}"
        for key, value in settings.items()
        if not (isinstance(value, bool) and getattr(default, key, None) is value)
    ]
