"""Do the README and `results/` still say what their records say?

    python -m experiments.publishing.outdated      a line for each thing that is out of date, and exit 1

The tables of README.md, results/README.md, benchmarks and verifications are derived from the records
anew and compared; figures, reports and the rest are held to their digests (see `published`).
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

from experiments.analysis.verify import compare
from experiments.benchmark import tables_of
from experiments.output.verify_tables import CHECKS, to_frame
from experiments.publishing.readme import DOCUMENTS, ROOT, TABLE, table_of
from experiments.store.folder import StoreError
from experiments.store.published import BENCHMARK, broken_seals, folders_in, read_records

_ADVICE = "make results/<name> runs an experiment and publishes it again"


def outdated(root: Path = ROOT) -> list[str]:
    """Return what is out of date in `root`/results and the documents, a sentence each."""
    results = root / "results"
    faults = [fault for folder in folders_in(results) for fault in _in_folder(folder)]
    documents = [name for name in DOCUMENTS if (root / name).is_file()]
    return faults + [fault for name in documents for fault in _in_document(name, root)]


def _in_folder(folder: Path) -> Iterator[str]:
    yield from broken_seals(folder)
    try:
        derived = _derived(folder)
    except StoreError as error:
        yield str(error)
        return
    for name, table in derived.items():
        if not _says(folder / name, table):
            yield f"{folder.name}: {name} is not what its runs.csv gives"


def _derived(folder: Path) -> dict[str, pd.DataFrame]:
    """Return the tables of a folder that its records alone give, by the names of their files."""
    if folder.name.startswith(BENCHMARK):
        return {f"{name}.csv": table for name, table in tables_of(read_records(folder)).items()}
    if (folder / CHECKS).is_file():
        return {CHECKS: to_frame(compare(read_records(folder)))}
    return {}


def _says(file: Path, table: pd.DataFrame) -> bool:
    """Whether a file has the numbers of a table."""
    if not file.is_file():
        return False
    old, new = pd.read_csv(file), pd.read_csv(io.StringIO(table.to_csv(index=False)))
    if len(old) != len(new) or list(old) != list(new):
        return False
    return all(_same(old[name], new[name]) for name in old)


def _same(old: pd.Series, new: pd.Series) -> bool:
    if pd.api.types.is_float_dtype(old) and pd.api.types.is_float_dtype(new):
        return bool(np.allclose(old, new, rtol=1e-9, atol=0.0, equal_nan=True))
    return old.astype(str).tolist() == new.astype(str).tolist()


def _in_document(document: str, root: Path) -> Iterator[str]:
    text = (root / document).read_text()
    for name, table in TABLE.findall(text):
        try:
            current = table_of(name, root / "results")
        except (OSError, StoreError) as error:
            yield f"{document}: the {name} table has no records ({error})"
            continue
        if _rows(table) != _rows(current):  # what is said below them is no number
            yield f"{document}: the {name} table is not what results/ says"
    for shown in re.findall(r"\]\(([^):#]+)\)", text):
        if not (root / document).parent.joinpath(shown).exists():
            yield f"{document}: there is no {shown}"


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
