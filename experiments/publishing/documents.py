"""The tables in `README.md` and `results/README.md`, from the published records alone.

A table stands between `<!-- NAME table ... -->` and `<!-- end of table -->`. NAME is that of a published
experiment, or benchmarks (a row for each baseline), or index (a row for each published experiment).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from experiments.analysis.noise import MARK, Comparison, without_repeats
from experiments.analysis.outcomes import FINAL
from experiments.analysis.verify import compare
from experiments.benchmark.report import bold
from experiments.output.tables import summarise
from experiments.output.text import SINGLE, markdown_table, precise_duration, time_and_setup
from experiments.output.verify_tables import CHECKS, by_solver
from experiments.store.folder import StoreError, disk
from experiments.store.published import (
    BENCHMARK,
    experiment_name,
    folders_in,
    manifests_of,
    read_records,
)

ROOT = Path(__file__).parents[2]
_DOCUMENTS = ("README.md", "results/README.md")
_TABLES = ("benchmark.md", "verification.md", "summary.md")  # the one that an index links to first
_TABLE = re.compile(r"(<!-- (\S+) table.*?-->\n)(.*?)(<!-- end of table -->)", re.DOTALL)
_LEGEND = (
    "Median time of solving + of setting up (imports, compiling), where the certified relative gap is "
    "within the target; otherwise the gap that was "
    "reached (≈). –: this solver cannot take this problem; the run's reason says why."
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
        return f"{benchmarks_table(results)}\n\n{_RATIOS}"
    if name == "index":
        return index_table(results)
    records = read_records(results / name)
    if (results / name / CHECKS).is_file():
        verification = compare(records)
        return f"{markdown_table(by_solver(verification))}\n\nThe check {verification.sentence}."
    return f"{compact_table(summarise(without_repeats(records)))}\n\n{_LEGEND}"


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
    rows = pd.concat([pd.read_csv(file).assign(folder=file.parent.name) for file in files])
    rows = rows[(rows["kind"] == "peer") & rows["mean"].notna()]
    rows = rows.assign(
        benchmark=[
            f"[{name.removeprefix(BENCHMARK)}](results/{name}/benchmark.md)"
            for name in rows["folder"]
        ],
        baseline=rows["solver"] + rows["single"].map({True: f" {SINGLE}", False: ""}),
        ours=rows.groupby(["folder", "solver"])["ours"].transform(_joined),
        cell=[_ratio(row) for row in rows.to_dict("records")],
        gap=rows["target"].map("gap {:.0e}".format),
    )
    columns = rows.sort_values("target", ascending=False)["gap"].unique()
    places = ["benchmark", "baseline", "ours"]
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


def compact_table(summary: pd.DataFrame) -> str:
    """Return Markdown with a row a problem and a column a solver."""
    cells = summary.assign(cell=[_cell(row) for row in summary.to_dict("records")])
    table = cells.pivot_table("cell", "problem", "solver", aggfunc="first", sort=False)
    return markdown_table(table.fillna("").reset_index())


def _cell(row: Mapping[Any, Any]) -> str:
    outcome = str(row["outcome"])
    if outcome in FINAL:
        return time_and_setup(row["time"], row["set-up"], precise_duration)
    if outcome == "unsupported":
        return "–"
    return f"≈ {row['gap']:.0e}" if outcome == "inaccurate" else outcome
