"""A folder of runs as one zip for a paper, and the check of such an archive: it is run again.

It holds what the folder holds, and beside it the tables as CSV, the files that the experiment names by
paths inside its folder, the versions of all installed packages, a checksum of each file, and what
describes it: `datapackage.json` (Frictionless) and `ro-crate-metadata.json` (RO-Crate 1.1).
"""

import hashlib
import json
from collections.abc import Mapping
from importlib.metadata import distributions, metadata
from io import BytesIO
from mimetypes import guess_type
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

import click

from experiments.analysis.compare import set_side_by_side
from experiments.commands.run import RunOptions, planned_in, record
from experiments.commands.terminal import INTERRUPTED, console, print_json
from experiments.files.experiment import read_experiment
from experiments.plots import plot_all
from experiments.records import Refusal
from experiments.store import disk
from experiments.store.inputs import input_files
from experiments.store.manifest import EXPERIMENT, NAME, StoreError
from experiments.store.reading import RunFolder
from experiments.tables.comparison import to_json, to_terminal
from experiments.tables.summary import summarise, to_markdown
from problems.validation import DAMAGE

CRATE, CHECKSUMS, LOCK = "ro-crate-metadata.json", "checksums.sha256", "environment.txt"
_CITATION = Path(__file__).parents[2] / "CITATION.cff"
_LARGEST = 2**34  # bytes of an archive's content


def write_archive(folder: Path, out: Path) -> None:
    """Write a folder of runs as an archive.

    Raises
    ------
    StoreError
        If the folder holds no results, or some of its runs are missing.
    """
    recorded = RunFolder(folder)
    if lacking := recorded.missing:
        raise StoreError(f"{folder}: {lacking} of its planned runs are missing; resume it first")
    if not (folder / "figures").is_dir():
        plot_all(folder, ())
    slots = folder / "slots"  # what jobs of SLURM recorded there is in the log too
    content = {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.name.startswith(".") and slots not in path.parents
        if path.resolve() != out.resolve()
    }
    for name, file in input_files(planned_in(folder)).items():
        relative = Path(name.rpartition(":")[0] if file.is_code else name)
        if relative.expanduser().is_absolute() or ".." in relative.parts:
            click.echo(f"{name}: is outside the experiment's folder, and left out", err=True)
        else:
            content[relative.as_posix()] = file.path.read_bytes()
    manifest = json.loads(content[NAME]) | {"folder": ""}  # paths begin in the archive
    lock = sorted({f"{each.name}=={each.version}" for each in distributions()}, key=str.lower)
    content |= {
        **recorded.csv_files(),
        NAME: json.dumps(manifest, indent=1).encode(),
        "summary.md": to_markdown(summarise(recorded.results), manifest["name"]).encode(),
        LOCK: "\n".join([*lock, ""]).encode(),
    }
    if _CITATION.is_file():
        content[_CITATION.name] = _CITATION.read_bytes()
    for name in (CRATE, CHECKSUMS):  # of an archive that was unpacked
        content.pop(name, None)
    lines = [f"{hashlib.sha256(each).hexdigest()}  {name}\n" for name, each in content.items()]
    content[CHECKSUMS] = "".join(lines).encode()  # as `sha256sum --check` reads it
    # without a checksum, as an author and a licence are written there
    content[CRATE] = json.dumps(_crate(manifest, content), indent=1).encode()
    whole = BytesIO()
    with ZipFile(whole, "w", ZIP_DEFLATED) as archive:
        for name, each in content.items():
            archive.writestr(name, each)
    disk.replace(out, whole.getvalue())  # an earlier archive stays until this one is written


