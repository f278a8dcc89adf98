"""The tables in `README.md` and `results/README.md`, from the published records alone.

A table stands between `<!-- NAME table ... -->` and `<!-- end of table -->`. NAME is that of a published
experiment, of whose first problem it has all solvers, or performance (a row for each of the main
benchmarks), benchmarks (a row for each baseline), or index (a row for each published experiment).
"""

import re
from collections.abc import Hashable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from scipy.stats import gmean

from dualgap.experiments.analysis.hosts import split_by_host
from dualgap.experiments.analysis.noise import MARK, Comparison, without_repeats
from dualgap.experiments.analysis.profiles import penalty_of, shifted_means
from dualgap.experiments.analysis.scores import PAR2, SGM10
from dualgap.experiments.analysis.times import READINGS, labelled, times, tried_in_vain
from dualgap.experiments.files.experiment import purpose
from dualgap.experiments.records.names import gap_text
from dualgap.experiments.report.sections import shifted_means_table
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
    "bench_kernel_svc": "kernel, 5,000 samples and more",
    "bench_kernel_hard": "kernel, many support vectors or a large C",
    "bench_kernel_small": "kernel, fewer samples",
    "bench_svr": "kernel regression",
    "bench_linear": "linear",
}
_NAMES = ["baseline", "ours"]  # the columns of a table of baselines that are not Markdown
_GAPS = (1e-3, 1e-6)  # certified relative gaps of the table of performance
TABLES = ("benchmark.md", "verification.md", "summary.md")  # the one that an index links to first
_TABLE = re.compile(r"(<!-- (\S+) table.*?-->\n)(.*?)(<!-- end of table -->)", re.DOTALL)
RATIOS = (
    "The time of the baseline relative to ours, the fastest of our solvers on each problem (in brackets "
    "on how many, where they differ), at equal certified gap: geometric mean with its 95 % interval "
    "(Student's t; from three repetitions on), least and most over the problems that both solved. "
    "Baselines that make passes over the data are compared with ours that does so too, by the distance "
    "to the best dual bound. *failed*: problems that ours solved to this gap and the baseline, which "
    "was asked for it, did not: it stalled, or ran into a limit; one that was never asked has a blank. "
    f"{MARK}: the difference is within the noise of the measurement; bold: the interval shows more. "
    f"{SINGLE}: it uses one thread, however many it may use."
)


def folders_in(results: Path) -> list[Path]:
    """Return the folders that hold something published, in order."""
    return sorted({path.parent for path in results.rglob(f"*{NAME}")})


def rewrite(root: Path = ROOT) -> None:
    """Renew the tables of the documents below `root` for which there are records."""
    for document in documents(root):
        text, _ = renewed((root / document).read_text(), root / "results")
        disk.replace(root / document, text.encode())


def documents(root: Path) -> list[str]:
    """Return the documents with tables that are there, by their paths below `root`."""
    return [name for name in _DOCUMENTS if (root / name).is_file()]


def renewed(text: str, results: Path) -> tuple[str, list[str]]:
    """Return a document with the tables that the records give, and which of its own are others."""
    faults: list[str] = []

    def table(match: re.Match[str]) -> str:
        begin, name, known, end = match.groups()
        try:
            current = table_of(name, results)
        except (OSError, StoreError) as error:
            faults.append(f"the {name} table has no records ({error})")
            return match[0]
        if known.split() != current.split():
            faults.append(f"the {name} table is not what results/ says")
        return f"{begin}\n{current}\n\n{end}"

    return _TABLE.sub(table, text), faults


def table_of(name: str, results: Path) -> str:
    """Return what stands between the markers for `name`, from the published records alone.

    Raises
    ------
    StoreError
        If there are none.
    """
    if name == "benchmarks":
        folders = sorted(path.parent for path in results.glob("*/means.csv"))
        records = {path.name.removeprefix("bench_"): load_results(path) for path in folders}
        return f"{benchmarks_table(results)}\n\n{RATIOS} {precision_text(records)}".strip()
    if name == "index":
        return index_table(results)
    if name == "performance":
        return performance_table(results)
    return first_problem_table(summarise(without_repeats(load_results(results / name))))


