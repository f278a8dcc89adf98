"""The tables in `README.md` and `results/README.md`, from the published records alone.

A table stands between `<!-- NAME table ... -->` and `<!-- end of table -->`. NAME is that of a published
experiment, for a table small enough for the README, or benchmarks (a row for each baseline), or index (a
row for each published experiment).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from experiments.analysis.noise import MARK, Comparison, without_repeats
from experiments.analysis.outcomes import FINAL
from experiments.analysis.verify import compare
from experiments.benchmark.report import bold
from experiments.output.tables import summarise
from experiments.output.text import SINGLE, markdown_table, precise_duration, precision_text
from experiments.output.verify_tables import CHECKS, by_solver
from experiments.store import disk
from experiments.store.manifest import StoreError
from experiments.store.published import (
    BENCHMARK,
    experiment_name,
    folders_in,
    manifests_of,
    read_records,
)

ROOT = Path(__file__).parents[2]
_DOCUMENTS = ("README.md", "results/README.md")
_COUNT = r" \(\d+\)"  # of problems, behind the name of a solver
_TABLES = ("benchmark.md", "verification.md", "summary.md")  # the one that an index links to first
_TABLE = re.compile(r"(<!-- (\S+) table.*?-->\n)(.*?)(<!-- end of table -->)", re.DOTALL)
_LEGEND = (
    "Median time of solving, without setting up (imports, compiling), of the solvers whose certified "
    "relative gap is within the target; last, the gap that was certified of the others' answers."
)
_RATIOS = (
    "The time of the baseline relative to ours, the fastest of our solvers on each problem (in brackets "
    "on how many, where they differ), at equal certified gap: geometric mean with its 95 % interval "
    "(bootstrap; from three repetitions on), least and most over the problems that both solved. "
    "Baselines that make passes over the data are compared with ours that does so too, by the distance "
    "to the best dual bound. *failed*: problems that ours solved to this gap and the baseline, which "
    "was asked for it, did not: it stalled, or ran into a limit; one that was never asked has a blank. "
    f"{MARK}: the difference is within the noise of the measurement. {SINGLE}: it uses one thread, "
    "however many it may use."
)


def rewrite(root: Path = ROOT) -> None:
    """Renew the tables of the documents below `root` for which there are records."""

    def renewed(match: re.Match[str]) -> str:
        try:
            return f"{match[1]}\n{table_of(match[2], root / 'results')}\n\n{match[4]}"
        except StoreError:
            return match[0]

    for document in documents(root):
        text = (root / document).read_text()
        disk.replace(root / document, _TABLE.sub(renewed, text).encode())


def documents(root: Path) -> list[str]:
    """Return the documents with tables that are there, by their paths below `root`."""
    return [name for name in _DOCUMENTS if (root / name).is_file()]


def outdated_tables(text: str, results: Path) -> Iterator[tuple[str, str]]:
    """Yield the name of each table of a document that the records do not give, and what is wrong."""
    for _, name, table, _ in _TABLE.findall(text):
        try:
            current = table_of(name, results)
        except (OSError, StoreError) as error:
            yield name, f"has no records ({error})"
            continue
        if _rows(table) != _rows(current):
            yield name, "is not what results/ says"


def _rows(text: str) -> list[str]:
    """Return the rows of a table; the sentences around it contain no numbers."""
    return [line.strip() for line in text.splitlines() if line.startswith("|")]


def table_of(name: str, results: Path) -> str:
    """Return what stands between the markers for `name`, from the published records alone.

    Raises
    ------
    StoreError
        If there are none.
    """
    if name == "benchmarks":
        folders = sorted(path.parent for path in results.glob(f"{BENCHMARK}*/means.csv"))
        records = {path.name.removeprefix(BENCHMARK): read_records(path) for path in folders}
        return f"{benchmarks_table(results)}\n\n{_RATIOS} {precision_text(records)}".strip()
    if name == "index":
        return index_table(results)
    if name.startswith(BENCHMARK):
        precision = precision_text({name: read_records(results / name)})
        return f"{baselines_table(results / name)}\n\n{precision}".strip()
    records = read_records(results / name)
    if (results / name / CHECKS).is_file():
        verification = compare(records)
        return f"{passed_table(by_solver(verification))}\n\nThe check {verification.sentence}."
    target = float(records["target_gap"].max())
    return f"{fastest_table(summarise(without_repeats(records)), target)}\n\n{_LEGEND}"


def index_table(results: Path) -> str:
    """Return Markdown with a row for each published experiment, and links to what there is of it."""
    lines: list[dict[str, str]] = []
    for folder in folders_in(results):
        place = folder.relative_to(results)
        manifests = {experiment_name(manifest): manifest for manifest in manifests_of(folder)}
        manifest = manifests[folder.name]
        tables = next(path for path in map(folder.joinpath, _TABLES) if path.is_file())
        lines.append(
            {
                "experiment": f"[{place}]({place / tables.name})",
                "what it is": purpose(manifest["experiment"]),
                "runs": str(len(read_records(folder))),
                "measured": str(manifest.get("date", ""))[:10],
            }
        )
    return markdown_table(pd.DataFrame(lines))


def purpose(experiment: str) -> str:
    """Return the first sentence of the comment that an experiment file begins with."""
    comment = re.match(r"(?:#.*\n)*", experiment)
    words = " ".join(re.sub(r"(?m)^# ?", "", comment[0] if comment else "").split())
    return re.split(r"(?<=[.?]) ", words)[0]


def benchmarks_table(results: Path) -> str:
    """Return Markdown with a row for each baseline and published benchmark, a column a target gap."""
    files = sorted(results.glob(f"{BENCHMARK}*/means.csv"))
    if not files:
        raise StoreError(f"{results}: no benchmark is published there")
    rows = _baselines(files)
    rows = rows.assign(
        benchmark=[
            f"[{name.removeprefix(BENCHMARK)}]({name}/benchmark.md)" for name in rows["folder"]
        ],
        ours=rows.groupby(["folder", "solver"])["ours"].transform(_joined),
    )
    return _by_gap(rows, ["benchmark", "baseline", "ours"])


def baselines_table(folder: Path) -> str:
    """Return Markdown with a row for each baseline of one benchmark, a column a target gap."""
    rows = _baselines([folder / "means.csv"])
    ours = (
        rows["ours"].str.replace(_COUNT, "", regex=True).str.split(", ").explode().dropna().unique()
    )
    return _by_gap(rows.assign(**{f"time relative to {' or '.join(ours)}": rows["baseline"]}))


def _baselines(files: Sequence[Path]) -> pd.DataFrame:
    """Return what `means.csv` of benchmarks says of each baseline, with the texts of its cells."""
    try:
        rows = pd.concat([pd.read_csv(file).assign(folder=file.parent.name) for file in files])
    except OSError as error:
        raise StoreError(str(error)) from error
    rows = rows[(rows["kind"] == "peer") & rows["mean"].notna()]
    return rows.assign(
        baseline=rows["solver"] + rows["single"].map({True: f" {SINGLE}", False: ""}),
        cell=[_ratio(row) for row in rows.to_dict("records")],
        gap=rows["target"].map("gap {:.0e}".format),
    )


def _by_gap(rows: pd.DataFrame, places: Sequence[str] = ()) -> str:
    columns = rows.sort_values("target", ascending=False)["gap"].unique()
    places = list(places or rows.columns[-1:])
    table = rows.pivot_table("cell", places, "gap", aggfunc="first", sort=False)
    return markdown_table(table[list(columns)].fillna("").reset_index())


def _joined(names: pd.Series) -> str:
    """Return our solvers of several gaps: those of the first one, if they are the same in all."""
    return "; ".join(dict.fromkeys(names.astype(str)))


def _ratio(row: Mapping[Any, Any]) -> str:
    text = bold(Comparison(row["mean"], row["low"], row["high"], row["within_noise"] is True))
    several = f"{row['least']:.2g} to {row['most']:.2g}, {row['problems']} problems"
    text += f" ({several})" if row["problems"] > 1 else " (1 problem)"
    return text + (f", failed {row['failed']}" if row["failed"] else "")


def fastest_table(summary: pd.DataFrame, target: float) -> str:
    """Return Markdown with a row a problem: who reached the target soonest and last, and who did not."""
    lines: list[dict[str, str]] = []
    for problem, rows in summary.groupby("problem", sort=False):
        timed = [
            f"{row['solver']}, {precise_duration(row['time'])}"
            for row in rows[rows["outcome"].isin(FINAL)].to_dict("records")
        ]
        far = rows[rows["outcome"] == "inaccurate"].to_dict("records")
        lines.append(
            {
                "problem": str(problem),
                f"fastest to gap {target:.0e}": "".join(timed[:1]),
                "slowest": "".join(timed[1:][-1:]),
                "gap of others": "; ".join(f"{row['solver']} {row['gap']:.0e}" for row in far),
            }
        )
    return markdown_table(pd.DataFrame(lines))


def passed_table(counts: pd.DataFrame) -> str:
    """Return the table of `by_solver` as Markdown, its problems beside those that passed."""
    passed = counts["passed"] + " of " + counts["problems"]
    return markdown_table(counts.assign(passed=passed).drop(columns="problems"))
