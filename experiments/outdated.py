"""Do the README and `results/` still say what their records say?

    python -m experiments.outdated      a line for each thing that is out of date, and exit 1

The README's tables and the tables of benchmarks are derived from the records anew and compared; the
figures, and the rest, are held to their digests (see `published`).
"""

from __future__ import annotations

import io
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import numpy as np
import pandas as pd

from experiments.benchmark import tables_of
from experiments.publish import BENCHMARK, README_TABLE, ROOT, readme_table
from experiments.published import broken_seals, read_records
from experiments.store import StoreError

_ADVICE = "make results/<name> runs an experiment and publishes it again"


def outdated(root: Path = ROOT) -> list[str]:
    """Return what is out of date in `root`/results and `root`/README.md, a sentence each."""
    folders = sorted(path for path in (root / "results").iterdir() if path.is_dir())
    faults = [fault for folder in folders for fault in _in_folder(folder)]
    return faults + list(_in_readme((root / "README.md").read_text(), root))


def _in_folder(folder: Path) -> Iterator[str]:
    yield from broken_seals(folder)
    if not folder.name.startswith(BENCHMARK):
        return
    try:
        derived = tables_of(read_records(folder))
    except StoreError as error:
        yield str(error)
        return
    for name, table in derived.items():
        if not _says(folder / f"{name}.csv", table):
            yield f"{folder.name}: {name}.csv is not what its runs.csv gives"


def _says(file: Path, table: pd.DataFrame) -> bool:
    """Whether a file has the numbers of a table; columns of another version are passed over."""
    if not file.is_file():
        return False
    old, new = pd.read_csv(file), pd.read_csv(io.StringIO(table.to_csv(index=False)))
    return len(old) == len(new) and all(_same(old[name], new[name]) for name in set(old) & set(new))


def _same(old: pd.Series, new: pd.Series) -> bool:
    if pd.api.types.is_float_dtype(old) and pd.api.types.is_float_dtype(new):
        return bool(np.allclose(old, new, rtol=1e-9, atol=0.0, equal_nan=True))
    return old.astype(str).tolist() == new.astype(str).tolist()


def _in_readme(text: str, root: Path) -> Iterator[str]:
    for name, table in README_TABLE.findall(text):
        try:
            current = readme_table(name, root / "results")
        except (OSError, StoreError) as error:
            yield f"README.md: the {name} table has no records ({error})"
            continue
        if _rows(table) != _rows(current):  # what is said below them is no number
            yield f"README.md: the {name} table is not what results/ says"
    for shown in re.findall(r"\]\((results/[^)]+)\)", text):
        if not (root / shown).is_file():
            yield f"README.md: there is no {shown}"


def _rows(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.startswith("|")]


@click.command()
def main() -> None:
    """Tell what of README.md and results/ is out of date with the records; exit 1 if anything is."""
    faults = outdated()
    for fault in faults:
        click.echo(fault)
    if faults:
        click.echo(_ADVICE)
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
