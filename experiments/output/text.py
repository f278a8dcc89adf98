"""Formats that all tables, figures and messages share: times, file names, machines, Markdown tables."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from rich import box
from rich.table import Table
from rich.text import Text

from experiments.analysis.hosts import hosts_note
from experiments.workers.machine import bytes_text

SINGLE = "¹"  # marks baselines that use one thread, however many they may use
_PACKAGES = (
    *("python", "numpy", "scipy", "numba", "scikit-learn", "scikit-learn-intelex", "snapml"),
    *("libsvm-official", "liblinear-multicore"),
)
_QP_PACKAGES = ("cvxopt", "clarabel", "highspy", "osqp", "piqp", "proxsuite", "quadprog", "scs")
_LONGEST_NAME = 120  # characters of a file name, of which file systems take 255 with an ending


def duration(seconds: float) -> str:
    """Return a time in two digits with its unit, nothing for NaN."""
    if not np.isfinite(seconds):
        return ""
    for unit, size in (("min", 60.0), ("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= (600.0 if unit == "min" else 0.995 * size):
            value = seconds / size
            return f"{value:.1f} {unit}" if value < 9.95 else f"{value:.0f} {unit}"
    return "<1 µs"


def time_and_setup(time: float, setup: float, shown: Callable[[float], str] = duration) -> str:
    """Return a time of solving and, after a plus, that of setting up, where it is known."""
    return f"{shown(time)} + {shown(setup)}" if np.isfinite(setup) else shown(time)


def precise_duration(seconds: float) -> str:
    """Return a time in three digits, in seconds or milliseconds, nothing for NaN."""
    if np.isnan(seconds):
        return ""
    return f"{seconds:.3g} s" if seconds >= 1 else f"{1000 * seconds:.3g} ms"


def file_name(*parts: str) -> str:
    """Return a safe and readable file name, without its ending."""
    words = re.sub(r"[)]", "", "-".join(parts))
    return re.sub(r"[^A-Za-z0-9._=+-]+", "-", words).strip(".-")[:_LONGEST_NAME]


def markdown_table(table: pd.DataFrame, numbers: bool = False) -> str:
    """Return a Markdown table of a data frame whose cells are text already.

    Parameters
    ----------
    numbers : whether all columns but the first are aligned at the right.
    """
    sides = ["left", *["right"] * (table.shape[1] - 1)] if numbers and len(table) else None
    return table.to_markdown(index=False, disable_numparse=True, colalign=sides)


def terminal_table(
    heads: Iterable[str],
    rows: Iterable[Sequence[str | Text]],
    left: Collection[str],
    title: str = "",
    caption: str = "",
) -> Table:
    """Return a table for the terminal, in which nothing is markup.

    Parameters
    ----------
    left : the heads of the columns that are aligned at the left.
    """
    table = Table(
        title=Text(title, style="bold") if title else None,
        title_justify="left",
        caption=Text(caption, style="dim") if caption else None,
        caption_justify="left",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        padding=(0, 1, 0, 0),
    )
    for head in heads:
        justify = "left" if head in left else "right"
        table.add_column(head, justify=justify, overflow="fold")
    for row in rows:
        table.add_row(*(cell if isinstance(cell, Text) else Text(cell) for cell in row))
    return table


def machine_text(manifests: Sequence[Mapping[str, Any]], results: pd.DataFrame) -> list[str]:
    """Return the machine, threads, and versions of the runs, a sentence each.

    Parameters
    ----------
    manifests, results : of the folders, and their runs.
    """
    lines = list(dict.fromkeys(_measured(manifest) for manifest in manifests))
    lines += [hosts] if (hosts := hosts_note(results["host"])) else []
    threads = sorted(int(count) for count in results["threads"].dropna().unique())
    lines.append(f"Threads of every solver: {', '.join(map(str, threads)) or 'not recorded'}.")
    versions = {k: v for manifest in manifests for k, v in manifest["versions"].items()}
    qp = bool((results["solver"] == "qpsolvers_qp").any())
    shown = [k for k in (*_PACKAGES, *(_QP_PACKAGES if qp else ())) if k in versions]
    lines.append(f"Versions: {', '.join(f'{k} {versions[k]}' for k in shown)}.")
    return lines


def _measured(manifest: Mapping[str, Any]) -> str:
    machine, date = manifest.get("machine"), str(manifest.get("date", ""))[:10]
    if machine is None:
        return f"Measured on {manifest['host']}, {manifest['platform']}."
    processor = f"{machine['processor']}, {machine['cores']} cores, {bytes_text(machine['memory'])}"
    return f"Measured on {date}: {processor}, {manifest['platform']}."
