"""A folder of runs as one zip for a paper, and the check of such an archive: it is run again.

It holds what the folder holds, and beside it the tables as CSV, figures, the versions of all installed
packages, in `inputs` the files that the experiment names by paths inside its folder, as its runs used
them, a checksum of each file, and what describes it: `datapackage.json` (Frictionless) and
`ro-crate-metadata.json` (RO-Crate 1.1).
"""

import hashlib
import json
from collections.abc import Mapping
from importlib.metadata import distributions, metadata
from io import BytesIO
from mimetypes import guess_type
from pathlib import Path
from stat import S_IFREG, S_IXUSR
from tempfile import TemporaryDirectory
from time import localtime
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from dualgap.experiments.analysis.compare import set_side_by_side
from dualgap.experiments.commands.run import RunOptions, planned_in, record
from dualgap.experiments.commands.terminal import INTERRUPTED, console, print_json, say
from dualgap.experiments.files.experiment import read_experiment
from dualgap.experiments.plots import plot_all
from dualgap.experiments.records import Refusal
from dualgap.experiments.store import disk
from dualgap.experiments.store.folder import unchanged
from dualgap.experiments.store.inputs import input_files
from dualgap.experiments.store.manifest import EXPERIMENT, NAME, StoreError, code_version
from dualgap.experiments.store.reading import RunFolder
from dualgap.experiments.store.schema import safe_path
from dualgap.experiments.tables.comparison import to_json, to_terminal
from dualgap.experiments.tables.summary import summarise, to_markdown
from dualgap.problems.validation import DAMAGE

CRATE, CHECKSUMS, LOCK = "ro-crate-metadata.json", "checksums.sha256", "environment.txt"
_CITATION = Path(__file__).resolve().parents[2] / "CITATION.cff"
_INPUTS = "inputs"  # the folder of an archive where relative paths of its experiment begin
_LARGEST = 2**34  # bytes of an archive's content


def write_archive(folder: Path, out: Path) -> None:
    """Write a folder of runs as an archive, and print what of it is left out.

    Raises
    ------
    StoreError
        If the folder holds no results or is written to, some of its runs are missing, or a file that
        they used has changed since.
    """
    with unchanged(folder):
        recorded = RunFolder(folder)
        if lacking := recorded.missing:
            raise StoreError(
                f"{folder}: {lacking} of its planned runs are missing; resume it first"
            )
        inputs = _inputs_of(folder, recorded.manifest)
        paths = _files_in(folder, out) | inputs
        content = {name: path.read_bytes() for name, path in paths.items()}
        programs = {name for name, path in paths.items() if path.stat().st_mode & S_IXUSR}
        with TemporaryDirectory() as scratch:  # a killed command may have left half of the figures
            for path in plot_all(folder, (), Path(scratch)):
                content[f"figures/{path.name}"] = path.read_bytes()
    manifest = recorded.manifest | {"folder": _INPUTS if inputs else ""}
    del manifest["experiment"]  # which is a file of its own
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
            member = ZipInfo(name, localtime()[:6])
            member.compress_type = ZIP_DEFLATED
            member.external_attr = (S_IFREG | (0o755 if name in programs else 0o644)) << 16
            archive.writestr(member, each)
    disk.replace(out, whole.getvalue())  # an earlier archive stays until this one is written


def _files_in(folder: Path, out: Path) -> dict[str, Path]:
    """Return the files of a folder by their names in its archive, without links and hidden files.

    Records of SLURM jobs in `slots` are left out too, as the log has them.
    """
    files, left_out = dict[str, Path](), list[str]()
    for path in sorted(folder.rglob("*")):
        relative = path.relative_to(folder)
        if path.is_symlink() or any(part.startswith(".") for part in relative.parts):
            left_out += [str(relative)] * (path.is_symlink() or path.is_file())
        elif path.is_file() and relative.parts[0] != "slots" and path.resolve() != out.resolve():
            files[relative.as_posix()] = path
    if left_out:
        names = ", ".join(map(repr, left_out))
        say(f"{folder}: hidden files and links are left out: {names}", err=True)
    return files


def _inputs_of(folder: Path, manifest: Mapping[str, Any]) -> dict[str, Path]:
    """Return the files that the runs of a folder use by their names in its archive.

    Raises
    ------
    StoreError
        If one has changed since the runs, by the checksums of the manifest.
    """
    inputs, files = input_files(planned_in(folder)), dict[str, Path]()
    code = code_version({file.path for file in inputs.values() if file.is_code})
    data = manifest.get("data", {})
    for name, file in inputs.items():
        if file.is_code:
            unchanged_input = manifest["code"].get(file.path.name) == code[file.path.name]
        else:
            unchanged_input = name in data and file.checksums(data[name]) == data[name]
        if not unchanged_input:
            raise StoreError(
                f"{folder}: {name} has changed since its runs; restore the file that they used, or run "
                f"them again with: dualgap run {folder} --out {folder} --force"
            )
        try:
            path = safe_path(name.rpartition(":")[0] if file.is_code else name)
            files[f"{_INPUTS}/{path}"] = file.path
        except ValueError:
            say(f"{name}: is outside the experiment's folder, and left out", err=True)
    for name in sorted(data.keys() - inputs.keys()):
        say(f"{name}: is no longer there, and left out", err=True)
    return files


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
        old = RunFolder(folder)
        old_results = old.results  # a damaged one is refused before anything is run
        described = read_experiment(folder / EXPERIMENT)
        again, early = record(described, out or Path(scratch) / "again", options, folder)
        changes = set_side_by_side(old_results, again.results)
        manifests = old.manifest, again.manifest
    if options.as_json:
        known = {"archive": str(file), "ended": early or None}
        print_json(known | to_json(changes, *manifests))
    elif not options.quiet:
        console().print(to_terminal(changes, *manifests))
    if early:
        say(f"{early}: not every run was checked", err=True)
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
            for member in archive.infolist():
                safe_path(member.filename)
                path = Path(archive.extract(member, folder))
                if member.external_attr >> 16 & S_IXUSR:
                    path.chmod(0o755)
        lines = (folder / CHECKSUMS).read_text(encoding="utf-8").splitlines()
        known = {str(safe_path(line[66:])): line[:64] for line in lines}  # two spaces between
    except (*DAMAGE, ValueError) as error:  # NotImplementedError is a RuntimeError
        raise Refusal(f"{file}: is no archive of `dualgap archive`: {error}") from None
    files = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    for name in sorted(({*known} | files) - {CHECKSUMS, CRATE}):
        path = folder / name
        if not path.is_file() or hashlib.sha256(path.read_bytes()).hexdigest() != known.get(name):
            raise Refusal(f"{file}: {name} is not what {CHECKSUMS} says; take an undamaged copy")
