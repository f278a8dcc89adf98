"""Measurements: experiment files, runs, records, tables, the command line.

Importing this package imports nothing heavy, so that `dualgap --help` is fast.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dualgap.experiments.from_python import run
    from dualgap.experiments.store.reading import RunFolder, load_paths, load_results, load_traces

__all__ = ["RunFolder", "load_paths", "load_results", "load_traces", "run"]


def __getattr__(name: str) -> Any:
    """Import a public name on first use (PEP 562)."""
    if name == "run":
        from dualgap.experiments.from_python import run  # noqa: PLC0415

        return run
    if name in __all__:
        from dualgap.experiments.store import reading  # noqa: PLC0415 - pandas is slow to import

        return getattr(reading, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
