"""The tables of a report: outcomes, failures with reasons, all runs, and how to reproduce them."""

import base64
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from dualgap.experiments.analysis.labels import kind_of
from dualgap.experiments.analysis.times import grouped, missed
from dualgap.experiments.records.names import gap_text, missed_gap_text
from dualgap.experiments.records.outcomes import OUTCOMES, outcome_of
from dualgap.experiments.tables.formats import duration, file_name
from dualgap.experiments.tables.table import Cell, Column, Table

_FAILURES = list(OUTCOMES)[: list(OUTCOMES).index("inaccurate")]
_NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?:e[+-]?\d+)?(?!\w)")
_CLAIMS = ("optimal", "infeasible", "unbounded")
_MOST_FAILURES = 60


def outcomes(results: pd.DataFrame) -> pd.Series:
    """Return the outcome of each run, a key of `OUTCOMES`; `results` are labelled.

    A run was asked for what it gave if it claims to be optimal, by its own tolerance, or is one of
    several of a series on a problem: these differ only in the accuracy asked for.
    """
    ends = map(outcome_of, results["status"], results["verdict"])
    found = pd.Series(list(ends), results.index, dtype=object)
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
    known = "no bound"
    if np.isfinite(gap):
        known = f"relative gap {missed_gap_text(gap)}, target {gap_text(target)}"
    limit = f"ended after {duration(run['time_solve'])}" if run["outcome"] == "time_limit" else ""
    return "; ".join(filter(None, [claim, known, limit, signal if isinstance(signal, str) else ""]))


def counts(results: pd.DataFrame) -> list[tuple[str, int, str]]:
    """Return each outcome that occurs, how often, and what it means; failures first."""
    seen = Counter(results["outcome"])
    return [(word, seen[word], kind.meaning) for word, kind in OUTCOMES.items() if seen[word]]


def by_solver(results: pd.DataFrame) -> Table:
    """Return the table of outcomes by solver."""
    words = [word for word, *_ in counts(results)]
    seen = pd.crosstab(results["series"], results["outcome"])[words]
    heads = {word: Column(word.replace("_", " "), _count) for word in words}
    return Table.of(seen.reset_index(), {"series": Column("solver")} | heads)


def _count(times: int) -> str:
    return str(times) if times else ""


def failures(results: pd.DataFrame) -> tuple[list[dict[str, Any]], int]:
    """Return what failed and why, worst first, and how many further reasons there are.

    Reasons that differ only in their numbers are one, with the least and the most of each. Runs that are
    merely inaccurate, or unsupported, are in the counts and the table of runs.

    Returns
    -------
    list of dict
        outcome, solver, reason, runs (how many), problems.
    """
    failed = results[results["outcome"].isin(_FAILURES)]
    reasons = [reason(run) for run in failed.to_dict("records")]
    wordings = [_NUMBER.sub("#", text) for text in reasons]
    groups = grouped(
        zip(reasons, failed["problem_id"], strict=True),
        failed["outcome"],
        failed["series"],
        wordings,
    )
    found: list[dict[str, Any]] = []
    for (outcome, solver, _), runs in groups.items():
        texts, problems = zip(*runs, strict=True)
        known = {"outcome": outcome, "solver": solver, "reason": _with_ranges(texts)}
        found.append(known | {"runs": len(runs), "problems": [*dict.fromkeys(map(str, problems))]})
    found.sort(key=lambda failure: (_FAILURES.index(failure["outcome"]), -failure["runs"]))
    return found[:_MOST_FAILURES], len(found[_MOST_FAILURES:])


def _with_ranges(reasons: Sequence[str]) -> str:
    """Return texts that differ in their numbers as one, `ended after 20 to 31 s`."""
    columns = zip(*map(_NUMBER.findall, reasons), strict=True)
    ranges = (sorted(set(column), key=float) for column in columns)
    shown = (f"{own[0]} to {own[-1]}" if len(own) > 1 else own[0] for own in ranges)
    return _NUMBER.sub(lambda _: next(shown), reasons[0])


