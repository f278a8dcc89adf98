"""The caption of a table: its numbers, the target gap, the meaning of bold, and the machine."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from experiments.analysis.labels import common_words
from experiments.analysis.noise import FEWEST
from experiments.analysis.outcomes import FINAL, NOT_RUN
from experiments.output.text import machine_text
from experiments.paper.values import VALUES
from experiments.store.manifest import StoreError, read_manifest


def values_text(names: Iterable[str], results: pd.DataFrame, target: float | None) -> str:
    """Return what the numbers are, of how many runs, and to what gap answers are certified."""
    words = "; ".join(VALUES[name].words for name in names)
    most = int(results["repetition"].max()) + 1
    medians = f"medians of {most} runs" if most > 1 else "of single runs"
    gaps = sorted(results["target_gap"].unique()) if target is None else [target]
    accepted = ", ".join(f"{gap:g}" for gap in gaps)
    cheapest = "" if target is None else ", at the cheapest tolerance that reaches it"
    return (
        f"{words[0].upper()}{words[1:]}, {medians}. "
        f"Solved: certified relative gap at most {accepted}{cheapest}."
    )


def common_text(problems: Sequence[str]) -> Iterator[str]:
    """Yield what the names of the rows leave out, as all problems have it."""
    words = common_words(problems)
    if words:
        yield f"All problems: {' '.join(words)}."


def bold_text(any_won: bool, unknown: int) -> Iterator[str]:
    """Yield what bold means, and of how many problems the noise is not known."""
    if any_won:
        yield (
            "Bold: the fastest that solved the problem, and all whose times are within the noise of "
            "it (95 % interval of the ratio of medians, or A/A pairs)."
        )
    if unknown:
        of = f"of {unknown} problems" if any_won else "of these times"
        yield f"The noise {of} is not known (fewer than {FEWEST} runs): none is bold there."


def signs_text(entries: pd.DataFrame) -> Iterator[str]:
    """Yield what stands in place of the times of those that did not solve a problem."""
    unsolved = entries[~entries["outcome"].isin(FINAL)]
    impossible = unsolved["outcome"].isin(NOT_RUN)
    near = ~impossible & (unsolved["outcome"] != "wrong") & np.isfinite(unsolved["worst_gap"])
    if near.any():
        yield "≈: not solved, with the relative gap that was reached."
    if impossible.any():
        yield "–: the solver cannot take this problem, or is not installed."


def machine(folder: Path, results: pd.DataFrame) -> Iterator[str]:
    """Yield where it was measured, and with how many threads."""
    try:
        manifest = read_manifest(folder)
    except StoreError:  # benchmarks that were published together have one each
        return
    *described, _versions = machine_text([manifest], results)
    yield from described
