"""Compiled functions: what is said while they are compiled, and which of ours is compiled again.

The index of a function on disk (`__pycache__/*.nbi`, or in NUMBA_CACHE_DIR) names the classes of its
arguments by their modules, and numba reads all of it before it compares the time of the source. If such
a module has moved since, as after a `git pull`, every call would fail with ModuleNotFoundError, and with
EOFError if the file was cut short (https://github.com/numba/numba/issues/6018 and 10434). Such an index
is emptied, of functions of these packages: numba goes on reading those of others as it does.

Before a process reads its first function, numba makes all that ready which typing and lowering need: 0.1
of 0.3 s. Nothing that is read needs it, and what is compiled makes it ready itself.
"""

from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from copy import copy
from hashlib import sha256
from pathlib import Path
from pickle import UnpicklingError
from time import monotonic
from typing import Any

from numba.core.caching import FunctionCache, IndexDataCacheFile
from numba.core.event import Event, Listener, install_listener
from numba.core.runtime.nrt import rtsys
from platformdirs import user_cache_path

_PACKAGES = ("problems", "solvers", "experiments")
_SILENT_SECONDS = 1.0  # seconds of compiling of which nothing is said

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
            if not _is_ours(place):
                raise
            place.flush()
            continue
        if found is not None:
            return found
    return None


def _is_ours(cache: Any) -> bool:
    function = getattr(cache, "_py_func", None)  # private: a later numba may not have it
    return getattr(function, "__module__", "").partition(".")[0] in _PACKAGES


def _read(cache: Any, signature: Any, context: Any) -> Any:
    """Return what is on disk; of a function of ours, with no more made ready than its memory."""
    if not (_is_ours(cache) and hasattr(cache, "_load_overload")):
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


class _Watch(Listener):
    """Calls `say` at the first event of a compilation that has taken longer than it may in silence."""

    def __init__(self, say: Callable[[], object]) -> None:
        self.say, self.begun, self.said = say, 0.0, False

    def on_start(self, event: Event) -> None:
        """Begin with the first function; each later one, and each pass over one, is looked at."""
        self.begun = self.begun or monotonic()
        if not self.said and monotonic() - self.begun > _SILENT_SECONDS:
            self.said = True
            self.say()

    on_end = on_start


@contextmanager
def compiling(say: Callable[[], object]) -> Generator[None]:
    """Call `say` once, while what is called within has been compiling for a second.

    What is loaded from the disk is not compiled, so that this is said once on each machine. Numba
    announces every function and pass that it begins; nothing is done, and no time spent, without one.
    """
    watch = _Watch(say)
    with ExitStack() as listening:
        for kind in ("numba:compile", "numba:run_pass"):
            listening.enter_context(install_listener(kind, watch))
        yield
