"""Readable names of problems and solvers, made from their specifications; names are never parsed.

The specification of a problem is a mapping with its formulation, dataset, parameters and path (see
`files.specs.ProblemSpec`), stored as JSON in the column `problem`.

The labels of solvers are decided when an experiment is planned: short but distinct. A label is the
solver's name, or that of its entry in the experiment file, with the settings in which entries of the
same name differ. A series is the label without the settings that trade time for accuracy: nominal
tolerances are not comparable between solvers, so runs that differ only in these are one series.
"""

import json
from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Any, NamedTuple, cast

from dualgap.solvers import SOLVERS

Spec = Mapping[str, Any]  # {"name": ..., setting: value}
_WITHOUT_INTERCEPT = ("hinge_erm", "regularized_erm")  # formulations that have none by default
ACCURACY = ("tol", "gap", "epochs")  # in the order in which tables prefer them
ITERATION_LIMIT = "max_iter"  # of a solver; limits that were not reached do not distinguish solvers
_NOT_IN_SERIES = frozenset({*ACCURACY, ITERATION_LIMIT})
Solvers = Mapping[str, Spec]  # by label: {"name": ..., "settings": {...}, "series": ...}


def value_text(value: Any) -> str:
    """Return a setting as text: numbers with at most 12 digits, integers without a decimal point."""
    if isinstance(value, dict) and "name" in value:
        return kernel_text(cast("Spec", value))
    return f"{value:.12g}" if isinstance(value, float) else str(value)


def targets_above(smallest: float) -> list[float]:
    """Return the relative gaps at which solvers are compared, down to `smallest`."""
    return [target for target in (1e-3, 1e-6, 1e-9) if target > smallest] + [smallest]


def settings_text(name: str, settings: Spec) -> str:
    """Return `name(setting=value, ...)`."""
    inside = ", ".join(f"{key}={value_text(value)}" for key, value in settings.items())
    return f"{name}({inside})" if inside else name


def kernel_text(spec: Spec | None) -> str:
    """Return a kernel or loss as text, such as `rbf(gamma=0.01)`; a missing kernel is linear."""
    kernel = {"name": "linear"} if spec is None else spec
    return settings_text(kernel["name"], {k: v for k, v in kernel.items() if k != "name"})


def path_text(path: Spec) -> str:
    """Return a path as text, such as `C=0.01..100`; empty if there is none."""
    return f"{path['parameter']}={path['low']:.12g}..{path['high']:.12g}" if path else ""


def dataset_text(dataset: Spec) -> str:
    """Return the name of a data set; for a file or a problem of a collection, the name of that."""
    path = dataset.get("path", dataset.get("problem"))
    return dataset["name"] if path is None else str(path).replace("\\", "/").split("/")[-1]


def problem_words(
    problems: Iterable[Spec], leave_out: Set[str] = frozenset()
) -> list[tuple[str, ...]]:
    """Return the words of each problem's name, the name of its data set first.

    Options of a data set appear where data sets of the same name differ in them, and an intercept where
    it is not the formulation's default.

    Parameters
    ----------
    leave_out : keys of specifications, data sets and parameters to omit.
    """
    problems = list(problems)
    first: dict[str, Spec] = {}
    differing: dict[str, set[str]] = {}
    for options in (problem["dataset"] for problem in problems):
        reference = first.setdefault(dataset_text(options), options)
        varying = {k for k in {**reference, **options} if reference.get(k) != options.get(k)}
        differing.setdefault(dataset_text(options), set()).update(varying - leave_out)
    names = list[tuple[str, ...]]()
    for problem in problems:
        dataset, formulation = problem["dataset"], problem["formulation"]
        name = dataset_text(dataset)
        words = [settings_text(name, {k: v for k, v in dataset.items() if k in differing[name]})]
        words += [formulation] * ("formulation" not in leave_out)
        values = {k: v for k, v in problem["parameters"].items() if k not in leave_out}
        words += [kernel_text(values.pop(part)) for part in ("kernel", "loss") if part in values]
        if values.get("intercept") == (formulation not in _WITHOUT_INTERCEPT):
            del values["intercept"]
        words += [f"{key}={value_text(value)}" for key, value in values.items()]
        if path := problem["path"]:
            words.append(f"path {path_text(path)} gap={path['gap']:.12g}")
        names.append(tuple(words))
    return names


def problem_names(problems: Iterable[Spec]) -> list[str]:
    """Return a readable name for each problem; different problems have different names."""
    return list(map(" ".join, problem_words(problems)))


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
