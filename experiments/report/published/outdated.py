"""Do the README and `results/` still say what their records say?

The records are `runs.csv`, `traces.csv` and `paths.csv` with their manifest. The tables of README.md,
results/README.md, benchmarks and verifications are derived from them again and compared. Figures of
answers in the plane cannot be derived from the records alone: they and the rest are held to the digests
in `digests.json`, written last when a folder is published. In a clone with the whole history, every
folder names a commit that is in it.
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
from dualgap.experiments.report.benchmark import tables_of
from dualgap.experiments.report.published.commits import PUBLISHED_IN, history, unknown_commits
from dualgap.experiments.report.published.documents import ROOT, documents, folders_in, renewed
from dualgap.experiments.store import disk
from dualgap.experiments.store.manifest import EXPERIMENT, NAME, StoreError
from dualgap.experiments.store.reading import RunFolder
from dualgap.experiments.tables.verification import CHECKS, to_frame

DIGESTS = "digests.json"
_RECORDS = ("runs.csv", "traces.csv", "paths.csv", NAME, EXPERIMENT)


def outdated(root: Path = ROOT) -> list[str]:
    """Return what is out of date in `root`/results and the documents, a sentence each."""
    folders = folders_in(root / "results")
    faults = [fault for folder in folders for fault in _in_folder(folder)]
    if not isinstance(known := history(root), str):
        faults += [fault for folder in folders for fault in unknown_commits(folder, known)]
    for document in documents(root):
        text = (root / document).read_text()
        faults += [f"{document}: {fault}" for fault in renewed(text, root / "results")[1]]
        links = re.findall(r"\]\(([^):#]+)\)", text)
        gone = [link for link in links if not (root / document).parent.joinpath(link).exists()]
        faults += [f"{document}: there is no {link}" for link in gone]
    return faults


def _in_folder(folder: Path) -> Iterator[str]:
    yield from broken_seals(folder)
    try:
        published = RunFolder(folder)
        records, kind = published.results, published.manifest["kind"]
    except StoreError as error:
        yield str(error)
        return
    derived: dict[str, pd.DataFrame] = {}
    if kind == "benchmark":
        derived = tables_of(Benchmark.of(split_by_host(records)))
    elif kind == "verification":
        derived = {CHECKS: to_frame(compare(records))}
    for name, table in derived.items():
        new = pd.read_csv(io.StringIO(table.to_csv(index=False)))
        try:
            old = pd.read_csv(folder / name)
            pd.testing.assert_frame_equal(old, new, check_dtype=False, rtol=1e-9, atol=0.0)
        except (OSError, AssertionError):
            yield f"{folder.name}: {name} is not what its runs.csv gives"


def seal(folder: Path) -> None:
    """Note the digests of all files of a published folder."""
    disk.replace(folder / DIGESTS, (json.dumps(_digests(folder), indent=1) + "\n").encode())


def _digests(folder: Path) -> dict[str, str]:
    others = (DIGESTS, PUBLISHED_IN)
    files = sorted(path for path in folder.iterdir() if path.is_file() and path.name not in others)
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def broken_seals(folder: Path) -> Iterator[str]:
    """Yield what is not as it was published, a sentence each."""
    try:
        sealed: dict[str, str] = json.loads((folder / DIGESTS).read_text())
    except (OSError, ValueError) as error:
        yield f"{folder.name}: {DIGESTS} cannot be read ({error})"
        return
    found = _digests(folder)
    changed = [name for name in sealed if found.get(name, sealed[name]) != sealed[name]]
    records = [name for name in changed if name.endswith(_RECORDS)]
    if records:
        names = " and ".join(records)
        yield f"{folder.name}: {names} changed after tables and figures were made from it"
    for name in changed:
        if name not in records:
            yield f"{folder.name}: {name} is not the one that was made of the records"
    for name in sorted(sealed.keys() ^ found.keys()):
        yield f"{folder.name}: {name} is {'missing' if name in sealed else 'of no publication'}"
