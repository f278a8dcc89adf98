"""The columns of `load_results` and `load_traces`, and their meanings: `dualgap list columns`.

`columns.csv` declares them once, with their order and types: for the page of the documentation, and for
the `datapackage.json` next to the tables (a Frictionless Tabular Data Package). Objectives and bounds
are in the scale ½‖w‖² + Σ Cᵢ·lossᵢ unless stated otherwise, times in seconds. A missing value is NaN,
never 0.
"""

from __future__ import annotations

import csv
from itertools import groupby, islice
from operator import itemgetter
from pathlib import Path
from typing import Literal, NamedTuple

CLOCK_RESOLUTION_S = 1e-7  # shorter times are not resolved
Kind = Literal["text", "json", "flag", "number", "whole", "measure"]


class ColumnSpec(NamedTuple):
    """A column of a table: its name, the kind of its values, and their meaning.

    A measure is a number that is not a bound: it is written with twelve significant digits.
    """

    name: str
    kind: Kind
    meaning: str


def _declared() -> dict[str, tuple[ColumnSpec, ...]]:
    """Return the columns of each table in `columns.csv`, in their order."""
    with Path(__file__).with_suffix(".csv").open(encoding="utf-8", newline="") as file:
        rows = islice(csv.reader(file), 1, None)
        return {
            table: tuple(ColumnSpec._make(row[1:]) for row in group)
            for table, group in groupby(rows, itemgetter(0))
        }


_TABLES = _declared()
# one row per run; user scripts read the columns up to `versions`, which stay as they are
RESULTS = _TABLES["runs"]
# for solvers on blocks of samples, and for programs
COUNTED = _TABLES["counting runs"]
# one row per evaluation of a running solver
TRACES = _TABLES["traces"]
# one row per answer on a path, in the order of the parameter
PATHS = _TABLES["paths"]
COLUMNS = [c.name for c in RESULTS]
TRACE_COLUMNS = [c.name for c in TRACES]
FILES = {
    # tables without runs that are described at their optimum (`describe: true`), on convex QPs, or with
    # counters lack these columns
    "runs.csv": (
        *RESULTS,
        *_TABLES["described runs"],
        *_TABLES["runs on convex QPs"],
        *COUNTED,
    ),
    "traces.csv": (*TRACES, *_TABLES["complete traces"]),
    "paths.csv": PATHS,
}
