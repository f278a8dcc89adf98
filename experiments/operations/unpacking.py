"""Rerun an archive of `dualgap archive`, which may come from anyone."""

import hashlib
from collections.abc import Iterator
from pathlib import Path
from stat import S_IXUSR
from tempfile import TemporaryDirectory
from zipfile import ZipFile

from dualgap.experiments.operations.options import CommandOptions
from dualgap.experiments.operations.run import Recorded, run_missing
from dualgap.experiments.records import Refusal
from dualgap.experiments.store.plan import recorded_experiment
from dualgap.experiments.store.reading import RunFolder
from dualgap.experiments.store.schema import safe_path
from dualgap.problems.validation import CORRUPT_FILE_ERRORS

CHECKSUMS = "checksums.sha256"
_MAX_CONTENT_BYTES = 2**34  # a larger one may be a zip bomb


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
