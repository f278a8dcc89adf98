"""The end of a command that has recorded runs: its tables, its summary, and its exit code.

Running imports nothing of it: commands return what they have recorded.
"""

import shlex
from collections.abc import Iterable, Mapping

import pandas as pd

from dualgap.experiments.analysis.compare import compare_results
from dualgap.experiments.analysis.results import Results
from dualgap.experiments.operations.options import CommandOptions
from dualgap.experiments.operations.run import Recorded
from dualgap.experiments.operations.terminal import INTERRUPTED, console, print_json, say
from dualgap.experiments.records.outcomes import FAILING
from dualgap.experiments.store.reading import RunFolder
from dualgap.experiments.tables import comparison
from dualgap.experiments.tables.summary import summarise, to_json, to_markdown, to_terminal

# Tables are rewritten if other commands record runs meanwhile; one that runs longer writes its own.
_MAX_TABLE_WRITES = 3


def conclude_all(experiments: Iterable[Recorded]) -> int:
    """Show each experiment as soon as it is recorded; return the exit code.

    An experiment that stops early is the last.
    """
    code = 0
    for recorded, stop_reason, options, arguments, archived in experiments:
        runs = RunFolder.of(recorded)
        if archived is not None:
            failed = _show_differences(
                arguments[0], RunFolder.of(archived), runs, options, stop_reason
            )
            remark = f"{stop_reason}: not every run was checked"
        else:
            failed = conclude(runs, options, stop_reason)
            remark = f"{stop_reason}; resume with: {shlex.join(['dualgap', 'run', *arguments])}"
        if stop_reason:
            say(remark, err=True)
            return 130 if stop_reason == INTERRUPTED else 1
        code = max(code, int(failed))
    return code


def conclude(recorded: RunFolder, options: CommandOptions, stop_reason: str = "") -> bool:
    """Write the tables of a folder, print its summary, and return whether a run or a table failed.

    `stop_reason` is why some runs are not recorded, empty if all are.
    """
    writes = 0
    while True:
        writes += 1
        summary = summarise(Results(recorded.results))
        # written first, as printing fails if standard output is closed
        written = write_all(recorded, summary, options)
        if recorded.is_current or writes == _MAX_TABLE_WRITES:
            break
        recorded = RunFolder(recorded.path)
    if options.as_json:
        name = recorded.manifest["name"]
        header = {"experiment": name, "folder": str(recorded.path), "ended": stop_reason or None}
        print_json(header | {"missing": recorded.missing} | to_json(summary))
    elif not options.quiet:
        console().print(to_terminal(summary))
    results = recorded.results
    broken = results["status"].isin(FAILING) | results["verdict"].isin(FAILING)
    return bool((broken & ~is_followed(results)).any()) or not written


def is_followed(results: pd.DataFrame) -> pd.Series:
    """Whether a tighter run of the same search is among these runs."""
    return results["step"] < results.groupby("search")["step"].transform("max")


def write_all(
    folder: RunFolder,
    summary: pd.DataFrame,
    options: CommandOptions,
    more_texts: Mapping[str, str] | None = None,
) -> bool:
    """Write all tables of a folder and print their paths or the error; return whether that worked."""
    texts = {"summary.md": to_markdown(summary, folder.manifest["name"])}
    try:
        paths = folder.write_tables(texts | dict(more_texts or {}))
    except OSError as error:  # the runs themselves are recorded
        say(f"Cannot write the tables of {folder.path}: {error.strerror}", err=True)
        return False
    for path in () if options.quiet else paths:
        say(path, err=options.as_json)
    return True


def _show_differences(
    file: str, archived: RunFolder, rerun: RunFolder, options: CommandOptions, stop_reason: str
) -> bool:
    """Print the differences between the runs of an archive and new ones; return whether one matters."""
    changes = compare_results(archived.results, rerun.results)
    manifests = archived.manifest, rerun.manifest
    if options.as_json:
        header = {"archive": file, "ended": stop_reason or None}
        print_json(header | comparison.to_json(changes, *manifests))
    elif not options.quiet:
        console().print(comparison.to_terminal(changes, *manifests))
    differing = ("contradictory", "other data")
    return any(run.before != run.after or run.change in differing for run in changes)
