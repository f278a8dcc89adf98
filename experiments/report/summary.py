"""The tables of a report: outcomes, failures with reasons, all runs, and how to reproduce them."""

from __future__ import annotations

import base64
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from experiments.analysis.configurations import grouped
from experiments.analysis.labels import kind_of
from experiments.analysis.outcomes import missed, worst_outcome
from experiments.output.text import duration, file_name

MEANINGS = {  # failures first, then what was asked for, then the rest
    "wrong": "claimed optimal or infeasible although the certificate proves otherwise",
    "crashed": "the process died or raised an exception",
    "diverged": "the iterates grew without bound or became NaN",
    "out_of_memory": "the run needed more memory than its limit, or than the machine has",
    "time_limit": "stopped at the time limit, with an answer outside the target gap",
    "max_iter": "stopped at its own iteration limit, with an answer outside the target gap",
    "uncertified": "a bound is missing, so the quality of the answer is unknown",
    "inaccurate": "stopped by itself, certified with a gap above the target",
    "solved": "certified within the target gap",
    "infeasible": "proven to have no solution",
    "at_its_tolerance": "stopped at the accuracy that it was asked for, with a gap above the target",
    "unsupported": "the solver cannot take this problem, or there is none; the run's reason says why",
    "not_installed": "the library is not installed here",
    "floor": "not a solver, but a measured lower bound on time for this machine",
}
_FAILURES = list(MEANINGS)[: list(MEANINGS).index("inaccurate")]
_NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?:e[+-]?\d+)?(?!\w)")
_CLAIMS = ("optimal", "infeasible")
_MOST_FAILURES = 60
_MIB = 2**20


@dataclass(frozen=True)
class Cell:
    """A cell of a table that can be sorted: what is shown, and by what number it is sorted."""

    text: str
    value: str = ""
    bold: bool = False


def outcomes(results: pd.DataFrame) -> pd.Series:
    """Return the outcome of each run, a key of `MEANINGS`; `results` are labelled.

    A run was asked for what it gave if it claims to be optimal, by its own tolerance, or is one of
    several of a series on a problem: these differ only in the accuracy asked for.
    """
    found = pd.Series("", results.index, dtype=object)
    for _, rows in results.groupby(["status", "verdict"], sort=False):
        found[rows.index] = worst_outcome(rows["status"], rows["verdict"])
    series = results.groupby(["problem_id", "series"], sort=False)
    asked = (results["claimed"] == "optimal") | (series["configuration"].transform("nunique") > 1)
    found = found.mask((found == "inaccurate") & asked, "at_its_tolerance")
    return found.mask(results["solver"].map(kind_of) == "floor", "floor")


def reason(run: Mapping[Any, Any]) -> str:
    """Return why a run is not solved: the recorded reason, or what its numbers show."""
    recorded, signal = run["reason"], run["signal"]
    if isinstance(recorded, str) and recorded:
        return recorded
    if run["outcome"] not in (*_FAILURES, "inaccurate", "at_its_tolerance"):
        return ""
    claim = f"claimed {run['claimed']}" if run["claimed"] in _CLAIMS else "made no claim"
    gap, target = run["relative_gap"], run["target_gap"]
    known = f"relative gap {gap:.1e}, target {target:.0e}" if np.isfinite(gap) else "no bound"
    limit = f"ended after {duration(run['time_solve'])}" if run["outcome"] == "time_limit" else ""
    return "; ".join(filter(None, [claim, known, limit, signal if isinstance(signal, str) else ""]))


def counts(results: pd.DataFrame) -> list[tuple[str, int, str]]:
    """Return each outcome that occurs, how often, and what it means; failures first."""
    seen = Counter(results["outcome"])
    return [(word, seen[word], text) for word, text in MEANINGS.items() if seen[word]]


def by_solver(results: pd.DataFrame) -> tuple[list[str], list[list[Cell]]]:
    """Return the heads and rows of the table of outcomes by solver."""
    seen = Counter(zip(results["series"], results["outcome"], strict=True))
    words = [word for word, *_ in counts(results)]
    rows = [
        [Cell(solver), *(_count(seen[solver, word]) for word in words)]
        for solver in sorted(set(results["series"]))
    ]
    return ["solver", *(word.replace("_", " ") for word in words)], rows


def _count(times: int) -> Cell:
    return Cell(str(times) if times else "", str(times))


@dataclass(frozen=True)
class Failure:
    """Runs of one solver that failed for one reason."""

    outcome: str
    solver: str
    reason: str
    runs: int
    problems: list[str]


def failures(results: pd.DataFrame) -> tuple[list[Failure], int]:
    """Return what failed and why, worst first, and how many further reasons there are.

    Reasons that differ only in their numbers are one, with the least and the most of each. Runs that are
    merely inaccurate, or unsupported, are in the counts and the table of runs.
    """
    failed = results[results["outcome"].isin(_FAILURES)]
    reasons = [reason(run) for run in failed.to_dict("records")]
    failed = failed.assign(reason=reasons, wording=[_NUMBER.sub("#", text) for text in reasons])
    groups = failed.groupby(["outcome", "series", "wording"], sort=False)
    found = [
        Failure(
            str(word),
            str(solver),
            _with_ranges(list(rows["reason"])),
            len(rows),
            [*map(str, rows["problem_id"].unique())],
        )
        for (word, solver, _), rows in groups
    ]
    found.sort(key=lambda failure: (_FAILURES.index(failure.outcome), -failure.runs))
    return found[:_MOST_FAILURES], len(found[_MOST_FAILURES:])


