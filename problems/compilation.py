"""Compiled functions: what is said while they are compiled, clocks that leave it out, and cache files.

The index of a function on disk (`__pycache__/*.nbi`, or in NUMBA_CACHE_DIR) names the classes of its
arguments by their modules, and numba reads all of it before it compares the time of the source. If such
a module has moved since, as after a `git pull`, every call would fail with ModuleNotFoundError, and with
EOFError if the file was cut short (https://github.com/numba/numba/issues/6018 and 10434). Such an index
is emptied, of functions of these packages: numba goes on reading those of others as it does.

Before a process reads its first function, numba makes all that ready which typing and lowering need: 0.1
of 0.3 s. Nothing that is read needs it, and what is compiled makes it ready itself.
"""

import logging
from collections.abc import Callable, Generator
from contextlib import contextmanager
from copy import copy
from functools import partial
from hashlib import sha256
from pathlib import Path
from pickle import UnpicklingError
from threading import Lock
from time import monotonic
from typing import Any

from numba.core.caching import FunctionCache, IndexDataCacheFile
from numba.core.event import Event, Listener, install_listener, register
from numba.core.runtime.nrt import rtsys
from platformdirs import user_cache_path

_SILENT_SECONDS = 1.0  # seconds of compiling of which nothing is said
_COMPILING = (
    "compiling solvers for this machine, which takes some seconds where one is used for the first time; "
    "later runs load what was compiled"
)

_log = logging.getLogger("dualgap")
_load_overload: Any = FunctionCache.load_overload
_save_overload: Any = FunctionCache.save_overload
_apart: list[Path] = []  # folders that are compiled to in place of the usual ones, the last of them


def compile_what_cannot_be_read() -> None:
    """Let numba compile a function of these packages again if it cannot read it from the disk."""
    FunctionCache.load_overload, FunctionCache.save_overload = _load, _save  # type: ignore[method-assign]


@contextmanager
def compiled_apart(name: str) -> Generator[None]:
    """Write what is compiled within to a folder of its own, which `name` decides, and read that one too.

    Compiled functions on disk are pickles, which run when they are read. A process that runs code from
    outside leaves none where processes without it read them. An empty name changes nothing.
    """
    if not name:
        yield
        return
    folder = sha256(name.encode()).hexdigest()[:16]
    _apart.append(user_cache_path("dualgap") / "compiled" / folder)
    try:
        yield
    finally:
        _apart.pop()


def _load(cache: Any, *of: Any) -> Any:
    """Return what numba reads; None, so that it compiles, where it cannot read a file of ours."""
    for place in (cache, *([_twin(cache)] if _apart else [])):
        try:
            found = _read(place, *of)
        except (AttributeError, EOFError, ImportError, UnpicklingError):
            if not _caches_ours(place):
                raise
            place.flush()
            continue
        if found is not None:
            return found
    return None


def _is_ours(function: Any) -> bool:
    return getattr(function, "__module__", "").startswith("dualgap.")


def _caches_ours(cache: Any) -> bool:
    return _is_ours(getattr(cache, "_py_func", None))  # private: a later numba may not have it


def _read(cache: Any, signature: Any, context: Any) -> Any:
    """Return what is on disk; of a function of ours, with no more made ready than its memory."""
    if not (_caches_ours(cache) and hasattr(cache, "_load_overload")):
        return _load_overload(cache, signature, context)
    rtsys.initialize(context)
    return cache._load_overload(signature, context)


def _save(cache: Any, *of: Any) -> None:
    _save_overload(_twin(cache) if _apart else cache, *of)


def _twin(cache: Any) -> Any:
    """Return the cache of the same function in the folder that is compiled to."""
    twin, locator = copy(cache), cache._impl.locator
    place = _apart[-1] / sha256(cache._cache_path.encode()).hexdigest()[:16]
    place.mkdir(parents=True, exist_ok=True)
    twin._cache_file = IndexDataCacheFile(
        str(place), cache._impl.filename_base, locator.get_source_stamp()
    )
    return twin


class _Announcement(Listener):
    """Says once when functions of these packages have been compiled for longer than a second in all.

    Attributes
    ----------
    say : what is called then.
    said : whether it was.
    """

    def __init__(self) -> None:
        self.say: Callable[[], object] = lambda: _log.warning(_COMPILING)
        self.said, self._spent, self._begun, self._depth = False, 0.0, 0.0, 0

    def on_start(self, event: Event) -> None:
        """Look at the time at each function that is compiled, and at each pass over one."""
        now = monotonic()
        if event.kind == "numba:compile":
            if self._depth == 0:
                compiled: Any = event.data
                if not _is_ours(compiled["dispatcher"].py_func):
                    return
                self._begun = now
            self._depth += 1
        if self._depth and not self.said and self._spent + now - self._begun > _SILENT_SECONDS:
            self.said = True
            self.say()

    def on_end(self, event: Event) -> None:
        """Add what the outermost function took; those that it calls are compiled within it."""
        if event.kind == "numba:compile" and self._depth:
            self._depth -= 1
            if self._depth == 0:
                self._spent += monotonic() - self._begun

    @contextmanager
    def by(self, say: Callable[[], object]) -> Generator[None]:
        """Call `say` instead, once more and from the first second on, if what runs within compiles."""
        before = self.say, self.said, self._spent
        self.say, self.said, self._spent = say, False, 0.0
        try:
            yield
        finally:
            self.say, self.said, self._spent = before


_announcement = _Announcement()
compiling = _announcement.by


def announce_compilation() -> None:
    """Let the logger `dualgap` warn once in this process when compiling takes longer than a second."""
    for kind in ("numba:compile", "numba:run_pass"):
        register(kind, _announcement)


class Pauses(Listener):
    """Clocks that stand still while a function is compiled, or read from the disk, on any thread.

    Attributes
    ----------
    clocks : those given, without `lost`.
    lost : how far each went on meanwhile.
    """

    def __init__(self, *clocks: Callable[[], float]) -> None:
        self.lost, self._given = [0.0] * len(clocks), clocks
        self.clocks = [partial(self._read, k) for k in range(len(clocks))]
        self._begun, self._depth, self._lock = list[float](), 0, Lock()

    def _read(self, k: int) -> float:
        return self._given[k]() - self.lost[k]

    def on_start(self, event: Event) -> None:
        """Note the times as the first thread begins."""
        with self._lock:
            if self._depth == 0:
                self._begun = [clock() for clock in self._given]
            self._depth += 1

    def on_end(self, event: Event) -> None:
        """Add what has passed, once the last thread that was seen to begin has ended."""
        with self._lock:
            if self._depth == 1:
                for k, (clock, begun) in enumerate(zip(self._given, self._begun, strict=True)):
                    self.lost[k] += clock() - begun
            self._depth = max(0, self._depth - 1)


@contextmanager
def pausing(*clocks: Callable[[], float]) -> Generator[Pauses]:
    """Make clocks that stand still while something is compiled within."""
    with install_listener("numba:compiler_lock", pauses := Pauses(*clocks)):
        yield pauses
