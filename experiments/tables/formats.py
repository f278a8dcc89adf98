"""Formats shared by tables, figures and messages: times, numbers, file names, machines."""

import json
import re
from collections import defaultdict
from collections.abc import Mapping
from math import isfinite
from typing import Any

import numpy as np
import pandas as pd

from dualgap.experiments.workers.machine import bytes_text
from dualgap.solvers import SOLVERS

SINGLE = "¹"  # marks baselines that use one thread, even if more are allowed
SETUP = (
    "Set-up times of our solvers and of baselines are not comparable: our code is loaded before the "
    "clock starts, while a baseline's imports are part of its set-up."
)
_PRECISION = "Precision of the samples, for baselines with a choice"
_PACKAGES = (
    *("python", "numpy", "scipy", "numba", "scikit-learn", "scikit-learn-intelex", "snapml"),
    *("libsvm-official", "liblinear-multicore"),
)
_QP_PACKAGES = (
    *("cvxopt", "clarabel", "daqp", "ecos", "gurobipy", "highspy", "mosek", "osqp", "piqp"),
    *("proxsuite", "qpalm", "quadprog", "scs"),
)
_MAX_NAME_LENGTH = 120  # characters; file systems allow 255 bytes, with the suffix
_MAX_CLOCK_RATIO = 1.1  # of runs on one problem: turbo steps between busy cores are smaller
_MAX_PLAIN = 1e6  # larger numbers have an exponent, as those below _MIN_PLAIN
_MIN_PLAIN = 1e-4


def duration(seconds: float) -> str:
    """Return a time in two digits with its unit; empty for NaN."""
    if not np.isfinite(seconds):
        return ""
    for unit, size in (("min", 60.0), ("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= (600.0 if unit == "min" else 0.995 * size):
            value = seconds / size
            return f"{value:.1f} {unit}" if value < 9.95 else f"{value:.0f} {unit}"
    return "<1 µs"


def precise_duration(seconds: float) -> str:
    """Return a time in three digits, in seconds or milliseconds; empty for NaN."""
    if np.isnan(seconds):
        return ""
    if seconds < 0.9995:
        return f"{1000 * seconds:.3g} ms"
    return f"{seconds:.3g} s" if seconds < 999.5 else f"{seconds:.0f} s"


def rounded(value: float, digits: int) -> str:
    """Return a number with the given significant digits, 0.0120; with 0 digits as an integer."""
    if not isfinite(value) or value == 0:
        return f"{value:g}"
    if digits == 0:
        return f"{value:.0f}" if abs(value) < _MAX_PLAIN else f"{value:.2e}"
    scientific = f"{value:.{digits - 1}e}"
    if not _MIN_PLAIN <= abs(value) < _MAX_PLAIN:
        return scientific
    decimals = digits - 1 - int(scientific.partition("e")[2])
    return f"{value:.{max(decimals, 0)}f}"


def file_name(*parts: str) -> str:
    """Return a safe and readable file name, without a suffix."""
    words = re.sub(r"[)]", "", "-".join(parts))
    return re.sub(r"[^A-Za-z0-9._=+-]+", "-", words).strip(".-")[:_MAX_NAME_LENGTH]


def precision_text(records: Mapping[str, pd.DataFrame]) -> str:
    """Return a sentence on the measured precisions of the samples; empty if there is no choice.

    Parameters
    ----------
    records : runs by name of the benchmark; the sentence names it if there are several.
    """
    benchmarks = defaultdict[str, list[str]](list)
    for name, results in records.items():
        for solver, runs in results.groupby("solver"):
            if hasattr(SOLVERS.get(str(solver)), "dtype"):
                dtypes = {json.loads(text).get("dtype", "float64") for text in runs["params"]}
                precisions = " and ".join(sorted(dtypes, reverse=True)) + " only" * (
                    len(dtypes) == 1
                )
                benchmarks[f"{solver} {precisions}"].append(name)
    several = len(records) > 1
    texts = [t + f" ({', '.join(names)})" * several for t, names in sorted(benchmarks.items())]
    return f"{_PRECISION}: {', '.join(texts)}." if texts else ""


def hosts_note(hosts: pd.Series) -> str:
    """Return the note for a table of runs on these hosts; empty for a single host."""
    names = sorted({str(host) for host in hosts.dropna()})
    if len(names) < 2:
        return ""
    return (
        f"Run on several hosts ({', '.join(names)}): times are compared and solvers ranked only "
        "within one host."
    )


def threads_text(results: pd.DataFrame) -> str:
    """Return the threads of the solvers as recorded: the most common number, then the exceptions."""
    by_solver = {
        str(solver): ", ".join(f"{count:.0f}" for count in sorted(threads.unique()))
        for solver, threads in results.dropna(subset=["threads"]).groupby("series")["threads"]
    }
    common = max(counted := [*by_solver.values()], key=counted.count, default="not recorded")
    exceptions = [f"{solver} {count}" for solver, count in by_solver.items() if count != common]
    return (
        f"Threads of every solver: {common}{', except ' * bool(exceptions)}{', '.join(exceptions)}."
    )


def clock_note(results: pd.DataFrame) -> str:
    """Return a warning if runs that are compared had other clock frequencies, or were throttled."""
    frequencies = results.groupby(["problem_id", "host"])["cpu_frequency"]
    ratios = (frequencies.max() / frequencies.min()).dropna().groupby("problem_id").max()
    differing, throttled = ratios[ratios > _MAX_CLOCK_RATIO], (results["cpu_throttled"] > 0).sum()
    notes = list[str]()
    if len(differing):
        notes.append(
            f"Warning: on {len(differing)} of {len(ratios)} problems the processor's clock differed by "
            f"more than {_MAX_CLOCK_RATIO - 1:.0%} between the runs that are compared, by up to "
            f"{differing.max() - 1:.0%} on {differing.idxmax()}; so may their times."
        )
    if throttled:
        notes.append(f"Warning: the processor was throttled for heat during {throttled} runs.")
    return " ".join(notes)


def machine_text(manifest: Mapping[str, Any], results: pd.DataFrame) -> list[str]:
    """Return the machine, threads and versions of a folder's runs, one sentence each."""
    machine_line = manifest["host"]
    if machine := manifest.get("machine"):
        memory, date = bytes_text(machine["memory"]), str(manifest.get("date", ""))[:10]
        machine_line = f"{date}: {machine['processor']}, {machine['cores']} cores, {memory}"
    qp = bool((results["solver"] == "qpsolvers_qp").any())
    versions = manifest["versions"]
    packages = [k for k in (*_PACKAGES, *(_QP_PACKAGES if qp else ())) if k in versions]
    lines = [
        f"Measured on {machine_line}, {manifest['platform']}.",
        hosts_note(results["host"]),
        threads_text(results),
        clock_note(results),
        f"Versions: {', '.join(f'{k} {versions[k]}' for k in packages)}.",
    ]
    return [line for line in lines if line]
