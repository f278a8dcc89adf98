"""Do the README and `results/` still say what their records say?

The tables of README.md, results/README.md, benchmarks and verifications are derived from the records
again and compared; figures and the rest are compared with their digests (see `store.seals`).
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from experiments.analysis.hosts import split_by_host
from experiments.analysis.means import Benchmark
from experiments.analysis.verify import compare
from experiments.report.benchmark import tables_of
from experiments.report.published.documents import ROOT, documents, outdated_tables
from experiments.store.manifest import StoreError, read_manifest
from experiments.store.reading import RunFolder
from experiments.store.seals import broken_seals, folders_in
from experiments.tables.verification import CHECKS, to_frame


def outdated(root: Path = ROOT) -> list[str]:
    """Return what is out of date in `root`/results and the documents, a sentence each."""
    faults = [fault for folder in folders_in(root / "results") for fault in _in_folder(folder)]
    for document in documents(root):
        text = (root / document).read_text()
        tables = outdated_tables(text, root / "results")
        faults += [f"{document}: the {name} table {fault}" for name, fault in tables]
        links = re.findall(r"\]\(([^):#]+)\)", text)
        gone = [link for link in links if not (root / document).parent.joinpath(link).exists()]
        faults += [f"{document}: there is no {link}" for link in gone]
    return faults


def _in_folder(folder: Path) -> Iterator[str]:
    yield from broken_seals(folder)
    try:
        records, kind = RunFolder(folder).results, read_manifest(folder)["kind"]
    except StoreError as error:
        yield str(error)
        return
    derived: dict[str, pd.DataFrame] = {}
    if kind == "benchmark":
        derived = {
            f"{name}.csv": table
            for name, table in tables_of(Benchmark.of(split_by_host(records))).items()
        }
    elif kind == "verification":
        derived = {CHECKS: to_frame(compare(records))}
    for name, table in derived.items():
        new = pd.read_csv(io.StringIO(table.to_csv(index=False)))
        try:
            old = pd.read_csv(folder / name)
            pd.testing.assert_frame_equal(old, new, check_dtype=False, rtol=1e-9, atol=0.0)
        except (OSError, AssertionError):
            yield f"{folder.name}: {name} is not what its runs.csv gives"
