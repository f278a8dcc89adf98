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
from experiments.paper.values import VALUES, Value
from experiments.store.manifest import StoreError, read_manifest


def caption(
    folder: Path,
    results: pd.DataFrame,
    entries: pd.DataFrame,
    names: Iterable[str],
    unknown: Sequence[str],
    target: float | None,
) -> str:
    """Return the caption of a table.

    Parameters
    ----------
    folder, results : where the runs are, and these.
    entries : what is shown of them; `wins` says which times are bold.
    names : in `VALUES`, of the numbers. unknown : the problems whose noise is not known.
    target : the relative gap that the times are to, if it is not the experiment's.
    """
    values = [VALUES[name] for name in names]
    sentences = _values_text(values, results, entries, target)
    common = common_words([str(problem) for problem in entries["problem"].unique()])
    sentences += [f"All problems: {' '.join(common)}."] if common else []
    if any(value.is_time for value in values):
        sentences += [*_bold_text(entries, len(unknown)), *_signs_text(entries)]
    try:
        *described, _versions = machine_text([read_manifest(folder)], results)
    except StoreError:  # benchmarks that were published together have one each
        described = []
    return " ".join([*sentences, *described])


def _values_text(
    values: Iterable[Value], results: pd.DataFrame, entries: pd.DataFrame, target: float | None
) -> list[str]:
    """Return what the numbers are, of how many runs, and to what gap answers are certified."""
    words = "; ".join(value.words for value in values)
    repeated = int(results["repetition"].max()) + 1
    counts = sorted({int(runs) for runs in entries["runs"]} - {0}) or [repeated]
    several = f"{counts[0]} to {counts[-1]}" if counts[0] < counts[-1] else str(counts[-1])
    medians = f"medians of {several} runs" if counts[-1] > 1 else "of single runs"
    gaps = sorted(results["target_gap"].unique()) if target is None else [target]
    accepted = ", ".join(f"{gap:g}" for gap in gaps)
    cheapest = "" if target is None else ", at the cheapest tolerance that reaches it"
    return [
        f"{words[0].upper()}{words[1:]}, {medians}.",
        f"Solved: certified relative gap at most {accepted}{cheapest}.",
    ]


def _bold_text(entries: pd.DataFrame, unknown: int) -> Iterator[str]:
    """Yield what bold means, and of how many problems the noise is not known."""
    if entries["wins"].any():
        yield (
            "Bold: the fastest that solved the problem, and all whose times are within the noise of "
            "it (95 % interval of the ratio of medians, or A/A pairs)."
        )
    if unknown:
        of = f"of {unknown} problems" if entries["wins"].any() else "of these times"
        yield f"The noise {of} is not known (fewer than {FEWEST} runs): none is bold there."


def _signs_text(entries: pd.DataFrame) -> Iterator[str]:
    """Yield what stands in place of the times of those that did not solve a problem."""
    unsolved = entries[~entries["outcome"].isin(FINAL)]
    impossible = unsolved["outcome"].isin(NOT_RUN)
    near = ~impossible & (unsolved["outcome"] != "wrong") & np.isfinite(unsolved["worst_gap"])
    if near.any():
        yield "≈: not solved, with the relative gap that was reached."
    if impossible.any():
        yield "–: the solver cannot take this problem, or is not installed."
