"""Labels of solvers in tables and figures, decided when an experiment is planned: short but distinct.

A label is the solver's name, or that of its entry in the experiment file, with the settings in which
entries of the same name differ. A series is the label without the settings that trade time for accuracy:
nominal tolerances are not comparable between solvers, so runs that differ only in these are one series.
"""

import json
from collections.abc import Mapping, Sequence, Set
from typing import NamedTuple

from dualgap.experiments.records.names import Spec, value_text
from dualgap.solvers import SOLVERS

ACCURACY = ("tol", "gap", "epochs")  # in the order in which tables prefer them
ITERATION_LIMIT = "max_iter"  # of a solver; limits that were not reached do not distinguish solvers
_NOT_IN_SERIES = frozenset({*ACCURACY, ITERATION_LIMIT})
Solvers = Mapping[str, Spec]  # by label: {"name": ..., "settings": {...}, "series": ...}


class SolverEntry(NamedTuple):
    """A solver with its settings, except for its seed and a setting that is searched.

    Attributes
    ----------
    label : name in tables, empty for that of the solver. seeds : number of seeds per repetition.
    """

    name: str
    settings: Spec
    label: str = ""
    seeds: int = 1


def labels_of(entries: Sequence[SolverEntry], leave_out: Set[str] = frozenset()) -> list[str]:
    """Return each entry's label, or else its name, with the settings that distinguish equal ones.

    Entries that differ only in the settings in `leave_out` share a label.
    """
    tails = {entry.name: entry.name.rsplit("/", 1)[-1] for entry in entries}
    used = list(tails.values())  # the file name, unless two files share it
    short = {name: tail if used.count(tail) == 1 else name for name, tail in tails.items()}
    names = [entry.label or short[entry.name] for entry in entries]
    settings = [{k: v for k, v in e.settings.items() if k not in leave_out} for e in entries]
    groups: dict[str, list[Spec]] = {}
    for name, values in zip(names, settings, strict=True):
        groups.setdefault(name, []).append(values)
    keys = {name: _distinguishing(group) for name, group in groups.items()}
    labels = list[str]()
    for entry, name, values in zip(entries, names, settings, strict=True):
        chosen = {key: values[key] for key in keys[name] if key in values}
        texts = _setting_texts(entry.name, chosen)
        texts += [f"{entry.seeds} seeds"] * (entry.seeds > 1)
        labels.append(with_remarks(name, *texts))
    return labels


def labels_and_series(entries: Sequence[SolverEntry]) -> list[tuple[str, str]]:
    """Return the label and the series of each entry."""
    return list(zip(labels_of(entries), labels_of(entries, _NOT_IN_SERIES), strict=True))


def solver_key(solver: Spec) -> str:
    """Return the identity of a solver in a results folder: its name and settings, as text."""
    return json.dumps([solver["name"], solver["settings"]], sort_keys=True, default=str)


def joined_solvers(old: Solvers, new: Solvers) -> dict[str, Spec]:
    """Return the solvers of two plans; those of `old` keep their labels and series.

    One of `new` whose label means another solver in `old` gets the settings in which they differ.
    """
    plans = [*new.items(), *old.items()]
    solvers = {solver_key(each): (label, each) for label, each in plans}
    entries = [
        (SolverEntry(each["name"], each["settings"], label), each["series"])
        for label, each in solvers.values()
    ]
    labels = labels_of([entry for entry, _ in entries])
    series = labels_of([entry._replace(label=text) for entry, text in entries], _NOT_IN_SERIES)
    unchanged = {solver_key(each) for each in old.values()}
    renamed = zip(solvers.items(), labels, series, strict=True)
    return {**old} | {
        label: {**each, "series": text}
        for (key, (_, each)), label, text in renamed
        if key not in unchanged
    }


def with_remarks(name: str, *remarks: str) -> str:
    """Return `name (remark, ...)`, within the parentheses that the name may end with."""
    inside = ", ".join(filter(None, remarks))
    if not inside:
        return name
    return f"{name[:-1]}, {inside})" if name.endswith(")") else f"{name} ({inside})"


def _distinguishing(settings: Sequence[Spec]) -> list[str]:
    """Return the first settings that distinguish all variants."""
    chosen: list[str] = []
    count = 1
    for key in dict.fromkeys(key for values in settings for key in values):
        variants = {repr([values.get(k) for k in (*chosen, key)]) for values in settings}
        if len(variants) > count:
            chosen.append(key)
            count = len(variants)
    return chosen


def _setting_texts(solver: str, settings: Spec) -> list[str]:
    """Return settings as texts: strings without their key, no flags that have their default."""
    default = SOLVERS.get(solver)
    return [
        value if isinstance(value, str) else f"{key}={value_text(value)}"
        for key, value in settings.items()
        if not (isinstance(value, bool) and getattr(default, key, None) is value)
    ]
