"""The caption of a table: its numbers, the target gap, the meaning of bold, and the machine."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from experiments.analysis.labels import words_of
from experiments.analysis.noise import FEWEST
from experiments.records.names import common_words
from experiments.records.outcomes import FINAL, NOT_RUN
from experiments.store.manifest import StoreError, read_manifest
from experiments.tables.formats import machine_text
from experiments.tables.values import VALUES


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
    shown = "; ".join(value.words for value in values)
    counts = sorted({int(runs) for runs in entries["runs"]} - {0})
    counts = counts or [int(results["repetition"].max()) + 1]
    several = f"{counts[0]} to {counts[-1]}" if counts[0] < counts[-1] else str(counts[-1])
    medians = f"medians of {several} runs" if counts[-1] > 1 else "of single runs"
    gaps = sorted(results["target_gap"].unique()) if target is None else [target]
    accepted = ", ".join(f"{gap:g}" for gap in gaps)
    cheapest = "" if target is None else ", at the cheapest tolerance that reaches it"
    sentences = [
        f"{shown[0].upper()}{shown[1:]}, {medians}.",
        f"Solved: certified relative gap at most {accepted}{cheapest}.",
    ]
    words = words_of(results)
    if common := common_words([words[str(problem)] for problem in entries["problem"].unique()]):
        sentences.append(f"All problems: {' '.join(common)}.")
    if any(value.is_time for value in values):
        sentences += _signs(entries, len(unknown))
    try:
        *described, _versions = machine_text([read_manifest(folder)], results)
    except StoreError:  # benchmarks that were published together have one each
        described = []
    return " ".join([*sentences, *described])


def _signs(entries: pd.DataFrame, unknown: int) -> list[str]:
    """Return what bold means, and what stands in place of the times of what is not solved."""
    unsolved = entries[~entries["outcome"].isin(FINAL)]
    impossible = unsolved["outcome"].isin(NOT_RUN)
    near = ~impossible & (unsolved["outcome"] != "wrong") & np.isfinite(unsolved["worst_gap"])
    of = f"of {unknown} problems" if entries["wins"].any() else "of these times"
    said = {
        "Bold: the fastest that solved the problem, and all whose times are within the noise of it "
        "(95 % interval of the ratio of medians, or A/A pairs).": entries["wins"].any(),
        f"The noise {of} is not known (fewer than {FEWEST} runs): none is bold there.": unknown,
        "≈: not solved, with the relative gap that was reached.": near.any(),
        "–: the solver cannot take this problem, or is not installed.": impossible.any(),
    }
    return [sentence for sentence, holds in said.items() if holds]