def verified_table(published: RunFolder) -> str:
    """Return Markdown of what solvers of convex QPs claim, what is verified, and the mean times."""
    records = published.results
    penalty, penalty_text = penalty_of(published.manifest["time_limit"], records)
    parts = [claims(labelled(records)).markdown(), CLAIMS]
    for target, own in times(split_by_host(records)).groupby("target", sort=False):
        table = shifted_means_table(shifted_means(own, penalty)).markdown()
        parts += [f"Times to a certified relative gap of {gap_text(target)}:", table]
    means = [own.format(limit=penalty_text) for own in (SGM10, PAR2)]
    return "\n\n".join([*parts, " ".join([READINGS["cheapest_setting"], *means])])


def index_table(results: Path) -> str:
    """Return Markdown with a row for each published experiment, and links to what there is of it."""
    lines: list[dict[str, str]] = []
    for folder in folders_in(results):
        place = folder.relative_to(results)
        found = RunFolder(folder)
        tables = next(path for path in map(folder.joinpath, TABLES) if path.is_file())
        lines.append(
            {
                "experiment": f"[{markdown(place)}]({place / tables.name})",
                "what it is": purpose(found.manifest["experiment"]),
                "runs": str(len(found.results)),
                "measured": str(found.manifest.get("date", ""))[:10],
            }
        )
    return Table.of(lines).markdown(marked_up=set().union(*lines))


def benchmarks_table(results: Path) -> str:
    """Return Markdown with a row for each baseline and published benchmark, a column a target gap."""
    files = sorted(results.glob("*/means.csv"))
    if not files:
        raise StoreError(f"{results}: no benchmark is published there")
    rows = _by_gap(files)
    return Table.of(rows).markdown(marked_up=rows.columns.drop(_NAMES))


def baselines_table(benchmark: Path) -> str:
    """Return Markdown with a row for each baseline of a published benchmark; empty if it has none."""
    rows = _by_gap([benchmark / "means.csv"])
    shown = Table.of(rows.drop(columns="benchmark"))
    return "" if rows.empty else shown.markdown(marked_up=rows.columns.drop(_NAMES))


def _by_gap(files: Sequence[Path]) -> pd.DataFrame:
    """Return a row for each baseline of each benchmark, with a column of ratios a target gap."""
    rows = _baselines(files).sort_values(["benchmark", "target"], ascending=[True, False])
    ours = rows.groupby(["benchmark", "baseline"])["ours"]
    rows["ours"] = ours.transform(lambda names: "; ".join(dict.fromkeys(names.dropna())))
    places = ["benchmark", "baseline", "ours"]
    gaps = [f"gap {gap_text(target)}" for target in sorted(rows["target"].unique(), reverse=True)]
    table = rows.pivot_table("cell", places, "gap", aggfunc="first", sort=False)
    return table.reindex(columns=gaps).fillna("").reset_index()


def performance_table(results: Path) -> str:
    """Return Markdown with a row for each of the main benchmarks, a column a certified gap.

    Of a library with several settings stands, for each problem, the one that was the fastest there.
    """
    lines: list[dict[str, str]] = []
    for folder, title in _PERFORMANCE.items():
        rows = _read([results / folder / "benchmark.csv"])
        library = rows["solver"].str.partition(" (")[0]
        rows = rows.assign(library=library, in_vain=tried_in_vain(rows))
        line = {"problems": f"[{title}](results/{folder}/benchmark.md)"}
        for gap in _GAPS:
            at_gap = rows[rows["target"] == gap]
            solved = at_gap.loc[(at_gap["kind"] == "ours") & at_gap["time"].notna(), "problem"]
            peers = at_gap[(at_gap["kind"] == "peer") & at_gap["problem"].isin(solved)]
            own = peers.groupby(["library", "problem"])
            fastest = own.agg(ratio=("ratio", "min"), in_vain=("in_vain", "any")).reset_index()
            cells = [
                _of_library(str(name), each)
                for name, each in fastest.groupby("library")
                if each["ratio"].notna().any()
            ]
            line[f"to a gap of {gap_text(gap)}"] = ", ".join(cell for _, cell in sorted(cells))
        lines.append(line)
    precision = precision_text({name: load_results(results / name) for name in _PERFORMANCE})
    sentences = " ".join(filter(None, [precision, _single_precision_text(results)]))
    return f"{Table.of(lines).markdown(marked_up=set().union(*lines))}\n\n{sentences}"


