"""Publish a run: its tables and figures into `results/`, and its table into the README.

    python -m experiments.publish runs/quickstart
    python -m experiments.publish runs/bench_kernel_svc runs/bench_kernel_hard
    python -m experiments.publish                   the README's tables alone, from results/

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
from experiments.published import read_records, seal
from experiments.store import load_results, planned
from experiments.tables import summarise

ROOT = Path(__file__).parent.parent
_FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)
BENCHMARK = "bench_"  # how the names of benchmarks begin
README_TABLE = re.compile(r"<!-- (\S+) table.*?-->\n(.*?)<!-- end of table -->", re.DOTALL)
_BENCHMARKS = "benchmarks"
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
    """Copy a run's tables and figures to `root`/results; return the copy.

    If `root`/README.md has markers for a table of this experiment, it is put there.

    Raises
    ------
    ValueError
        If not all planned runs are there.
    """
    _refuse_unfinished(folder)
    name = experiment_name(folder)
    target = _emptied(root / "results" / name)
    figures = [f for f in (folder / "figures").glob("*.svg") if not f.name.startswith("training")]
    for file in (*(folder / table for table in _TABLES), *figures):
        shutil.copy(file, target)
    seal(target)
    _into_readme(name, root)
    return target


def publish_benchmark(folders: Sequence[Path], root: Path = ROOT) -> Path:
    """Write what these runs of benchmarks say together to `root`/results; return that folder.

    Raises
    ------
    ValueError
        If not all planned runs are there.
    """
    for folder in folders:
        _refuse_unfinished(folder)
    names = [experiment_name(folder) for folder in folders]
    target = _emptied(root / "results" / names[0])
    for folder, name in zip(folders, names, strict=True):
        for table in ("manifest.json", "runs.csv"):
            shutil.copy(folder / table, target / (table if len(names) == 1 else f"{name}-{table}"))
    in_order = sorted(folders, key=experiment_name)  # as `read_records` finds them again
    for written in write_benchmark(in_order, target, ", ".join(sorted(names))):
        if written.suffix == ".png":  # for looking at; the repository keeps the SVG
            written.unlink()
    seal(target)
    _into_readme(_BENCHMARKS, root)
    return target


def _refuse_unfinished(folder: Path) -> None:
    missing = len(planned(folder)) - len(load_results(folder))
    if missing:
        raise ValueError(f"{folder}: {missing} of its planned runs are missing; resume it first")


def _into_readme(name: str, root: Path) -> None:
    """Put the table of a name between its markers, if the README has them."""
    readme = root / "README.md"
    text = readme.read_text()
    if any(found == name for found, _ in README_TABLE.findall(text)):
        readme.write_text(with_table(text, name, readme_table(name, root / "results")))


def readme_table(name: str, results: Path) -> str:
    """Return what stands between the README's markers for `name`, from the published records alone.

    Raises
    ------
    StoreError
        If there are none.
    """
    if name == _BENCHMARKS:
        return f"{benchmarks_table(results)}\n\n{_RATIOS}"
    table = compact_table(summarise(without_twins(read_records(results / name))))
    return f"{table}\n\n{_LEGEND}"


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
@click.argument("folders", nargs=-1, type=_FOLDER)
def main(folders: tuple[Path, ...]) -> None:
    """Publish the results FOLDERS: one of a run, or several of benchmarks that belong together.

    Without a folder the README's tables are made again from results/.
    """
    names = [experiment_name(folder) for folder in folders]
    try:
        if not folders:
            for name, _ in README_TABLE.findall((ROOT / "README.md").read_text()):
                _into_readme(name, ROOT)
        elif all(name.startswith(BENCHMARK) for name in names):
            click.echo(publish_benchmark(folders))
        elif len(folders) == 1:
            click.echo(publish(folders[0]))
        else:
            raise click.UsageError(
                f"only benchmarks ({BENCHMARK}...) are published together, got {', '.join(names)}"
            )
    except ValueError as error:
        raise click.ClickException(str(error)) from None


if __name__ == "__main__":
    main()
