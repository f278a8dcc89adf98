"""The tables in `README.md` and `results/README.md`, from the published records alone.

A table is between `<!-- NAME table ... -->` and `<!-- end of table -->`. NAME is that of a published
experiment, for a table of all solvers on its first problem, or performance (one row per main benchmark),
benchmarks (one row per baseline), or index (one row per published experiment).
"""

import re
from collections.abc import Hashable, Mapping
from functools import cache
from math import inf
from pathlib import Path
from typing import Any, Literal

import pandas as pd
from scipy.stats import gmean

from dualgap.experiments.analysis.labels import gap_text
from dualgap.experiments.analysis.means import Benchmark
from dualgap.experiments.analysis.noise import MARK, Comparison
from dualgap.experiments.analysis.profiles import penalty_of
from dualgap.experiments.analysis.results import Results
from dualgap.experiments.analysis.times import TIME_DEFINITIONS, missed_target, times
from dualgap.experiments.files.experiment import purpose
from dualgap.experiments.report.sections import shifted_means_section
from dualgap.experiments.store import disk
from dualgap.experiments.store.manifest import NAME, StoreError
from dualgap.experiments.store.reading import RunFolder, load_results
from dualgap.experiments.tables.at_gap import bold
from dualgap.experiments.tables.claims import CLAIMS, claims
from dualgap.experiments.tables.formats import SINGLE, precise_duration, precision_text
from dualgap.experiments.tables.summary import summarise
from dualgap.experiments.tables.table import Table
from dualgap.problems.texts import markdown

ROOT = Path(__file__).resolve().parents[3]
_DOCUMENTS = ("README.md", "results/README.md")
_PERFORMANCE = {
    "bench_kernel_svc": "RBF kernel, 4,000 to 10,000 samples",
    "bench_kernel_small": "RBF kernel, fewer samples",
    "bench_svr": "RBF kernel, regression",
    "bench_nu": "RBF kernel, machines with ν",
    "bench_kernel_poly": "polynomial and linear kernels, by SMO",
    "bench_linear": "linear, no intercept",
    "bench_linear_intercept": "linear, with an intercept",
}
_PLAIN_COLUMNS = ["baseline", "ours"]  # columns of a table of baselines that are not Markdown
_PERFORMANCE_GAPS = (1e-3, 1e-6)  # certified relative gaps of the performance table
TABLES = ("benchmark.md", "verification.md", "summary.md")  # the index links to the first one
_TABLE = re.compile(r"(<!-- (\S+) table.*?-->\n).*?(<!-- end of table -->)", re.DOTALL)
RATIOS = (
    "The time of the baseline relative to ours, the fastest of our solvers on each problem (with the "
    "number of problems in brackets, if several are fastest), at equal certified gap: geometric mean "
    "with its 95 % interval (Student's t; from three repetitions on), minimum and maximum over the "
    "problems that both solved. Baselines that make passes over the data are compared with ours that "
    "does so too, by the distance to the best dual bound. *failed*: problems that ours solved to this "
    "gap but the baseline did not when it was requested: it stalled or reached a limit; a blank means "
    f"that it was not requested. {MARK}: the difference is within the noise of the measurement; bold: "
    f"it is significant. {SINGLE}: the baseline uses one thread, even if more are allowed."
)


def folders_in(results: Path) -> list[Path]:
    """Return the published folders, in order."""
    return sorted({path.parent for path in results.rglob(f"*{NAME}")})


def benchmark_in(folder: Path) -> Benchmark | None:
    """Return the tables of a published benchmark, or None if the folder has another kind of results."""
    return _benchmark(folder, (folder / "runs.csv").stat().st_mtime_ns)


@cache
def _benchmark(folder: Path, _changed: int) -> Benchmark | None:
    published = RunFolder(folder)
    is_benchmark = published.manifest["kind"] == "benchmark"
    return Benchmark.of(Results(published.results)) if is_benchmark else None


def _joined(results: Path, table: Literal["compared", "means"]) -> pd.DataFrame:
    """Return a table of all published benchmarks, with a column `benchmark`."""
    folders = sorted(path.parent for path in results.glob(f"*/{NAME}"))
    benchmarks = {folder.name: benchmark_in(folder) for folder in folders}
    tables = {name: getattr(each, table) for name, each in benchmarks.items() if each}
    if not tables:
        raise StoreError(f"Folder {results} has no published benchmark.")
    return pd.concat([each.assign(benchmark=name) for name, each in tables.items()])