def _single_precision_text(results: Path) -> str:
    """Return how oneDAL does in float32, in the benchmarks that ask it in both precisions."""
    rows = _read(sorted(results.glob("*/benchmark.csv")))
    rows = rows[(rows["target"] == _GAPS[0]) & rows["solver"].str.startswith("one_dal")]
    precision = rows["solver"].str.extract("(float32|float64)", expand=False)
    times = rows.groupby(["benchmark", "problem", precision])["time"].min().unstack()
    if times.shape[1] < 2:
        return ""
    known = times.dropna(subset="float64")
    ratios = (known["float64"] / known["float32"]).dropna()
    gap, ends = gap_text(_GAPS[0]), f"{ratios.min():.1f} to {ratios.max():.1f}"
    return (
        f"To a gap of {gap} one_dal in float32 is {ends} times as fast as in float64, "
        f"{gmean(ratios):.2f} in the mean, and is not certified on {len(known) - len(ratios)} of "
        f"{len(known)} problems."
    )


def _of_library(name: str, fastest: pd.DataFrame) -> tuple[float, str]:
    """Return the mean of a library's ratios, one for each problem, and the cell that has it."""
    mean = float(gmean(fastest["ratio"].dropna()))
    failed = fastest["ratio"].isna() & fastest["in_vain"]
    asked = fastest["ratio"].notna() | failed
    told = f" (failed {failed.sum()} of {asked.sum()})" if failed.any() else ""
    return mean, f"{markdown(name)} **{Comparison(mean).factor}**{told}"


def _read(files: Sequence[Path]) -> pd.DataFrame:
    """Return the tables of benchmarks in one; StoreError if one is not there."""
    try:
        return pd.concat([pd.read_csv(file).assign(benchmark=file.parent.name) for file in files])
    except OSError as error:
        raise StoreError(str(error)) from error


def _baselines(files: Sequence[Path]) -> pd.DataFrame:
    """Return what `means.csv` of benchmarks says of each baseline, with the texts of its cells."""
    every = _read(files)
    tried = every["mean"].notna() | (every["failed"] > 0)
    rows = every[(every["kind"] == "peer") & tried]
    cells = [_of_baseline(row) for row in rows.to_dict("records")]
    names = rows["benchmark"]
    return rows.assign(
        benchmark="[" + names.str.removeprefix("bench_") + "](" + names + "/benchmark.md)",
        baseline=rows["solver"] + rows["single"].map({True: f" {SINGLE}", False: ""}),
        cell=cells,
        gap=rows["target"].map(lambda gap: f"gap {gap_text(gap)}"),
    )


def _of_baseline(row: Mapping[Hashable, Any]) -> str:
    """Return the cell of a baseline: its mean ratio, those of single problems, and its failures."""
    failed = f"failed {row['failed']}" if row["failed"] else ""
    if pd.isna(row["mean"]):
        return failed
    ends = (f"{float(f'{row[end]:.2g}'):g}" for end in ("least", "most"))  # 300, not 3e+02
    several = f"{' to '.join(ends)}, {row['problems']} problems"
    within = row["within_noise"] is True
    ratio = bold(Comparison(row["mean"], row["low"], row["high"], within))
    told = f"{ratio} ({several if row['problems'] > 1 else '1 problem'})"
    return ", ".join(filter(None, (told, failed)))


def first_problem_table(summary: pd.DataFrame) -> str:
    """Return Markdown with a row for each solver of the first problem, best first, if it ran there."""
    problem = summary["problem"].iloc[0]
    rows = summary[(summary["problem"] == problem) & summary["gap"].notna()]
    head = markdown(problem).replace(" ", "<br>", 2)  # else the numbers are broken for its sake
    cells = {
        head: rows["solver"].map(markdown),
        "time": rows["time"].map(precise_duration),
        "objective": rows["objective"].map("{:.8g}".format),
        "gap": rows["gap"].map("{:.1e}".format),
        "outcome": rows["outcome"],
    }
    return Table.of(pd.DataFrame(cells)).markdown(marked_up=[head])
