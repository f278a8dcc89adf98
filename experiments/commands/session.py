"""One experiment, run into one folder: what `dualgap run` and `dualgap verify` do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple, get_args

import click
import pandas as pd

from experiments.cases.plan import Case, outside_files, plan
from experiments.cases.records import BAD
from experiments.executors.base import Executor, ExecutorError, Limits
from experiments.executors.registry import find_executor
from experiments.files.experiment import Experiment
from experiments.output.progress import progress
from experiments.output.tables import summarise, to_markdown, to_terminal
from experiments.output.terminal import INTERRUPTED, console, refuse
from experiments.store.folder import Store, StoreError, load_tables, recorded, write_tables
from solvers.base import Status
from solvers.solution import Verdict


@dataclass(frozen=True)
class RunOptions:
    """How an experiment is run.

    Attributes
    ----------
    resume : continue where the folder's runs end.
    retry : statuses and verdicts of runs that are run again.
    force : resume although plan, code or libraries have changed.
    workers, executor, address : see `Executor`; the executor is a name.
    """

    resume: bool = False
    retry: tuple[str, ...] = ()
    force: bool = False
    workers: int | None = None
    executor: str = "local"
    address: str | None = None


class RunExit(NamedTuple):
    """The exit code of an experiment, and why it ended early, if it did."""

    code: int
    early: str = ""


def run_into(described: Experiment, folder: Path, options: RunOptions) -> RunExit:
    """Run an experiment into a folder, and print its summary."""
    cases = plan(described)
    chosen = executor_for(described, options)
    try:
        store = Store.open(
            folder,
            described.text,
            [case.run_id for case in cases],
            resume=options.resume,
            force=options.force,
            files=outside_files(cases),
        )
    except StoreError as error:
        refuse(str(error))
    done = recorded(folder, options.retry)
    early = run_all(chosen, [case for case in cases if case.run_id not in done], store)
    results = _report(folder, described.name)
    if early:
        return RunExit(130 if early == INTERRUPTED else 1, early)
    bad = results["status"].isin(BAD) | (results["verdict"] == "wrong")
    return RunExit(int(bad.any()))


def retried(names: str | None) -> tuple[str, ...]:
    """Return the statuses and verdicts of a list; exit with 2 if it has anything else."""
    accepted = list(dict.fromkeys([*map(str, Status), *get_args(Verdict)]))
    chosen = [] if names is None else [name.strip() for name in names.split(",")]
    for name in chosen:
        if name not in accepted:
            refuse(
                f"--retry: must be a comma-separated list of {', '.join(accepted)}; got {name!r}"
            )
    return tuple(chosen)


def executor_for(experiment: Experiment, options: RunOptions) -> Executor:
    """Return where the cases are run; exit with 2 if that is impossible."""
    limits = Limits(experiment.time_limit, experiment.memory_limit)
    try:
        chosen = find_executor(options.executor)
    except ValueError as error:
        refuse(f"--executor: {error}")
    executor = chosen(limits, options.workers, options.address)
    try:
        executor.check()
    except ExecutorError as error:
        refuse(str(error))
    return executor


def run_all(executor: Executor, cases: Sequence[Case], store: Store) -> str:
    """Run the cases and record them; return why not all of them were run, or an empty string."""
    try:
        with progress(len(cases)) as advance, closing(executor.run(cases)) as outcomes:
            for outcome in outcomes:
                store.append(outcome)
                advance(outcome)
    except KeyboardInterrupt:
        return INTERRUPTED
    except ExecutorError as error:
        return f"stopped: {error}"
    except OSError as error:
        return f"stopped, as a run could not be recorded: {error.strerror or error}"
    finally:
        store.close()
    return ""


def _report(folder: Path, title: str) -> pd.DataFrame:
    """Write the tables and print the summary; return the results."""
    results, traces = load_tables(folder)
    summary = summarise(results)
    # before it is printed, which fails where nobody reads it
    echo_written(
        partial(write_tables, folder, results, traces, to_markdown(summary, title)), folder
    )
    console().print(to_terminal(summary))
    return results


def echo_written(write: Callable[[], list[Path]], folder: Path) -> None:
    """Write tables into a folder and print their paths, or why they cannot be written."""
    try:
        paths = write()
    except OSError as error:  # the runs themselves are recorded
        click.echo(f"{folder}: the tables cannot be written: {error.strerror}", err=True)
        return
    for path in paths:
        click.echo(path)
