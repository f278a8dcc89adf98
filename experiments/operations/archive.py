"""Archive a results folder as one zip file for a paper; rerun an archive, which may come from anyone.

An archive holds the files of the folder, the tables as CSV, figures, the versions of all installed
packages, the experiment's input files inside its folder (in `inputs`), a checksum of each file, and
`datapackage.json` (Frictionless), which describes the tables.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from importlib.metadata import distributions
from io import BytesIO
from pathlib import Path, PurePosixPath
from stat import S_IFREG, S_IXUSR
from tempfile import TemporaryDirectory
from time import localtime
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from dualgap.experiments.analysis.results import Results
from dualgap.experiments.operations.options import CommandOptions
from dualgap.experiments.operations.run import Recorded, run_missing
from dualgap.experiments.operations.terminal import say
from dualgap.experiments.plots import plot_all
from dualgap.experiments.records import Refusal
from dualgap.experiments.store import disk
from dualgap.experiments.store.inputs import input_files
from dualgap.experiments.store.manifest import (
    NAME,
    SESSION_FILE,
    StoreError,
    code_version,
)
from dualgap.experiments.store.plan import planned_cases, recorded_experiment
from dualgap.experiments.store.reading import RunFolder
from dualgap.experiments.store.schema import safe_path
from dualgap.experiments.tables.summary import summarise, to_markdown
from dualgap.problems.validation import CORRUPT_FILE_ERRORS

LOCK = "environment.txt"
CHECKSUMS = "checksums.sha256"
_MAX_CONTENT_BYTES = 2**34  # of an archive; a larger one may be a zip bomb
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
    """Return the files of a folder by name in its archive, except for links and those it cannot hold.

    Logs of SLURM jobs are left out too.
    """
    files, left_out = dict[str, Path](), list[str]()
    for path in sorted(folder.rglob("*")):
        relative = path.relative_to(folder)
        is_file = path.is_symlink() or path.is_file()
        if not is_file or relative.parts[0] == "jobs" or path.resolve() == out.resolve():
            continue
        try:
            if path.is_symlink():
                raise ValueError
            # what `unpack` accepts; a solver may have kept files of any name
            files[str(safe_path(relative.as_posix().encode().decode()))] = path
        except ValueError:
            left_out.append(str(relative))
    if left_out:
        names = ", ".join(map(repr, left_out))
        say(
            f"Links, hidden files and names that no archive may have are left out: {names}",
            err=True,
        )
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


def rerun_archive(file: Path, options: CommandOptions) -> Iterator[Recorded]:
    """Repeat the runs of an archive in a separate folder; yield them with those of the archive."""
    with TemporaryDirectory() as scratch:
        folder = Path(scratch) / "archive"
        unpack(file, folder)
        archived = RunFolder(folder)
        _ = archived.results  # refuse a damaged archive before running anything
        experiment = recorded_experiment(folder).model_copy(update={"source": folder})
        target = Path(options.out or Path(scratch) / "again")
        rerun, stop_reason = run_missing(experiment, target, options)
        yield Recorded(rerun, stop_reason, options, [str(file)], archived)


def unpack(file: Path, folder: Path) -> None:
    """Unpack an archive; Refusal if it is damaged or not an archive."""
    try:
        with ZipFile(file) as archive:
            if sum(each.file_size for each in archive.infolist()) > _MAX_CONTENT_BYTES:
                raise Refusal(
                    f"{file} holds more than {_MAX_CONTENT_BYTES // 2**30} GiB. Unpack it yourself."
                )
            for member in archive.infolist():
                safe_path(member.filename)
                path = Path(archive.extract(member, folder))
                if member.external_attr >> 16 & S_IXUSR:
                    path.chmod(0o755)
        lines = (folder / CHECKSUMS).read_text(encoding="utf-8").splitlines()
        checksums = {str(safe_path(line[66:])): line[:64] for line in lines}  # two spaces between
    except (*CORRUPT_FILE_ERRORS, ValueError) as error:  # NotImplementedError is a RuntimeError
        raise Refusal(f"{file} is not an archive of `dualgap archive`: {error}") from None
    files = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    for name in sorted(({*checksums} | files) - {CHECKSUMS}):
        path = folder / name
        if not path.is_file() or hashlib.sha256(path.read_bytes()).hexdigest() != checksums.get(
            name
        ):
            raise Refusal(f"{name} in {file} differs from {CHECKSUMS}. Use an undamaged copy.")
