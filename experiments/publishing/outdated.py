"""Do the README and `results/` still say what their records say?

The tables of README.md, results/README.md, benchmarks and verifications are derived from the records
again and compared; figures and the rest are compared with their digests (see `published`).
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from experiments.analysis.verify import compare
from experiments.benchmark import tables_of
from experiments.output.verify_tables import CHECKS, to_frame
from experiments.publishing.documents import ROOT, documents, outdated_tables
from experiments.store.manifest import StoreError
from experiments.store.published import BENCHMARK, broken_seals, folders_in, read_records


def outdated(root: Path = ROOT) -> list[str]:
    """Return what is out of date in `root`/results and the documents, a sentence each."""
    faults = [fault for folder in folders_in(root / "results") for fault in _in_folder(folder)]
    return faults + [fault for name in documents(root) for fault in _in_document(name, root)]


def _in_folder(folder: Path) -> Iterator[str]:
    yield from broken_seals(folder)
    try:
        records = read_records(folder)
    except StoreError as error:
        yield str(error)
        return
    derived: dict[str, pd.DataFrame] = {}
    if folder.name.startswith(BENCHMARK):
        derived = {f"{name}.csv": table for name, table in tables_of(records).items()}
    elif (folder / CHECKS).is_file():
        derived = {CHECKS: to_frame(compare(records))}
    for name, table in derived.items():
        if not _says(folder / name, table):
            yield f"{folder.name}: {name} is not what its runs.csv gives"


def _says(file: Path, table: pd.DataFrame) -> bool:
    """Whether a file has the numbers of a table."""
    if not file.is_file():
        return False
    old, new = pd.read_csv(file), pd.read_csv(io.StringIO(table.to_csv(index=False)))
    try:
        pd.testing.assert_frame_equal(old, new, check_dtype=False, rtol=1e-9, atol=0.0)
    except AssertionError:
        return False
    return True


def _in_document(document: str, root: Path) -> Iterator[str]:
    text = (root / document).read_text()
    for name, fault in outdated_tables(text, root / "results"):
        yield f"{document}: the {name} table {fault}"
    for shown in re.findall(r"\]\(([^):#]+)\)", text):
        if not (root / document).parent.joinpath(shown).exists():
            yield f"{document}: there is no {shown}"
