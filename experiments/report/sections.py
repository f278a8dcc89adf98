"""Tables of a report: outcomes, failures with reasons, all runs, and how to reproduce them."""

import base64
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from dualgap.experiments.analysis.labels import gap_text, kind_of, missed_gap_text
from dualgap.experiments.analysis.profiles import PAR2, SGM10, SHIFT_S, shifted_means
from dualgap.experiments.analysis.times import grouped, missed_text, requested_rows
from dualgap.experiments.records.outcomes import DENSE_REFERENCE, OUTCOMES, outcome_of
from dualgap.experiments.tables.formats import duration, file_name
from dualgap.experiments.tables.table import Cell, Column, Table

_FAILURES = list(OUTCOMES)[: list(OUTCOMES).index("inaccurate")]
_NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?:e[+-]?\d+)?(?!\w)")
_CLAIMS = ("optimal", "infeasible", "unbounded")
_MAX_FAILURES = 60  # entries; the table of all runs has the others


def outcomes(results: pd.DataFrame) -> pd.Series:
    """Return the outcome of each run, a key of `OUTCOMES`; `results` are labelled.

    An inaccurate run met its own request, `stopped_at_tolerance`, if it claims to be optimal or is one
    of several runs of a series on a problem, which differ only in the requested accuracy.
    """
    ends = map(outcome_of, results["status"], results["verdict"])
    by_run = pd.Series(list(ends), results.index, dtype=object)
    series = results.groupby(["problem_id", "series"], sort=False)
    met = (results["claimed"] == "optimal") | (series["configuration"].transform("nunique") > 1)
    by_run = by_run.mask((by_run == "inaccurate") & met, "stopped_at_tolerance")
    return by_run.mask(results["solver"].map(kind_of) == DENSE_REFERENCE, DENSE_REFERENCE)


def reason(run: Mapping[Any, Any]) -> str:
    """Return why a run is not solved: the recorded reason, or one derived from its numbers."""
    recorded, signal = run["reason"], run["signal"]
    if isinstance(recorded, str) and recorded:
        return recorded
    if run["outcome"] not in (*_FAILURES, "inaccurate", "stopped_at_tolerance"):
        return ""
    claim = f"claimed {run['claimed']}" if run["claimed"] in _CLAIMS else "made no claim"
    gap, target = run["relative_gap"], run["target_gap"]
    facts = "no bound"
    if np.isfinite(gap):
        facts = f"relative gap {missed_gap_text(gap)}, target {gap_text(target)}"
    limit = f"ended after {duration(run['time_solve'])}" if run["outcome"] == "time_limit" else ""
    return "; ".join(filter(None, [claim, facts, limit, signal if isinstance(signal, str) else ""]))


def counts(results: pd.DataFrame) -> list[tuple[str, int, str]]:
    """Return each outcome that occurs, its count and its meaning; failures first."""
    count = Counter(results["outcome"])
    return [(word, count[word], kind.meaning) for word, kind in OUTCOMES.items() if count[word]]


def by_solver(results: pd.DataFrame) -> Table:
    """Return the table of outcomes by solver."""
    words = [word for word, *_ in counts(results)]
    table = pd.crosstab(results["series"], results["outcome"])[words]
    heads = {word: Column(word.replace("_", " "), _count) for word in words}
    return Table.of(table.reset_index(), {"series": Column("solver")} | heads)


def _count(times: int) -> str:
    return str(times) if times else ""


def failures(results: pd.DataFrame) -> tuple[list[dict[str, Any]], int]:
    """Return failures with reasons, worst first, and the number of further reasons.

    Reasons that differ only in numbers are merged, with the range of each. Runs that are inaccurate or
    unsupported are only in the counts and the table of runs.

    Returns
    -------
    list of dict
        outcome, solver, reason, runs (their number), problems.
    """
    failed = results[results["outcome"].isin(_FAILURES)]
    reasons = [reason(run) for run in failed.to_dict("records")]
    wordings = [_NUMBER.sub("\0", text) for text in reasons]
    groups = grouped(
        zip(reasons, failed["problem_id"], strict=True),
        failed["outcome"],
        failed["series"],
        wordings,
    )
    rows: list[dict[str, Any]] = []
    for (outcome, solver, _), runs in groups.items():
        texts, problems = zip(*runs, strict=True)
        entry = {"outcome": outcome, "solver": solver, "reason": _with_ranges(texts)}
        rows.append(entry | {"runs": len(runs), "problems": [*dict.fromkeys(map(str, problems))]})
    rows.sort(key=lambda failure: (_FAILURES.index(failure["outcome"]), -failure["runs"]))
    return rows[:_MAX_FAILURES], len(rows[_MAX_FAILURES:])


