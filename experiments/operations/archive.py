"""Archive a results folder as one zip file for a paper; `unpacking` reads it.

An archive holds the files of the folder, the tables as CSV, figures, the versions of all installed
packages, the experiment's input files inside its folder (in `inputs`), a checksum of each file, and
`datapackage.json` (Frictionless), which describes the tables.
"""

import hashlib
import json
from collections.abc import Mapping
from importlib.metadata import distributions
from io import BytesIO
from pathlib import Path, PurePosixPath
from stat import S_IFREG, S_IXUSR
from tempfile import TemporaryDirectory
from time import localtime
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from dualgap.experiments.analysis.results import Results
from dualgap.experiments.operations.terminal import say
from dualgap.experiments.operations.unpacking import CHECKSUMS
from dualgap.experiments.plots import plot_all
from dualgap.experiments.store import disk
from dualgap.experiments.store.inputs import input_files
from dualgap.experiments.store.manifest import (
    NAME,
    SESSION_FILE,
    StoreError,
    code_version,
)
from dualgap.experiments.store.plan import planned_cases
from dualgap.experiments.store.reading import RunFolder
from dualgap.experiments.store.schema import safe_path
from dualgap.experiments.tables.summary import summarise, to_markdown

LOCK = "environment.txt"
_CITATION = Path(__file__).resolve().parents[2] / "CITATION.cff"
_INPUTS = "inputs"  # base of the experiment's relative paths in an archive


def write_archive(folder: Path, out: Path) -> None:
    """Write a results folder as an archive, and print which files are left out.

    Raises
    ------
    StoreError
        If the folder holds no results, runs are missing, or one of their input files has changed since.
    """
    recorded = RunFolder(folder)
    if missing := recorded.missing:
        raise StoreError(f"{missing} planned runs of {folder} are missing. Resume it first.")
    inputs = _inputs_of(folder, recorded.manifest)
    paths = _files_in(folder, out) | inputs
    content = {name: path.read_bytes() for name, path in paths.items()}
    programs = {name for name, path in paths.items() if path.stat().st_mode & S_IXUSR}
    with TemporaryDirectory() as scratch:  # figures of a killed command may be incomplete
        for path in plot_all(folder, (), Path(scratch)):
            content[f"figures/{path.name}"] = path.read_bytes()
    base = {"folder": _INPUTS if inputs else ""}
    for name in [name for name in content if PurePosixPath(name).name == SESSION_FILE]:
        content[name] = json.dumps(json.loads(content[name]) | base, indent=1).encode()
    manifest = recorded.manifest | base
    del manifest["experiment"]  # a separate file
    lock = sorted({f"{each.name}=={each.version}" for each in distributions()}, key=str.lower)
    content |= {
        **recorded.csv_files(),
        NAME: json.dumps(manifest, indent=1).encode(),
        "summary.md": to_markdown(summarise(Results(recorded.results)), manifest["name"]).encode(),
        LOCK: "\n".join([*lock, ""]).encode(),
    }
    if _CITATION.is_file():
        content[_CITATION.name] = _CITATION.read_bytes()
    content.pop(CHECKSUMS, None)  # of an unpacked archive
    lines = [f"{hashlib.sha256(each).hexdigest()}  {name}\n" for name, each in content.items()]
    content[CHECKSUMS] = "".join(lines).encode()  # in the format of `sha256sum --check`
    buffer = BytesIO()
    with ZipFile(buffer, "w", ZIP_DEFLATED) as archive:
        for name, each in content.items():
            member = ZipInfo(name, localtime()[:6])
            member.compress_type = ZIP_DEFLATED
            member.external_attr = (S_IFREG | (0o755 if name in programs else 0o644)) << 16
            archive.writestr(member, each)
    disk.replace(out, buffer.getvalue())  # keeps an earlier archive until this one is complete


def _files_in(folder: Path, out: Path) -> dict[str, Path]:
    """Return the files of a folder by name in its archive, without links and hidden files.

    Logs of SLURM jobs are left out too.
    """
    files, left_out = dict[str, Path](), list[str]()
    for path in sorted(folder.rglob("*")):
        relative = path.relative_to(folder)
        if path.is_symlink() or any(part.startswith(".") for part in relative.parts):
            left_out += [str(relative)] * (path.is_symlink() or path.is_file())
        elif path.is_file() and relative.parts[0] != "jobs" and path.resolve() != out.resolve():
            files[relative.as_posix()] = path
    if left_out:
        names = ", ".join(map(repr, left_out))
        say(f"Hidden files and links of {folder} are left out: {names}", err=True)
    return files


def _inputs_of(folder: Path, manifest: Mapping[str, Any]) -> dict[str, Path]:
    """Return the input files of a folder's runs by name in its archive.

    Raises
    ------
    StoreError
        If the checksum of one differs from that in the manifest.
    """
    inputs, files = input_files(planned_cases(folder)), dict[str, Path]()
    code = code_version({file.path for file in inputs.values() if file.is_code})
    data = manifest.get("data", {})
    for name, file in inputs.items():
        if file.is_code:
            unchanged_input = manifest["code"].get(file.path.name) == code[file.path.name]
        else:
            unchanged_input = name in data and file.checksums(data[name]) == data[name]
        if not unchanged_input:
            raise StoreError(
                f"{name} has changed since the runs of {folder}. Restore the old file, or rerun them: "
                f"dualgap run {folder} --out {folder} --force"
            )
        try:
            path = safe_path(name.rpartition(":")[0] if file.is_code else name)
            files[f"{_INPUTS}/{path}"] = file.path
        except ValueError:
            say(f"{name} is outside the experiment's folder and is left out.", err=True)
    for name in sorted(data.keys() - inputs.keys()):
        say(f"{name} no longer exists and is left out.", err=True)
    return files
