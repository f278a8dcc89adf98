"""Readable names of problems and solvers, made from their specifications; names are never parsed.

The specification of a problem is a mapping with its formulation, dataset, parameters and path (see
`files.specs.ProblemSpec`), stored as JSON in the column `problem`.
"""

import re
from collections.abc import Iterable, Mapping, Sequence, Set
from difflib import SequenceMatcher
from functools import cache
from typing import Any, cast

Spec = Mapping[str, Any]  # {"name": ..., setting: value}
AA_REPEAT = "A/A"  # marks the second of two identical runs
# between the words of a name, in text and in Markdown
_SEPARATORS = re.compile(r"(?:<br>|[\s=(),/])+")
_MAX_CHOICES = 8  # names in a message: a terminal shows them in a few lines
_WITHOUT_INTERCEPT = ("hinge_erm", "regularized_erm")  # formulations that have none by default


def value_text(value: Any) -> str:
    """Return a setting as text: numbers with at most 12 digits, integers without a decimal point."""
    if isinstance(value, dict) and "name" in value:
        return kernel_text(cast("Spec", value))
    return f"{value:.12g}" if isinstance(value, float) else str(value)


def gap_text(gap: Any) -> str:
    """Return a relative gap or tolerance with as many digits as it needs: 1e-03, 3.2e-02."""
    texts = (f"{gap:.{digits}e}" for digits in range(17))
    return next(text for text in texts if float(text) == gap)


def missed_gap_text(gap: float, digits: int = 1) -> str:
    """Return a gap above a target, rounded up: rounded down, it might equal the target."""
    text = f"{gap:.{digits}e}"
    if float(text) < gap:
        last = 10.0 ** (int(text.partition("e")[2]) - digits)
        text = f"{float(text) + last:.{digits}e}"
    return text


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


def common_words(problems: Sequence[Sequence[str]]) -> list[str]:
    """Return the words after the data set's name that all problems share, in order."""
    first, *remaining = [words[1:] for words in problems]
    return [word for word in first if remaining and all(word in other for other in remaining)]


def distinct_names(problems: Sequence[Sequence[str]]) -> list[str]:
    """Return the problems' names without their shared words, except the data set's name."""
    common = common_words(problems)
    return [" ".join([w[0], *(word for word in w[1:] if word not in common)]) for w in problems]


def same_name(text: str, name: str) -> bool:
    """Whether a text equals a name word by word, for any separators and notation of numbers."""
    return _name_words(text) == _name_words(name)


@cache
def _name_words(name: str) -> tuple[str | float, ...]:
    """Return the words and numbers of a name."""
    words: list[str | float] = []
    for word in filter(None, _SEPARATORS.split(name)):
        try:
            words.append(float(word))
        except ValueError:
            words.append(word)
    return tuple(words)


def choices_text(text: str, names: Iterable[Sequence[str]]) -> str:
    """Return the names that can be chosen, closest to `text` first, up to `_MAX_CHOICES` of them.

    Parameters
    ----------
    names : the names of each case.
    """
    matcher = SequenceMatcher(None, b=text.lower())

    def likeness(name: str) -> float:
        matcher.set_seq1(name.lower())
        return matcher.ratio()

    unique = dict.fromkeys(name for each in names for name in each)
    ordered = sorted(unique, key=likeness, reverse=True)
    choices = [repr(name) for name in ordered[:_MAX_CHOICES]]
    more = len(ordered) - len(choices)
    return f"available, closest first: {', '.join(choices)}{f' and {more} more' if more else ''}"