_RUNS = {
    "outcome": Column("outcome"),
    "problem_id": Column("problem"),
    "configuration": Column("solver"),
    "reason": Column("reason"),
    "repetition": Column("repetition", "{:.0f}".format),
    "time_solve": Column("time", duration),
    "time_setup": Column("set-up", duration),
    "relative_gap": Column("relative gap", "{:.1e}".format),
    "kkt_violation": Column("KKT violation", "{:.1e}".format),
    "iterations": Column("iterations", "{:.0f}".format),
    "n_support": Column("support vectors", "{:.0f}".format),
    "peak_rss": Column("memory (MiB)", "{:.0f}".format),
}
_PATHS = {
    "problem_id": Column("problem"),
    "configuration": Column("solver"),
    "value": Column("found at", "{:.4g}".format),
    "from": Column("stands from", "{:.4g}".format),
    "to": Column("to", "{:.4g}".format),
    "relative_gap": Column("gap where found", "{:.1e}".format),
    "worst_gap": Column("largest gap", "{:.1e}".format),
    "n_support": Column("support vectors", "{:.0f}".format),
    "iterations": Column("iterations", "{:.0f}".format),
    "time_solve": Column("time", duration),
}
_MEANS = {
    "solver": Column("solver"),
    "mean": Column("shifted mean", duration),
    "ratio": Column("ratio to the fastest", lambda r: f"{r:.1f}×" if r < 9.95 else f"{r:.0f}×"),
    "sgm10": Column("SGM10", duration),
    "par2": Column("PAR-2", duration),
    "reached": Column("reached"),
    "impossible": Column("unsupported", _count),
}


def all_runs(results: pd.DataFrame) -> Table:
    """Return the table of all runs, failures first."""
    order = list(OUTCOMES)
    runs = results.assign(
        badness=results["outcome"].map(order.index),
        reason=[reason(run) for run in results.to_dict("records")],
        repetition=results["repetition"] + 1,
        peak_rss=results["peak_rss"] / 2**20,
    )
    runs = runs.sort_values(["badness", "problem_id", "configuration", "repetition"], kind="stable")
    rows = [
        run | {"outcome": Cell(run["outcome"].replace("_", " "), run["badness"])}
        for run in runs.to_dict("records")
    ]
    return Table.of(rows, _RUNS)


def path_answers(paths: pd.DataFrame, results: pd.DataFrame) -> Table:
    """Return the table of each answer on a path."""
    return Table.of(
        paths.merge(results[["run_id", "problem_id", "configuration"]], on="run_id"), _PATHS
    )


def times_to(table: pd.DataFrame) -> Table:
    """Return a table of the times to one target gap: a row a problem, a column a solver."""
    solvers = sorted(str(name) for name in table["solver"].unique())
    swept = table.groupby("solver")["setting"].transform("nunique") > 1
    table = table.assign(
        setting=table["setting"].where(swept, ""), fastest=table["fastest"] & (len(solvers) > 1)
    )
    rows: list[dict[str, str | Cell]] = []
    for (problem,), own in grouped(table.to_dict("records"), table["problem"]).items():
        row: dict[str, str | Cell] = {"problem": problem} | dict.fromkeys(solvers, "")
        for run in own:
            row[str(run["solver"])] = missed(run)
            if run["outcome"] == "reached":
                text = duration(run["time"]) + (f" ({run['setting']})" if run["setting"] else "")
                row[str(run["solver"])] = Cell(text, run["time"], bool(run["fastest"]))
        rows.append(row)
    return Table.of(rows, {name: Column(name) for name in ("problem", *solvers)})


def shifted_means_table(means: pd.DataFrame) -> Table:
    """Return for each solver at one target: shifted mean, its ratio to the least, and its counts."""
    rows = [
        row | {"reached": Cell(_reached(row), row["solved"])} for row in means.to_dict("records")
    ]
    return Table.of(rows, _MEANS)


def _reached(row: Mapping[Any, Any]) -> str:
    """Return `1 of 3`, or `1 of 3, asked for 3 of 5`."""
    partly = f", asked for {row['asked']} of {row['problems']}"
    return f"{row['solved']} of {row['asked']}" + partly * (row["asked"] < row["problems"])


def repeat(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Return how to run the experiment of a manifest again.

    Returns
    -------
    dict
        file, its name; text, its content; link, the same as a `data:` address; commands for a shell;
        libraries, the versions that were used, one `name version` each; earlier, how earlier runs of
        the folder differed, a sentence each; usually none.
    """
    text = str(manifest["experiment"])
    file = f"{file_name(manifest['name'])}.yaml"
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
