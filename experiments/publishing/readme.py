"""The tables in `README.md` and `results/README.md`, from the published records alone.

A table stands between `<!-- NAME table ... -->` and `<!-- end of table -->`. NAME is that of a published
experiment, or benchmarks (a row for each peer), or index (a row for each published experiment).
"""

from __future__ import annotations

import re
from collections.abc import Hashable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pandas as pd

from experiments.analysis.noise import MARK, without_repeats
from experiments.analysis.verify import compare
from experiments.output.tables import summarise
from experiments.output.verify_tables import CHECKS, by_solver
from experiments.store.folder import StoreError, disk
from experiments.store.published import BENCHMARK, folders_in, manifest_of, read_records

ROOT = Path(__file__).parents[2]
DOCUMENTS = ("README.md", "results/README.md")
_TABLES = ("benchmark.md", "verification.md", "summary.md")  # the most telling one first
TABLE = re.compile(r"<!-- (\S+) table.*?-->\n(.*?)<!-- end of table -->", re.DOTALL)
_LEGEND = (
    "Median time where the certified relative gap is within the target; otherwise the gap that was "
    "reached (≈). –: the pair is impossible, and its row says why."
)

_RATIOS = (
    "How many times longer the peer took than the fastest of ours at equal certified gap: geometric "
    "mean, least and most over the problems that both solved. *failed*: problems that ours solved to "
    "this gap and no tolerance of the peer did. "
    f"{MARK}: the difference is within the noise of the measurement."
)


def rewrite(root: Path = ROOT) -> None:
    """Make the tables of the documents below `root` again, those that there are records for."""
    for document in DOCUMENTS:
        path = root / document
        if path.is_file():
            text = path.read_text()
            for name, _ in TABLE.findall(text):
                with suppress(StoreError):
                    text = with_table(text, name, table_of(name, root / "results"))
            disk.replace(path, text.encode())


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
        counted = by_solver(verification).to_markdown(index=False, disable_numparse=True)
        return f"{counted}\n\nThe check {verification.sentence}."
    return f"{compact_table(summarise(without_repeats(records)))}\n\n{_LEGEND}"


def index_table(results: Path) -> str:
    """Return Markdown with a row for each published experiment, and links to what there is of it."""
    lines: list[dict[str, str]] = []
    for folder in folders_in(results):
        manifest, place = manifest_of(folder), folder.relative_to(results)
        name = str(place)
        tables = next(path for path in map(folder.joinpath, _TABLES) if path.is_file())
        reports = sorted(path.name for path in folder.glob("*report.html"))
        lines.append(
            {
                "experiment": f"[{name}]({place / tables.name})",
                "what it is": _purpose(manifest["experiment"]),
                "runs": str(len(read_records(folder))),
                "measured": str(manifest.get("date", ""))[:10],
                "report": ", ".join(f"[{_kind(report)}]({place / report})" for report in reports),
            }
        )
    return pd.DataFrame(lines).to_markdown(index=False, disable_numparse=True)


def _purpose(experiment: str) -> str:
    """Return the first sentence of the comment that an experiment file begins with."""
    comment = re.match(r"(?:#.*\n)*", experiment)
    words = " ".join(re.sub(r"(?m)^# ?", "", comment[0] if comment else "").split())
    return re.split(r"(?<=[.?]) ", words)[0]


def _kind(report: str) -> str:
    return report.removesuffix("-report.html") if report != "report.html" else "page"


def benchmarks_table(results: Path) -> str:
    """Return Markdown with a row for each peer in each published benchmark, a column a target gap."""
    rows: dict[tuple[str, str], dict[str, str]] = {}
    targets: set[float] = set()
    for file in sorted(results.glob(f"{BENCHMARK}*/means.csv")):
        means = pd.read_csv(file)
        for row in means[(means["kind"] == "peer") & means["mean"].notna()].to_dict("records"):
            name = f"[{file.parent.name.removeprefix(BENCHMARK)}]({_link(file)})"
            cells = rows.setdefault((name, str(row["solver"])), {})
            targets.add(row["target"])
            cells[f"{row['target']:.0e}"] = _ratio(row)
    columns = [f"{target:.0e}" for target in sorted(targets, reverse=True)]
    lines = [
        {"benchmark": name, "peer": peer} | {f"gap {c}": cells.get(c, "") for c in columns}
        for (name, peer), cells in rows.items()
    ]
    return pd.DataFrame(lines).to_markdown(index=False, disable_numparse=True)


def _link(file: Path) -> str:
    return f"results/{file.parent.name}/benchmark.md"


def _ratio(row: dict[Hashable, Any]) -> str:
    text = f"{row['mean']:.2g}×"
    text = f"{text} {MARK}" if row["within_noise"] is True else f"**{text}**"
    if row["problems"] > 1:
        text += f" ({row['least']:.2g} to {row['most']:.2g}, {row['problems']} problems)"
    return text + (f", failed {row['failed']}" if row["failed"] else "")


def compact_table(summary: pd.DataFrame) -> str:
    """Return Markdown with a row a problem and a column a solver."""
    cells = summary.assign(cell=[_cell(*row) for row in _parts(summary)])
    table = cells.pivot_table("cell", "problem", "solver", aggfunc="first", sort=False)
    return table.fillna("").reset_index().to_markdown(index=False, disable_numparse=True)


def _parts(summary: pd.DataFrame) -> list[tuple[str, float, float]]:
    columns = (summary[name].tolist() for name in ("outcome", "time", "gap"))
    return list(zip(*columns, strict=True))


def _cell(outcome: str, time: float, gap: float) -> str:
    if outcome in ("solved", "infeasible"):
        return f"{time:.3g} s" if time >= 1 else f"{1e3 * time:.3g} ms"
    if outcome == "unsupported":
        return "–"
    return f"≈ {gap:.0e}" if outcome == "inaccurate" else outcome


def with_table(text: str, name: str, table: str) -> str:
    """Return a document with `table` between the markers for `name`, that it has."""
    pattern = rf"(<!-- {re.escape(name)} table.*?-->\n).*?(<!-- end of table -->)"
    return re.sub(pattern, lambda m: f"{m[1]}\n{table}\n\n{m[2]}", text, count=1, flags=re.DOTALL)