def _crate(manifest: Mapping[str, Any], content: Mapping[str, bytes]) -> dict[str, Any]:
    """Return the description of an archive as an RO-Crate has it.

    Its licence is that of the toolkit, until whoever publishes the archive gives it another.
    """
    release = manifest["versions"].get("dualgap", "")
    about = (
        f"The {len(manifest['run_ids'])} runs of the dualgap experiment {manifest['name']}, with "
        "certified bounds of each answer; `dualgap run ARCHIVE.zip --check` runs them again."
    )
    files = [
        {
            "@id": name,
            "@type": "File",
            "name": name,
            "encodingFormat": guess_type(name)[0] or "application/octet-stream",
            "contentSize": str(len(each)),
        }
        for name, each in content.items()
    ]
    software = {
        "@id": "#dualgap",
        "@type": "SoftwareApplication",
        "name": "dualgap",
        "softwareVersion": release,
        "softwareRequirements": LOCK,
    }
    named = metadata("dualgap")["License-Expression"]
    licence = {
        "@id": f"https://spdx.org/licenses/{named}",
        "@type": "CreativeWork",
        "name": named,
        "description": f"The licence {named} of dualgap, under which this archive is published.",
    }
    root = {
        "@id": "./",
        "@type": "Dataset",
        "name": manifest["name"],
        "description": about,
        "datePublished": manifest["date"],
        "license": {"@id": licence["@id"]},
        "hasPart": [{"@id": name} for name in content],
        "mentions": {"@id": "#run"},
    }
    action = {
        "@id": "#run",
        "@type": "CreateAction",
        "name": f"dualgap run {EXPERIMENT}",
        "instrument": {"@id": "#dualgap"},
        "object": {"@id": EXPERIMENT},
        "result": {"@id": "runs.csv"},
        "endTime": manifest["date"],
    }
    described = {
        "@id": CRATE,
        "@type": "CreativeWork",
        "conformsTo": {"@id": "https://w3id.org/ro/crate/1.1"},
        "about": {"@id": "./"},
    }
    return {
        "@context": "https://w3id.org/ro/crate/1.1/context",
        "@graph": [described, root, licence, software, action, *files],
    }


def check_archive(file: Path, out: Path | None, options: RunOptions) -> int:
    """Run an archive again and print what has changed; return the exit code."""
    with TemporaryDirectory() as scratch:
        folder = Path(scratch) / "archive"
        _extract(file, folder)
        described, old = read_experiment(folder / EXPERIMENT), RunFolder(folder)
        again, early = record(described, out or Path(scratch) / "again", options, folder)
        changes = set_side_by_side(old.results, again.results)
        manifests = old.manifest, again.manifest
    if options.as_json:
        known = {"archive": str(file), "ended": early or None}
        print_json(known | to_json(changes, *manifests))
    elif not options.quiet:
        console().print(to_terminal(changes, *manifests))
    if early:
        click.echo(f"{early}: not every run was checked", err=True)
        return 130 if early == INTERRUPTED else 1
    differing = ("contradictory", "other data")
    return int(any(own.before != own.after or own.change in differing for own in changes))


def _extract(file: Path, folder: Path) -> None:
    """Unpack an archive; Refusal if it is none, or is damaged."""
    try:
        with ZipFile(file) as archive:
            if sum(each.file_size for each in archive.infolist()) > _LARGEST:
                raise Refusal(
                    f"{file}: holds more than {_LARGEST // 2**30} GiB; unpack it yourself"
                )
            archive.extractall(folder)
        lines = (folder / CHECKSUMS).read_text(encoding="utf-8").splitlines()
    except (*DAMAGE, ValueError) as error:  # NotImplementedError is a RuntimeError
        raise Refusal(f"{file}: is no archive of `dualgap archive`: {error}") from None
    known = {name: digest for digest, _, name in (line.partition("  ") for line in lines)}
    files = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    for name in sorted(({*known} | files) - {CHECKSUMS, CRATE}):
        path = folder / name
        if not path.is_file() or hashlib.sha256(path.read_bytes()).hexdigest() != known.get(name):
            raise Refusal(f"{file}: {name} is not what {CHECKSUMS} says; take an undamaged copy")
