"""Write files so that a kill or a power cut at any moment leaves the old content or the new.

All changes of a results folder pass through here: a test lets the process die before and after
each of these operations, and in the middle of each write.
"""

import errno
import os
import secrets
import shutil
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

_BINARY = getattr(os, "O_BINARY", 0)  # Windows would change the ends of lines
FULL = (errno.ENOSPC, errno.EDQUOT)


def make_folder(path: Path) -> None:
    """Create a folder and its parents if missing."""
    path.mkdir(parents=True, exist_ok=True)
    _sync_folder(path.parent)


def open_to_append(path: Path) -> int:
    """Return the descriptor of a file that is created if it is missing."""
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | _BINARY, 0o644)
    _sync_folder(path.parent)
    return file


def append(file: int, data: bytes) -> None:
    """Append to a file; all data are on disk when this returns, and none if it fails."""
    size = os.fstat(file).st_size
    try:
        while data:
            data = data[os.write(file, data) :]
        os.fsync(file)
    except OSError:
        os.ftruncate(file, size)
        raise


def replace(path: Path, content: bytes) -> None:
    """Replace a file atomically: a reader sees the old or the new content; the last writer wins.

    A path that is not a regular file, such as a device, a pipe or a link, is written to, not replaced.
    """
    if path.is_symlink() or (path.exists() and not path.is_file()):
        path.write_bytes(content)
        return
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.new")
    try:
        file = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _BINARY, 0o644)
        try:
            append(file, content)
        finally:
            os.close(file)
        os.replace(temporary, path)
    except OSError:
        with suppress(OSError):
            os.unlink(temporary)
        raise
    _sync_folder(path.parent)


def remove(path: Path) -> None:
    """Remove a file if it exists."""
    with suppress(FileNotFoundError):
        os.unlink(path)


def remove_folder(path: Path, names: Sequence[str]) -> None:
    """Remove a folder that holds only the files `names`, the first of them first."""
    for name in names:
        remove(path / name)
    path.rmdir()


def replace_folder(path: Path, source: Path) -> None:
    """Replace a folder by `source`, on the same file system; only remove it if `source` has no files."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        remove(path)
    with suppress(OSError):  # it has files
        source.rmdir()
    if source.exists():
        make_folder(path.parent)
        os.replace(source, path)


def _sync_folder(path: Path) -> None:
    """Flush the names in a folder to disk, on file systems that support it."""
    if os.name == "nt":  # folders cannot be opened
        return
    folder = os.open(path, os.O_RDONLY)
    try:
        with suppress(OSError):
            os.fsync(folder)
    finally:
        os.close(folder)
