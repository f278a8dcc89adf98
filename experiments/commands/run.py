"""Experiments, each run into one folder: what `dualgap run` does, and `dualgap verify` first."""

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import get_args

import click

from experiments.cases.plan import Case, plan
from experiments.cases.search import Record, Waiting, is_followed
from experiments.commands.progress import progress
from experiments.commands.terminal import INTERRUPTED, console
from experiments.executors.base import EXECUTORS, Executor, ExecutorError
from experiments.files.experiment import Experiment, find_experiments, read_experiment
from experiments.records import Refusal
from experiments.records.outcomes import FAILING
from experiments.store.folder import Store, write_tables
from experiments.store.inputs import input_files
from experiments.store.log import LOG
from experiments.store.reading import RunFolder, load_answer
from experiments.tables.summary import summarise, to_markdown, to_terminal
from solvers.base import Status
from solvers.running.solution import Verdict


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


def run_all(experiment: str, out: Path | None, options: RunOptions, dry_run: bool = False) -> int:
    """Run the experiments of a name or file, or only show what that would do; return the exit code."""
    files = find_experiments(experiment)
    described = [read_experiment(file) for file in files]  # all are checked before the first is run
    several = files[0].stem != Path(experiment).stem
    folder = out or Path("runs") / (Path(experiment).name if several else described[0].name)
    code = 0
    for one in described:
        place = folder / one.name if several else folder
        if dry_run:
            from experiments.commands.dry_run import preview  # noqa: PLC0415

            console().print(preview(one, place, options.workers or 1, options.resume))
            continue
        ended, early = run_into(one, place, options)
        if early:
            again = f"dualgap run {experiment} --out {folder} --resume"
            click.echo(f"{early}; resume with: {again}", err=True)
            return ended
        code = max(code, ended)
    return code


def run_into(described: Experiment, folder: Path, options: RunOptions) -> tuple[int, str]:
    """Run an experiment into a folder and print its summary.

    Returns
    -------
    int, str
        The exit code, and why it ended early, if it did.
    """
    recorded, early = record(described, folder, options)
    failed = conclude(recorded)
    if early:
        return (130 if early == INTERRUPTED else 1), early
    return int(failed), ""


def conclude(recorded: RunFolder) -> bool:
    """Write the tables of a folder, print its summary, and return whether a run or a table failed."""
    results = recorded.results
    summary = summarise(results)
    # before it is printed, which fails where nobody reads it
    written = write_all(recorded, to_markdown(summary, recorded.manifest["name"]))
    console().print(to_terminal(summary))
    ended = results[~is_followed(results)]
    broken = ended["status"].isin(FAILING) | ended["verdict"].isin(FAILING)
    return bool(broken.any()) or not written


def record(described: Experiment, folder: Path, options: RunOptions) -> tuple[RunFolder, str]:
    """Run what a folder lacks; return what it has then, and why that is not all, or an empty string."""
    cases, executor, store = begin(described, folder, options)
    recorded = RunFolder(folder)
    try:
        early = _run(cases, executor, store, recorded.records(options.retry))
    finally:
        store.close()
    recorded = RunFolder(folder) if store.session.lines else recorded
    if recorded.lost:
        early = early or f"{recorded.lost} of the runs were removed from {folder / LOG} by others"
    return recorded, early


def begin(
    described: Experiment, folder: Path, options: RunOptions
) -> tuple[list[Case], Executor, Store]:
    """Return the cases of an experiment, the executor that can run them, and the folder, open."""
    cases = plan(described)
    try:
        chosen = EXECUTORS.find(options.executor)
    except ValueError as error:
        raise Refusal(f"--executor: {error}") from None
    executor = chosen(options.workers, options.address, folder=folder)
    executor.check()
    store = Store.open(
        folder,
        described.text,
        [case.run_id for case in cases],
        resume=options.resume,
        force=options.force,
        inputs=input_files(cases),
        problems={case.problem_id: vars(case.problem) for case in cases},
    )
    return cases, executor, store


def _run(
    cases: Sequence[Case], executor: Executor, store: Store, recorded: Mapping[str, Record]
) -> str:
    """Run the cases that are not recorded; return why not all of them, or an empty string."""
    waiting = Waiting(cases, recorded, partial(load_answer, store.folder))
    try:
        while total := len(waiting):
            with progress(total) as advance:
                telling = replace(executor, told=advance.begin)
                with closing(telling.run(waiting)) as outcomes:
                    for outcome in outcomes:
                        store.append(outcome)
                        own = outcome.record
                        ended = own["verdict"] if own["status"] == "finished" else own["status"]
                        line = f"{ended}: {own['label'] or own['solver']} on {own['problem_id']}"
                        advance(line, waiting.follow(own))
    except KeyboardInterrupt:
        return INTERRUPTED
    except ExecutorError as error:
        return f"stopped: {error}"
    except OSError as error:
        return f"stopped, as a run could not be recorded: {error.strerror or error}"
    return ""


def write_all(folder: RunFolder, summary: str, others: Mapping[str, str] | None = None) -> bool:
    """Write all tables of a run and print their paths, or why not; return whether they are written."""
    try:
        paths = write_tables(folder, {"summary.md": summary} | dict(others or {}))
    except OSError as error:  # the runs themselves are recorded
        click.echo(f"{folder.path}: the tables cannot be written: {error.strerror}", err=True)
        return False
    for path in paths:
        click.echo(path)
    return True


def retried(names: str | None) -> tuple[str, ...]:
    """Return the statuses and verdicts of a list; Refusal if it has anything else."""
    accepted = list(dict.fromkeys([*map(str, Status), *get_args(Verdict)]))
    chosen = [] if names is None else [name.strip() for name in names.split(",")]
    for name in chosen:
        if name not in accepted:
            raise Refusal(
                f"--retry: must be a comma-separated list of {', '.join(accepted)}; got {name!r}"
            )
    return tuple(chosen)