def _with_ranges(reasons: Sequence[str]) -> str:
    """Return texts that differ only in numbers as one, `ended after 20 to 31 s`."""
    columns = zip(*map(_NUMBER.findall, reasons), strict=True)
    ranges = (sorted(set(column), key=float) for column in columns)
    texts = (f"{values[0]} to {values[-1]}" if len(values) > 1 else values[0] for values in ranges)
    return _NUMBER.sub(lambda _: next(texts), reasons[0])


_RUNS = {
    "outcome": Column("outcome", align="words"),
    "problem_id": Column("problem", align="words"),
    "configuration": Column("solver", align="words"),
    "reason": Column("reason", align="words"),
    "stop_reason": Column("stopped by", lambda text: text.replace("_", " "), align="words"),
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
    "value": Column("computed at", "{:.4g}".format),
    "from": Column("from", "{:.4g}".format),
    "to": Column("to", "{:.4g}".format),
    "relative_gap": Column("gap there", "{:.1e}".format),
    "worst_gap": Column("largest gap from … to", "{:.1e}".format),
    "n_support": Column("support vectors", "{:.0f}".format),
    "iterations": Column("iterations", "{:.0f}".format),
    "time_solve": Column("time", duration),
}
_MEANS = {
    "solver": Column("solver"),
    "mean": Column("shifted mean", duration),
    "ratio": Column(
        "ratio to the fastest",
        lambda r: f"{r:.2g}×" if r < 0.095 else f"{r:.1f}×" if r < 9.95 else f"{r:.0f}×",
    ),
    "sgm10": Column("SGM10", duration),
    "par2": Column("PAR-2", duration),
    "reached": Column("reached"),
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
    """Return the table of all answers on paths."""
    return Table.of(
        paths.merge(results[["run_id", "problem_id", "configuration"]], on="run_id"), _PATHS
    )


def times_to(table: pd.DataFrame) -> Table:
    """Return a table of the times to one target gap: one row per problem, one column per solver."""
    solvers = sorted(str(name) for name in table["solver"].unique())
    swept = table.groupby("solver")["setting"].transform("nunique") > 1
    table = table.assign(
        setting=table["setting"].where(swept, ""), fastest=table["fastest"] & (len(solvers) > 1)
    )
    rows: list[dict[str, str | Cell]] = []
    for (problem,), problem_rows in grouped(table.to_dict("records"), table["problem"]).items():
        row: dict[str, str | Cell] = {"problem": problem} | dict.fromkeys(solvers, "")
        for run in problem_rows:
            row[str(run["solver"])] = missed_text(run)
            if run["outcome"] == "reached":
                text = duration(run["time"]) + (f" ({run['setting']})" if run["setting"] else "")
                row[str(run["solver"])] = Cell(text, run["time"], bool(run["fastest"]))
        rows.append(row)
    return Table.of(rows, {name: Column(name) for name in ("problem", *solvers)})


def shifted_means_table(means: pd.DataFrame) -> Table:
    """Return the table of shifted means at one target, their ratios to the best, and counts."""
    rows = [
        row | {"reached": Cell(_reached(row), row["solved"])} for row in means.to_dict("records")
    ]
    return Table.of(rows, _MEANS)


def shifted_means_section(times: pd.DataFrame, penalty: float, penalty_text: str) -> str:
    """Return Markdown: the table of shifted means at each target of `times`, and what a miss costs."""
    parts = [
        f"Times to a certified relative gap of {gap_text(target)}:\n\n"
        + shifted_means_table(shifted_means(rows, penalty)).markdown()
        for target, rows in requested_rows(times).groupby("target", sort=False)
    ]
    scores = (
        "Means are over the problems that a solver supports and was asked to solve to this gap.",
        SGM10.format(limit=penalty_text),
        f"The shifted mean is the same with a shift of {1e3 * SHIFT_S:g} ms.",
        PAR2.format(limit=penalty_text),
    )
    return "\n\n".join([*parts, " ".join(scores)])


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
        libraries, their versions as `name version`; earlier, one sentence per earlier session of the
        folder that differed; usually none.
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
            f"started {session.get('date', '')} with {'; '.join(session.get('differs', []))}"
            for session in manifest.get("earlier", [])
        ],
    }
