"""Every setting of an experiment file: its type, default and meaning, from the classes that read it.

A meaning is in the class's docstring (Attributes or Parameters), or in `COMMON` for what many classes
share; a name in the first sentence of its class, a formula mostly, is explained by that.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields
from typing import NamedTuple, get_type_hints

from docstrings import INLINE, escape

from experiments.files import catalogue
from experiments.files.catalogue import Entry, default_text, first_sentence
from experiments.files.keys import ExperimentFile
from experiments.files.settings import options_of, type_text
from problems import datasets

COMMON = {
    "C": "Weight of the slacks: the larger, the more a mistake costs.",
    "lam": "Weight of the ridge (lam/2)‖w‖²; C = 1/(n·lam).",
    "epsilon": "Half-width of the tube, in which errors cost nothing.",
    "nu": "Share of the samples, above 0 and at most 1: at most so many are margin errors, at least so "
    "many support vectors.",
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
_SECTION = re.compile(r"^(?:Attributes|Parameters)\n-{4,}\n((?:(?!.*\n-{4,}).*\n?)*)", re.MULTILINE)
_ENTRY = re.compile(r"^(\w+(?:, \w+)*)(?: : |\n(?= ))", re.MULTILINE)


class Setting(NamedTuple):
    """One row of a table."""

    name: str
    type: str
    default: str
    meaning: str


def file_keys() -> Iterator[Setting]:
    """Yield the keys of an experiment file itself."""
    texts = {
        k: type_text(h) for k, h in get_type_hints(ExperimentFile, include_extras=True).items()
    }
    texts["memory_limit"] = "a size or null"
    for name, field in ExperimentFile.model_fields.items():
        default = "required" if field.is_required() else default_text(field.default)
        yield Setting(name, texts[name], default, _sentence(f"{field.description}."))


def documented(kind: str) -> Iterator[Entry]:
    """Yield every name of one kind, what all data sets take first; published ones have nothing else."""
    if kind == "datasets":
        common, cls = options_of(datasets.Source), datasets.Source
        yield Entry("all data sets", first_sentence(cls), "", common, common, cls)
    yield from (e for e in catalogue.entries(kind) if e.cls is not datasets.Published)


def settings(entry: Entry) -> Iterator[Setting]:
    """Yield the settings of a name that are its own."""
    explained = meanings(entry.cls)
    ranges = {field.name: field.metadata.get("range") for field in fields(entry.cls)}
    wider = {"C": "a number", "loss": "a loss"}  # in Python than in a file
    for name, option in entry.own.items():
        accepted = wider.get(name) or str(ranges[name] or type_text(option.type))
        default = "required" if option.required else default_text(option.default)
        yield Setting(name, accepted.replace("None", "null"), default, explained.get(name, ""))


def settings_table(of: Iterable[Setting], head: str = "setting") -> str:
    """Return a table of settings in reStructuredText."""
    rows = [(f"``{setting.name}``", *setting[1:]) for setting in of]
    heads = (head, "type", "default", "meaning")
    return list_table(rows, heads, ":class: settings", ":widths: 15 20 15 50")


def list_table(rows: Iterable[Sequence[str]], heads: Sequence[str] = (), *options: str) -> str:
    """Return a table in reStructuredText; only the first cell of a row may have markup."""
    every = [heads, *rows] if heads else list(rows)
    lines = [".. list-table::", f"   :header-rows: {int(bool(heads))}"]
    lines += [f"   {option}" for option in options]
    for first, *others in every:
        lines += ["", f"   * - {first}", *(f"     - {escape(cell)}" for cell in others)]
    return "\n".join([*lines, ""])


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
