"""Numba compilation: announce it, and recover from unreadable cache files.

The cache index of a function (`__pycache__/*.nbi`, or in NUMBA_CACHE_DIR) names the classes of its
arguments by their modules, and numba unpickles it before comparing the source's time stamp. If such a
module has moved, as after a `git pull`, every call would fail with ModuleNotFoundError, and with
EOFError if the file is truncated (https://github.com/numba/numba/issues/6018 and 10434). We clear such
an index if the function belongs to these packages, and leave the functions of others to numba.

Before a process loads its first cached function, numba sets up typing and lowering: 0.1 of 0.3 s.
`_read` skips this, as loading does not need it and compilation sets it up itself.
"""

import logging
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pickle import UnpicklingError
from time import monotonic
from typing import Any

from numba.core.caching import FunctionCache
from numba.core.event import Event, Listener, register
from numba.core.runtime.nrt import rtsys

from dualgap.problems.validation import is_ours

_SILENT_SECONDS = 1.0  # compile time without an announcement: shorter waits need no explanation
_COMPILING = (
    "compiling solvers for this machine; this takes a few seconds the first time a solver is used, "
    "later runs load the compiled code"
)

_log = logging.getLogger("dualgap")
_load_overload: Any = FunctionCache.load_overload


def recompile_unreadable_caches() -> None:
    """Let numba recompile functions of these packages whose cache files it cannot read."""
    patched: Any = FunctionCache
    patched.load_overload = _load


def _load(cache: Any, *of: Any) -> Any:
    """Return numba's cached function; None, so that it compiles, if our cache file is unreadable."""
    try:
        return _read(cache, *of)
    except (AttributeError, EOFError, ImportError, UnpicklingError):
        if not _caches_ours(cache):
            raise
        cache.flush()
        return None


def _caches_ours(cache: Any) -> bool:
    return is_ours(getattr(cache, "_py_func", None))  # private: a later numba may lack it


def _read(cache: Any, signature: Any, context: Any) -> Any:
    """Return the cached function; for ours, set up only numba's memory management."""
    if not (_caches_ours(cache) and hasattr(cache, "_load_overload")):
        return _load_overload(cache, signature, context)
    rtsys.initialize(context)
    return cache._load_overload(signature, context)


class _Announcement(Listener):
    """Announces once that compiling functions of these packages has taken over a second in total.

    Attributes
    ----------
    announce : the callback.
    announced : whether it was called.
    """

    def __init__(self) -> None:
        self.announce: Callable[[], object] = lambda: _log.warning(_COMPILING)
        self.announced, self._spent, self._started, self._depth = False, 0.0, 0.0, 0

    def on_start(self, event: Event) -> None:
        """Check the time at the start of each function and of each compiler pass."""
        now = monotonic()
        if event.kind == "numba:compile":
            if self._depth == 0:
                compiled: Any = event.data
                if not is_ours(compiled["dispatcher"].py_func):
                    return
                self._started = now
            self._depth += 1
        if (
            self._depth
            and not self.announced
            and self._spent + now - self._started > _SILENT_SECONDS
        ):
            self.announced = True
            self.announce()

    def on_end(self, event: Event) -> None:
        """Add the time of the outermost function, which includes the functions it calls."""
        if event.kind == "numba:compile" and self._depth:
            self._depth -= 1
            if self._depth == 0:
                self._spent += monotonic() - self._started

    @contextmanager
    def by(self, announce: Callable[[], object]) -> Generator[None]:
        """Call `announce` instead inside the context, with a new count of the time and once again."""
        previous = self.announce, self.announced, self._spent
        self.announce, self.announced, self._spent = announce, False, 0.0
        try:
            yield
        finally:
            self.announce, self.announced, self._spent = previous


_announcement = _Announcement()
compiling = _announcement.by


def announce_compilation() -> None:
    """Let the logger `dualgap` warn once per process when compiling takes longer than a second."""
    for kind in ("numba:compile", "numba:run_pass"):
        register(kind, _announcement)
