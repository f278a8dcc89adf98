"""Measurements: experiment files, runs, records, tables, the command line.

From `dualgap run file.yaml` to a stored row, in twelve files:

1. `commands.run` declares the options and arguments of the command.
2. `operations.run` opens a session in the results folder, and appends to it what the executor yields.
3. `files.experiment` reads the file (`yaml`), checks its keys (`models`), expands its grids, and
   collects all faults.
4. `files.build` checks each problem and solver by building it once, and describes it by plain values.
5. `cases.plan` makes them the cases of a plan, in shuffled order, each with the key of its run.
6. `cases.schedule` says which case comes next, from the records alone; `search` chooses the next
   tolerance of a solver with `tol: auto`.
7. `executors.local`, found by its name, runs cases in processes and ends those that exceed a limit.
8. `workers.supervision` starts such a process, calls a function in it, and kills what it leaves behind.
9. `cases.case` is that function: it loads what cases share, and starts a child for user code.
10. `cases.solving` runs the solver in the child, and returns its answer as plain arrays (`messages`).
11. `cases.judging` builds the problem again, certifies the answer, and makes it a record (`measuring`).
12. `store.session` writes the record as one line, which is on disk before the next run begins.

Then `operations.conclusion` writes the tables of the folder and prints the summary. Importing this
package imports nothing heavy, so that `dualgap --help` is fast.
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
