"""Compiled functions on disk: one whose index numba cannot read is compiled again.

The index of a function (`__pycache__/*.nbi`) names the classes of its arguments by their modules, and
numba reads all of it before it compares the time of the source. If such a module has moved since, as
after a `git pull`, every call would fail with ModuleNotFoundError, and with EOFError if the file was cut
short (https://github.com/numba/numba/issues/6018 and 10434).
"""

from __future__ import annotations

from pickle import UnpicklingError
from typing import Any

from numba.core.caching import IndexDataCacheFile

# private: a later numba may have none, and then does as it does
_load_index: Any = getattr(IndexDataCacheFile, "_load_index", None)


def _readable_index(self: Any) -> Any:
    """Return what numba reads, by the signatures that were compiled; {} where it cannot."""
    try:
        return _load_index(self)
    except (AttributeError, EOFError, ImportError, UnpicklingError):
        return {}


def compile_what_cannot_be_read() -> None:
    """Let numba compile a function again whose index it cannot read, for the whole process."""
    if _load_index is not None:
        IndexDataCacheFile._load_index = _readable_index  # pyright: ignore[reportPrivateUsage]