def rewrite_documents(root: Path = ROOT) -> None:
    """Rewrite the tables of the documents below `root`; StoreError if one has no records."""
    for document in filter(Path.is_file, map(root.joinpath, _DOCUMENTS)):

        def table(match: re.Match[str]) -> str:
            start, name, end = match.groups()
            return f"{start}\n{table_of(name, root / 'results')}\n\n{end}"

        disk.replace(document, _TABLE.sub(table, document.read_text(encoding="utf-8")).encode())


def table_of(name: str, results: Path) -> str:
    """Return the table for the marker `name`, from the published records alone.

    Raises
    ------
    StoreError
        If there are no records.
    """
    if name == "benchmarks":
        means = _joined(results, "means")
        names = means["benchmark"].unique()
        records = {each.removeprefix("bench_"): load_results(results / each) for each in names}
        return f"{benchmarks_table(means)}\n\n{RATIOS} {precision_text(records)}".strip()
    if name == "index":
        return index_table(results)
    if name == "performance":
        table = performance_table(compared := _joined(results, "compared"))
        precision = precision_text({each: load_results(results / each) for each in _PERFORMANCE})
        sentences = " ".join(filter(None, [precision, single_precision_text(compared)]))
        return f"{table}\n\n{sentences}"
    return first_problem_table(summarise(Results(load_results(results / name))))


def verified_table(published: RunFolder) -> str:
    """Return Markdown with claims of solvers of convex QPs, verified answers, and mean times."""
    records = published.results
    penalty, penalty_text = penalty_of(published.manifest["time_limit"], records)
    named = Results(records)
    means = shifted_means_section(times(named), penalty, penalty_text)
    definition = TIME_DEFINITIONS["cheapest_setting"]
    return "\n\n".join([claims(named).markdown(), CLAIMS, means, definition])


def index_table(results: Path) -> str:
    """Return Markdown with one row per published experiment, linked to its page."""
    lines: list[dict[str, str]] = []
    for folder in folders_in(results):
        relative = folder.relative_to(results)
        published = RunFolder(folder)
        tables = next(path for path in map(folder.joinpath, TABLES) if path.is_file())
        lines.append(
            {
                "experiment": f"[{markdown(relative)}]({relative / tables.name})",
                "what it is": purpose(published.manifest["experiment"]),
                "runs": str(len(published.results)),
                "measured": str(published.manifest.get("date", ""))[:10],
            }
        )
    return Table.of(lines).markdown(marked_up=set().union(*lines))


def benchmarks_table(means: pd.DataFrame) -> str:
    """Return Markdown with one row per baseline and benchmark, and one column per target gap.

    `means` are those of `Benchmark`, with a column `benchmark`.
    """
    rows = _by_gap(means)
    return Table.of(rows).markdown(marked_up=rows.columns.drop(_PLAIN_COLUMNS))


def baselines_table(means: pd.DataFrame) -> str:
    """Return Markdown with one row per baseline of a benchmark; empty if it has none."""
    rows = _by_gap(means.assign(benchmark=""))
    table = Table.of(rows.drop(columns="benchmark"))
    return "" if rows.empty else table.markdown(marked_up=rows.columns.drop(_PLAIN_COLUMNS))


def _by_gap(means: pd.DataFrame) -> pd.DataFrame:
    """Return one row per baseline and benchmark, with one column of ratios per target gap."""
    rows = _baselines(means).sort_values(["benchmark", "target"], ascending=[True, False])
    ours = rows.groupby(["benchmark", "baseline"])["ours"]
    rows["ours"] = ours.transform(lambda names: "; ".join(dict.fromkeys(filter(None, names))))
    keys = ["benchmark", "baseline", "ours"]
    gaps = [f"gap {gap_text(target)}" for target in sorted(rows["target"].unique(), reverse=True)]
    table = rows.pivot_table("cell", keys, "gap", aggfunc="first", sort=False)
    return table.reindex(columns=gaps).fillna("").reset_index()


