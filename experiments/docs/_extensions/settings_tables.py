"""Every setting of an experiment file: its type, default and meaning, from the classes that read it.

A meaning is in the class's docstring (Attributes or Parameters), or in `COMMON` for what many classes
share; a name in the first sentence of its class, a formula mostly, is explained by that.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields
from types import UnionType
from typing import Annotated, Any, NamedTuple, Union, get_args, get_origin, get_type_hints

from docstrings import INLINE, escape

from experiments.files import catalogue
from experiments.files.catalogue import first_sentence
from experiments.files.experiment import ExperimentFile
from experiments.files.settings import Option, options_of, type_text
from experiments.files.specs import plain
from problems import Kernel, datasets

COMMON = {
    "C": "Weight of the slacks: the larger, the more a mistake costs.",
    "lam": "Weight of the ridge (lam/2)‖w‖²; C = 1/(n·lam).",
    "epsilon": "Half-width of the tube, in which errors cost nothing.",
    "kernel": "A kernel: its name, or a mapping with its name and settings.",
    "left": "The kernel k1.",
    "right": "The kernel k2.",
    "loss": "A loss: its name, or a mapping with its name and settings.",
    "intercept": "Whether f has a constant b, which is not regularised.",
    "length": "Number of samples in each sequence.",
    "n": "Number of samples.",
    "normalize": "Whether every sample is scaled to norm 1 in feature space.",
    "seed": "Seed of everything that is drawn at random.",
}
HEADS = ("setting", "type", "default", "meaning")
_SECTION = re.compile(r"^(?:Attributes|Parameters)\n-{4,}\n((?:(?!.*\n-{4,}).*\n?)*)", re.MULTILINE)
_ENTRY = re.compile(r"^(\w+(?:, \w+)*)(?: : |\n(?= ))", re.MULTILINE)


class Setting(NamedTuple):
    """One row of a table."""

    name: str
    type: str
    default: str
    meaning: str


class Entry(NamedTuple):
    """One name of an experiment file, the sentence on it, and its settings."""

    name: str
    about: str
    settings: list[Setting]


def file_keys() -> list[Setting]:
    """Return the keys of an experiment file itself."""
    hints = get_type_hints(ExperimentFile, include_extras=True)
    found: list[Setting] = []
    for name, field in ExperimentFile.model_fields.items():
        default = "required" if field.is_required() else _shown(field.default)
        found.append(
            Setting(name, _words(hints[name]), default, _sentence(f"{field.description}."))
        )
    return found


def entries(kind: str) -> Iterator[Entry]:
    """Yield every name of one kind with its settings; published data sets have only the common ones."""
    if kind == "datasets":
        yield _entry("all data sets", datasets.Source, options_of(datasets.Source))
    for entry in catalogue.entries(kind):
        if entry.cls is not datasets.Published:
            yield _entry(entry.name, entry.cls, entry.own)


def _entry(name: str, cls: type, options: Mapping[str, Option]) -> Entry:
    return Entry(name, first_sentence(cls), _settings(cls, options))


def table(settings: Iterable[Setting], heads: tuple[str, ...] = HEADS) -> str:
    """Return a table of settings in reStructuredText."""
    lines = [
        ".. list-table::",
        "   :header-rows: 1",
        "   :class: settings",
        "   :widths: 15 20 15 50",
    ]
    for first, *others in [heads, *([f"``{s.name}``", *map(escape, s[1:])] for s in settings)]:
        lines += ["", f"   * - {first}", *(f"     - {cell}" for cell in others)]
    return "\n".join([*lines, ""])


def _settings(cls: type, options: Mapping[str, Option]) -> list[Setting]:
    explained = meanings(cls)
    ranges = {field.name: field.metadata.get("range") for field in fields(cls)}
    return [
        Setting(
            name,
            _accepted(name, option.type, ranges[name]),
            "required" if option.required else _shown(option.default),
            explained.get(name, ""),
        )
        for name, option in options.items()
    ]


def _accepted(name: str, hint: Any, known: str | None) -> str:
    """Return a phrase on the values that a field takes."""
    if name in ("C", "loss"):  # wider in Python than in a file
        return {"C": "a number", "loss": "a loss"}[name]
    return str(known or _words(hint)).replace("None", "null")


def meanings(cls: type) -> dict[str, str]:
    """Return what the settings of a class mean, by name."""
    sentence = first_sentence(cls)
    found = {
        name: "As above." for name in options_of(cls) if re.search(rf"\b{name}\b", sentence)
    } | COMMON
    for base in reversed(cls.__mro__):
        for section in _SECTION.findall(inspect.cleandoc(base.__dict__.get("__doc__") or "")):
            _, *parts = _ENTRY.split(INLINE.sub(r"\n\1 : ", section))
            for names, text in zip(parts[::2], parts[1::2], strict=True):
                found |= dict.fromkeys(names.split(", "), _sentence(" ".join(text.split())))
    return found


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def _words(hint: Any) -> str:
    """Return what values a type stands for, as a reader of YAML would say it."""
    if get_origin(hint) is Annotated:
        return _words(get_args(hint)[0])
    if hint is Kernel:
        return "a kernel"
    if get_origin(hint) in (list, tuple):
        return "a list"
    if get_origin(hint) in (Union, UnionType):
        return " or ".join(dict.fromkeys(map(_words, get_args(hint))))
    return type_text(hint)


def _shown(value: Any) -> str:
    value = plain(value)
    if value is None:
        return "null"
    if isinstance(value, dict):
        return str(value["name"])
    return str(value).lower() if isinstance(value, bool) else str(value)
