"""Check that the README and `results/` agree with their records.

The records are `runs.csv`, `traces.csv` and `paths.csv` with their manifest. The tables of README.md,
results/README.md, benchmarks and verifications are derived from them again and compared. Figures of
answers in the plane cannot be derived from the records alone: they and the rest are compared with the
digests in `digests.json`, written last when a folder is published. In a clone with full history, the
commit that each folder names must be in it.
"""

import hashlib
import io
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from dualgap.experiments.analysis.hosts import split_by_host
from dualgap.experiments.analysis.means import Benchmark
from dualgap.experiments.analysis.verify import compare
from dualgap.experiments.report.benchmark import published_tables
from dualgap.experiments.report.published.commits import PUBLISHED_IN, history, unknown_commits
from dualgap.experiments.report.published.documents import ROOT, documents, folders_in, updated
from dualgap.experiments.store import disk
from dualgap.experiments.store.manifest import EXPERIMENT, NAME, StoreError
from dualgap.experiments.store.reading import RunFolder
from dualgap.experiments.tables.verification import CHECKS, to_frame

DIGESTS = "digests.json"
_RECORDS = ("runs.csv", "traces.csv", "paths.csv", NAME, EXPERIMENT)


def outdated(root: Path = ROOT) -> list[str]:
    """Return what is out of date in `root`/results and the documents, one sentence each."""
    folders = folders_in(root / "results")
    faults = [fault for folder in folders for fault in _in_folder(folder)]
    if not isinstance(commits := history(root), str):
        faults += [fault for folder in folders for fault in unknown_commits(folder, commits)]
    for document in documents(root):
        text = (root / document).read_text()
        faults += [f"{document}: {fault}" for fault in updated(text, root / "results")[1]]
        links = re.findall(r"\]\(([^):#]+)\)", text)
        broken = [link for link in links if not (root / document).parent.joinpath(link).exists()]
        faults += [f"{document}: linked file {link} does not exist" for link in broken]
    return faults


def _in_folder(folder: Path) -> Iterator[str]:
    yield from seal_faults(folder)
    try:
        published = RunFolder(folder)
        records, kind = published.results, published.manifest["kind"]
    except StoreError as error:
        yield str(error)
        return
    derived: dict[str, pd.DataFrame] = {}
    if kind == "benchmark":
        derived = published_tables(Benchmark.of(split_by_host(records)))
    elif kind == "verification":
        derived = {CHECKS: to_frame(compare(records))}
    for name, table in derived.items():
        new = pd.read_csv(io.StringIO(table.to_csv(index=False)))
        try:
            old = pd.read_csv(folder / name)
            pd.testing.assert_frame_equal(old, new, check_dtype=False, rtol=1e-9, atol=0.0)
        except (OSError, AssertionError):
            yield f"{folder.name}: {name} does not agree with runs.csv"


def write_digests(folder: Path) -> None:
    """Write the digests of all files of a published folder."""
    disk.replace(folder / DIGESTS, (json.dumps(_digests(folder), indent=1) + "\n").encode())


def _digests(folder: Path) -> dict[str, str]:
    skipped = (DIGESTS, PUBLISHED_IN)
    files = sorted(path for path in folder.iterdir() if path.is_file() and path.name not in skipped)
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def seal_faults(folder: Path) -> Iterator[str]:
    """Yield the differences to the published state, one sentence each."""
    try:
        recorded: dict[str, str] = json.loads((folder / DIGESTS).read_text())
    except (OSError, ValueError) as error:
        yield f"{folder.name}: {DIGESTS} cannot be read ({error})"
        return
    current = _digests(folder)
    changed = [name for name in recorded if current.get(name, recorded[name]) != recorded[name]]
    records = [name for name in changed if name.endswith(_RECORDS)]
    if records:
        names = " and ".join(records)
        yield f"{folder.name}: {names} changed after tables and figures were made from it"
    for name in changed:
        if name not in records:
            yield f"{folder.name}: {name} changed after it was published"
    for name in sorted(recorded.keys() ^ current.keys()):
        yield f"{folder.name}: {name} is {'missing' if name in recorded else 'not published'}"