def performance_table(compared: pd.DataFrame) -> str:
    """Return Markdown with one row per published main benchmark, and one column per certified gap.

    `compared` is that of `Benchmark`, with a column `benchmark`. On each problem the fastest setting
    of a library counts.
    """
    lines: list[dict[str, str]] = []
    for name, title in _PERFORMANCE.items():
        rows = compared[compared["benchmark"] == name]
        if rows.empty:
            continue
        library = rows["solver"].str.partition(" (")[0]
        rows = rows.assign(library=library, in_vain=missed_target(rows))
        line = {"problems": f"[{title}](results/{name}/benchmark.md)"}
        for gap in _PERFORMANCE_GAPS:
            at_gap = rows[rows["target"] == gap]
            solved = at_gap.loc[(at_gap["kind"] == "ours") & at_gap["time"].notna(), "problem"]
            peers = at_gap[(at_gap["kind"] == "peer") & at_gap["problem"].isin(solved)]
            groups = peers.groupby(["library", "problem"])
            fastest = groups.agg(ratio=("ratio", "min"), in_vain=("in_vain", "any")).reset_index()
            cells = [
                _library_cell(str(library), each)
                for library, each in fastest.groupby("library")
                if (each["ratio"].notna() | each["in_vain"]).any()
            ]
            line[f"to a gap of {gap_text(gap)}"] = ", ".join(cell for _, cell in sorted(cells))
        lines.append(line)
    return Table.of(lines).markdown(marked_up=set().union(*lines))


def single_precision_text(compared: pd.DataFrame) -> str:
    """Return a sentence on oneDAL in float32, from the benchmarks that run both precisions."""
    is_one_dal = compared["solver"].str.startswith("one_dal")
    rows = compared[(compared["target"] == _PERFORMANCE_GAPS[0]) & is_one_dal]
    precision = rows["solver"].str.extract("(float32|float64)", expand=False)
    times = rows.groupby(["benchmark", "problem", precision])["time"].min().unstack()
    if times.shape[1] < 2:
        return ""
    measured = times.dropna(subset="float64")
    ratios = (measured["float64"] / measured["float32"]).dropna()
    gap, ends = gap_text(_PERFORMANCE_GAPS[0]), f"{ratios.min():.1f} to {ratios.max():.1f}"
    return (
        f"To a gap of {gap} one_dal in float32 is {ends} times as fast as in float64, "
        f"{gmean(ratios):.2f} in the mean, and is not certified on {len(measured) - len(ratios)} of "
        f"{len(measured)} problems."
    )


def _library_cell(name: str, fastest: pd.DataFrame) -> tuple[float, str]:
    """Return the mean of a library's ratios over problems, infinite if it solved none, and its cell."""
    ratios = fastest["ratio"].dropna()
    mean = float(gmean(ratios)) if len(ratios) else inf
    factor = f" **{Comparison(mean).factor}**" if len(ratios) else ""
    failed = fastest["ratio"].isna() & fastest["in_vain"]
    requested = fastest["ratio"].notna() | failed
    failures = f" (failed {failed.sum()} of {requested.sum()})" if failed.any() else ""
    return mean, f"{markdown(name)}{factor}{failures}"


def _baselines(means: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of baselines in means of benchmarks, with the texts of their cells."""
    attempted = means["mean"].notna() | (means["failed"] > 0)
    rows = means[(means["kind"] == "peer") & attempted]
    cells = [_baseline_cell(row) for row in rows.to_dict("records")]
    names = rows["benchmark"]
    return rows.assign(
        benchmark="[" + names.str.removeprefix("bench_") + "](" + names + "/benchmark.md)",
        baseline=rows["solver"] + rows["single"].map({True: f" {SINGLE}", False: ""}),
        cell=cells,
        gap=rows["target"].map(lambda gap: f"gap {gap_text(gap)}"),
    )


def _baseline_cell(row: Mapping[Hashable, Any]) -> str:
    """Return the cell of a baseline: its mean ratio, the range over problems, and its failures."""
    failed = f"failed {row['failed']}" if row["failed"] else ""
    if pd.isna(row["mean"]):
        return failed
    ends = (f"{float(f'{row[end]:.2g}'):g}" for end in ("least", "most"))  # 300, not 3e+02
    several = f"{' to '.join(ends)}, {row['problems']} problems"
    within = row["within_noise"] is True
    ratio = bold(Comparison(row["mean"], row["low"], row["high"], within))
    text = f"{ratio} ({several if row['problems'] > 1 else '1 problem'})"
    return ", ".join(filter(None, (text, failed)))


def first_problem_table(summary: pd.DataFrame) -> str:
    """Return Markdown with one row per solver with an answer to the first problem, best first."""
    problem = summary["problem"].iloc[0]
    rows = summary[(summary["problem"] == problem) & summary["gap"].notna()]
    head = markdown(problem).replace(" ", "<br>", 2)  # narrow, so that numbers do not wrap
    cells = {
        head: rows["solver"].map(markdown),
        "time": rows["time"].map(precise_duration),
        "objective": rows["objective"].map("{:.8g}".format),
        "gap": rows["gap"].map("{:.1e}".format),
        "outcome": rows["outcome"],
    }
    return Table.of(pd.DataFrame(cells)).markdown(marked_up=[head])
