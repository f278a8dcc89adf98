"""Publish a run: its tables and figures into `results/`, and its table into the README.

    python -m experiments.publish runs/quickstart
    python -m experiments.publish runs/bench_kernel_svc runs/bench_kernel_hard

copies what a reader wants from the folder of a run to results/<name of the experiment> (not the
training pictures, one for each solver), and writes
the README's table between the markers `<!-- NAME table` and `<!-- end of table -->`. Of a benchmark,
an experiment called bench_..., it writes what `experiments.benchmark` makes of it; several that
belong together are told together, under the name of the first.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Hashable, Sequence
from pathlib import Path
from typing import Any

import click
import pandas as pd

from experiments.benchmark import write_benchmark
from experiments.noise import MARK, without_twins
from experiments.store import load_results
from experiments.tables import summarise

ROOT = Path(__file__).parent.parent
_FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)
_BENCHMARK = "bench_"
_TABLES = ("manifest.json", "runs.csv", "summary.md")
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


def publish(folder: Path, root: Path = ROOT) -> Path:
    """Copy a run's tables and figures to `root`/results, update `root`/README.md; return the copy.

    Raises
    ------
    ValueError
        If the README has no markers for this experiment.
    """
    name = experiment_name(folder)
    target = _emptied(root / "results" / name)
    figures = [f for f in (folder / "figures").glob("*.svg") if not f.name.startswith("training")]
    for file in (*(folder / table for table in _TABLES), *figures):
        shutil.copy(file, target)
    readme = root / "README.md"
    table = compact_table(summarise(without_twins(load_results(folder))))
    readme.write_text(with_table(readme.read_text(), name, f"{table}\n\n{_LEGEND}"))
    return target


def publish_benchmark(folders: Sequence[Path], root: Path = ROOT) -> Path:
    """Write what these runs of benchmarks say together to `root`/results; return that folder."""
    names = [experiment_name(folder) for folder in folders]
    target = _emptied(root / "results" / names[0])
    for folder, name in zip(folders, names, strict=True):
        for table in ("manifest.json", "runs.csv"):
            shutil.copy(folder / table, target / (table if len(names) == 1 else f"{name}-{table}"))
    for written in write_benchmark(folders, target, ", ".join(names)):
        if written.suffix == ".png":  # for looking at; the repository keeps the SVG
            written.unlink()
    readme = root / "README.md"
    table = benchmarks_table(root / "results")
    readme.write_text(with_table(readme.read_text(), "benchmarks", f"{table}\n\n{_RATIOS}"))
    return target


def benchmarks_table(results: Path) -> str:
    """Return Markdown with a row for each peer in each published benchmark, a column a target gap."""
    rows: dict[tuple[str, str], dict[str, str]] = {}
    targets: set[float] = set()
    for file in sorted(results.glob(f"{_BENCHMARK}*/means.csv")):
        means = pd.read_csv(file)
        for row in means[(means["kind"] == "peer") & means["mean"].notna()].to_dict("records"):
            name = f"[{file.parent.name.removeprefix(_BENCHMARK)}]({_link(file)})"
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
    noisy = row.get("within_noise") is True  # tables that were published before have no such column
    text = f"{text} {MARK}" if noisy else f"**{text}**"
    if row["problems"] > 1:
        text += f" ({row['least']:.2g} to {row['most']:.2g}, {row['problems']} problems)"
    return text + (f", failed {row['failed']}" if row["failed"] else "")


def _emptied(folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


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
    """Return a document with `table` between the markers for `name`."""
    pattern = rf"(<!-- {re.escape(name)} table.*?-->\n).*?(<!-- end of table -->)"
    if not re.search(pattern, text, re.DOTALL):
        raise ValueError(
            f"README.md: has no markers <!-- {name} table --> and <!-- end of table -->"
        )
    return re.sub(pattern, lambda m: f"{m[1]}\n{table}\n\n{m[2]}", text, count=1, flags=re.DOTALL)


def experiment_name(folder: Path) -> str:
    """Return the name of the experiment that a folder has the runs of."""
    from ruamel.yaml import YAML  # noqa: PLC0415 - only here

    manifest = json.loads((folder / "manifest.json").read_text())
    return str(YAML(typ="safe").load(manifest["experiment"])["name"])


@click.command()
@click.argument("folders", nargs=-1, required=True, type=_FOLDER)
def main(folders: tuple[Path, ...]) -> None:
    """Publish the results FOLDERS: one of a run, or several of benchmarks that belong together."""
    names = [experiment_name(folder) for folder in folders]
    if all(name.startswith(_BENCHMARK) for name in names):
        click.echo(publish_benchmark(folders))
    elif len(folders) == 1:
        click.echo(publish(folders[0]))
    else:
        raise click.UsageError(
            f"only benchmarks ({_BENCHMARK}...) are published together, got {', '.join(names)}"
        )


if __name__ == "__main__":
    main()