def _with_ranges(reasons: list[str]) -> str:
    """Return texts that differ in their numbers as one, `ended after 20 to 31 s`."""
    columns = zip(*map(_NUMBER.findall, reasons), strict=True)
    ranges = (sorted(set(column), key=float) for column in columns)
    shown = (f"{own[0]} to {own[-1]}" if len(own) > 1 else own[0] for own in ranges)
    return _NUMBER.sub(lambda _: next(shown), reasons[0])


_FORMATS = {  # of the columns in which a run has a number
    "relative_gap": ("relative gap", ".1e"),
    "kkt_violation": ("KKT violation", ".1e"),
    "iterations": ("iterations", ".0f"),
    "n_support": ("support vectors", ".0f"),
}
_NAMED = ["outcome", "problem", "solver", "reason", "repetition", "time", "set-up"]
_PATH_FORMATS = {  # of the columns in which an answer on a path has a number
    "value": ("found at", ".4g"),
    "from": ("stands from", ".4g"),
    "to": ("to", ".4g"),
    "relative_gap": ("gap where found", ".1e"),
    "worst_gap": ("largest gap", ".1e"),
    "n_support": ("support vectors", ".0f"),
    "iterations": ("iterations", ".0f"),
}
PATH_HEADS = ["problem", "solver", *(head for head, _ in _PATH_FORMATS.values()), "time"]
RUN_HEADS = [*_NAMED, *(head for head, _ in _FORMATS.values()), "memory (MiB)"]


def run_rows(results: pd.DataFrame) -> Iterator[list[Cell]]:
    """Yield the cells of each run under `RUN_HEADS`, failures first."""
    order = list(MEANINGS)
    worst_first = results.assign(badness=results["outcome"].map(order.index)).sort_values(
        ["badness", "problem_id", "configuration", "repetition"], kind="stable"
    )
    for run in worst_first.to_dict("records"):
        yield [
            Cell(run["outcome"].replace("_", " "), str(run["badness"])),
            Cell(str(run["problem_id"])),
            Cell(str(run["configuration"])),
            Cell(reason(run)),
            _number(run["repetition"] + 1, ".0f"),
            *(Cell(duration(run[t]), _value(run[t])) for t in ("time_solve", "time_setup")),
            *(_number(run[name], form) for name, (_, form) in _FORMATS.items()),
            _number(run["peak_rss"] / _MIB, ".0f"),
        ]


def path_rows(paths: pd.DataFrame, results: pd.DataFrame) -> Iterator[list[Cell]]:
    """Yield the cells of each answer on a path under `PATH_HEADS`."""
    followed = paths.merge(results[["run_id", "problem_id", "configuration"]], on="run_id")
    for answer in followed.to_dict("records"):
        yield [
            Cell(str(answer["problem_id"])),
            Cell(str(answer["configuration"])),
            *(_number(answer[name], form) for name, (_, form) in _PATH_FORMATS.items()),
            Cell(duration(answer["time_solve"]), _value(answer["time_solve"])),
        ]


def _number(value: float, form: str) -> Cell:
    return Cell(f"{value:{form}}" if np.isfinite(value) else "", _value(value))


def _value(value: float) -> str:
    return f"{value:.6g}" if np.isfinite(value) else ""


def time_rows(table: pd.DataFrame) -> tuple[list[str], list[list[Cell]]]:
    """Return a table of the times to one target gap: a row a problem, a column a solver."""
    solvers = sorted(str(name) for name in table["solver"].unique())
    swept = table.groupby("solver")["setting"].transform("nunique") > 1
    table = table.assign(setting=table["setting"].where(swept, ""))
    table = table.assign(fastest=table["fastest"] & (len(solvers) > 1))
    rows: list[list[Cell]] = []
    for (problem,), mine in grouped(table.to_dict("records"), table["problem"]).items():
        cells = {str(row["solver"]): _time(row) for row in mine}
        rows.append([Cell(str(problem)), *(cells.get(name, Cell("")) for name in solvers)])
    return ["problem", *solvers], rows


def _time(row: Mapping[Any, Any]) -> Cell:
    if row["outcome"] != "reached":
        return Cell(missed(row))
    setting = f" ({row['setting']})" if row["setting"] else ""
    return Cell(duration(row["time"]) + setting, _value(row["time"]), bool(row["fastest"]))


def _ratio(value: float) -> Cell:
    """Return a ratio in two digits or more, `1.0×`."""
    return Cell(f"{value:.1f}×" if value < 9.95 else f"{value:.0f}×", _value(value))


def mean_rows(means: pd.DataFrame) -> Iterator[list[Cell]]:
    """Yield for each solver at one target: shifted mean, its ratio to the least, and its counts."""
    for row in means.to_dict("records"):
        yield [
            Cell(str(row["solver"])),
            Cell(duration(row["mean"]), _value(row["mean"])),
            _ratio(row["ratio"]),
            Cell(f"{row['solved']} of {row['problems']}", str(row["solved"])),
            _count(row["impossible"]),
        ]


def repeat(manifest: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return how to run the experiment of a manifest again.

    Returns
    -------
    dict
        file, its name; text, its content; link, the same as a `data:` address; commands for a shell;
        libraries, the versions that were used, one `name version` each; earlier, how earlier runs of
        the folder differed, a sentence each; usually none.
    """
    text = str(manifest["experiment"])
    file = f"{file_name(name)}.yaml"
    return {
        "file": file,
        "text": text,
        "link": "data:text/yaml;base64," + base64.b64encode(text.encode()).decode(),
        "commands": [f"dualgap run {file} --out again", "dualgap report again"],
        "libraries": [f"{library} {version}" for library, version in manifest["versions"].items()],
        "earlier": [
            f"started {begun.get('date', '')} with {'; '.join(begun.get('differs', []))}"
            for begun in manifest.get("earlier", [])
        ],
    }
