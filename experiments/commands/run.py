"""Experiments, each run into one folder: what `dualgap run` does, and `dualgap verify` first."""

import shlex
import shutil
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from glob import escape
from itertools import chain
from pathlib import Path
from typing import get_args

from dualgap.experiments.cases.plan import Case, named_alike, plan, search_of
from dualgap.experiments.cases.search import Record, Waiting, is_followed
from dualgap.experiments.commands.defaults import take_defaults
from dualgap.experiments.commands.progress import progress
from dualgap.experiments.commands.terminal import INTERRUPTED, console, print_json, say
from dualgap.experiments.executors.base import EXECUTORS, Executor, ExecutorError
from dualgap.experiments.executors.local import CHECKPOINTS
from dualgap.experiments.files.experiment import (
    COPY,
    Experiment,
    checked_experiment,
    find_experiments,
    read_experiment,
)
from dualgap.experiments.files.selection import selected, solver_names
from dualgap.experiments.files.yamlfile import ConfigError, Fault, parse
from dualgap.experiments.records import Refusal
from dualgap.experiments.records.names import choices_text
from dualgap.experiments.records.outcomes import FAILING
from dualgap.experiments.store.folder import Store, write_tables
from dualgap.experiments.store.inputs import input_files
from dualgap.experiments.store.log import LOG
from dualgap.experiments.store.manifest import NAME, Growth, read_manifest
from dualgap.experiments.store.reading import RunFolder, load_answer
from dualgap.experiments.tables.summary import summarise, to_json, to_markdown, to_terminal
from dualgap.solvers.base import Status
from dualgap.solvers.running.solution import Verdict

_TABLES_TRIES = 3  # a command that records runs for longer than that writes the tables at its end


@dataclass(frozen=True)
class RunOptions:
    """How an experiment is run.

    Attributes
    ----------
    resume : continue where the folder's runs end; what follows does so too.
    retry : statuses and verdicts of runs that are run again.
    force : resume although plan, code or libraries have changed.
    extend : keep what the folder has, and run what is new in the plan.
    rerun : names or labels of solvers whose runs are run again.
    workers, executor, address : see `Executor`; the executor is a name.
    quiet : print nothing but what has gone wrong.
    as_json : print JSON alone to standard output.
    """

    resume: bool = False
    retry: tuple[str, ...] = ()
    force: bool = False
    extend: bool = False
    rerun: tuple[str, ...] = ()
    workers: int | None = None
    executor: str = "local"
    address: str | None = None
    quiet: bool = False
    as_json: bool = False

    def going_on(self) -> list[str]:
        """Return the options of a command that goes on where one with these has ended early."""
        known = {
            "--workers": self.workers,
            "--executor": self.executor if self.executor != RunOptions.executor else None,
            "--scheduler": self.address,
            "--retry": ",".join(self.retry) or None,
        }
        given = {option: str(value) for option, value in known.items() if value is not None}
        return [*chain.from_iterable(given.items()), "--extend" if self.extend else "--resume"]


def run_all(
    experiment: str,
    out: Path | None,
    options: RunOptions,
    changes: Sequence[tuple[str, str]] = (),
    dry_run: bool = False,
) -> int:
    """Run the experiments of a name or file, or only show what that would do; return the exit code.

    Parameters
    ----------
    changes : what the command line changes in each file, see `read_experiment`.
    """
    described, repeated = experiments_of(experiment, changes)
    several = len(described) > 1
    names = [one.name for one in described]
    if twice := next((own for own in names if names.count(own) > 1), None):
        raise Refusal(
            f"{experiment}: several of its experiments are named {twice!r}, and so would be their "
            "folders; give each a name of its own"
        )
    name = Path(experiment).name if several else names[0]
    folder = out or goes_on_in(experiment, options) or place_of(name)
    places = [folder / one.name if several else folder for one in described]
    if options.rerun:  # before any of several is run
        for one, place in zip(described, places, strict=True):
            planned(one, place, options, repeated)
    code = 0
    for one, place in zip(described, places, strict=True):
        if dry_run:
            from dualgap.experiments.commands.dry_run import preview  # noqa: PLC0415

            cases = planned(one, place, options, repeated)
            how = options.workers or 1, options.resume, options.retry
            console().print(preview(one, cases, place, *how))
            continue
        recorded, early = record(one, place, options, repeated)
        failed = conclude(recorded, options, early)
        if early:
            words = ["dualgap", "run", experiment, *chain.from_iterable(changes)]
            again = shlex.join([*words, "--out", str(folder), *options.going_on()])
            say(f"{early}; resume with: {again}", err=True)
            return 130 if early == INTERRUPTED else 1
        code = max(code, int(failed))
    return code


def experiments_of(
    experiment: str, changes: Sequence[tuple[str, str]] = ()
) -> tuple[list[Experiment], Path | None]:
    """Return the checked experiments of a file, a name or a folder; and a folder of runs to repeat.

    Parameters
    ----------
    changes : what the command line changes in each file, see `read_experiment`; the runs of a folder
        that is changed are those that its experiment plans then.
    """
    folder = Path(experiment)
    if (folder / NAME).is_file():
        read_manifest(folder)  # a damaged one is refused before its experiment is read
        return [read_experiment(folder / COPY, changes)], None if changes else folder
    return [read_experiment(file, changes) for file in find_experiments(experiment)], None


def experiment_of(
    experiment: str, changes: Sequence[tuple[str, str]] = ()
) -> tuple[Experiment, Path | None]:
    """Return what `experiments_of` does of one experiment; Refusal if there are several."""
    described, repeated = experiments_of(experiment, changes)
    if len(described) > 1:
        names = ", ".join(each.name for each in described)
        raise Refusal(f"{experiment}: is a folder of experiments; give one of {names}")
    return described[0], repeated


def goes_on_in(experiment: str, options: RunOptions) -> Path | None:
    """Return the folder of runs that is gone on with, if an experiment is given by one."""
    folder = Path(experiment)
    return folder if options.resume and (folder / NAME).is_file() else None


def place_of(name: str) -> Path:
    """Return the folder of an experiment's runs where none is given."""
    return Path(take_defaults().out) / name


def planned_in(folder: Path) -> list[Case]:
    """Return the cases of a folder of runs, as what it holds alone plans them.

    Those of a folder that has grown, or was merged, are of several experiment files.

    Raises
    ------
    Refusal
        If it has runs that none of its files plans any more.
    """
    manifest = read_manifest(folder)
    wanted, cases = dict.fromkeys(manifest["run_ids"]), dict[str, Case]()
    for text in [manifest["experiment"], *manifest.get("plans", [])]:
        try:
            root = parse(text.encode())
        except Fault as fault:
            raise ConfigError(folder / COPY, [fault]) from None
        made = plan(checked_experiment(folder / COPY, text, root))
        cases = {case.run_id: case for case in made if case.run_id in wanted} | cases
    if lacking := len(wanted) - len(cases):
        raise Refusal(
            f"{folder}: {lacking} of its runs are in no plan that it holds, and cannot be repeated"
        )
    return named_alike([cases[run_id] for run_id in wanted], manifest["problems"])


def conclude(recorded: RunFolder, options: RunOptions = RunOptions(), early: str = "") -> bool:
    """Write the tables of a folder, print its summary, and return whether a run or a table failed.

    `early` says why not all runs are recorded, if they are not.
    """
    tries = 0
    while True:
        tries += 1
        results, name = recorded.results, recorded.manifest["name"]
        summary = summarise(results)
        # before it is printed, which fails where nobody reads it
        written = write_all(recorded, to_markdown(summary, name), None, options)
        if recorded.is_current or tries == _TABLES_TRIES:
            break
        recorded = RunFolder(recorded.path)
    if options.as_json:
        known = {"experiment": name, "folder": str(recorded.path), "ended": early or None}
        print_json(known | {"missing": recorded.missing} | to_json(summary))
    elif not options.quiet:
        console().print(to_terminal(summary))
    ended = results[~is_followed(results)]
    broken = ended["status"].isin(FAILING) | ended["verdict"].isin(FAILING)
    return bool(broken.any()) or not written


def record(
    described: Experiment, folder: Path, options: RunOptions, repeated: Path | None = None
) -> tuple[RunFolder, str]:
    """Run what a folder lacks; return what it has then, and why that is not all, or an empty string.

    Parameters
    ----------
    repeated : a folder whose runs are repeated, in the place of those that the experiment plans.
    """
    cases, executor, store = begin(described, folder, options, repeated)
    recorded = RunFolder(folder)
    try:
        early = _run(cases, executor, store, recorded.records(options.retry), options.quiet)
    finally:
        store.close()
    recorded = RunFolder(folder) if store.session.lines else recorded
    if recorded.lost:
        early = early or f"{recorded.lost} of the runs were removed from {folder / LOG} by others"
    return recorded, early


def planned(
    described: Experiment, folder: Path, options: RunOptions, repeated: Path | None = None
) -> tuple[list[Case], set[str]]:
    """Return the cases of an experiment, and what the ids of those that begin anew begin with."""
    cases = plan(described) if repeated is None else planned_in(repeated)
    if options.resume and (folder / NAME).is_file():
        cases = named_alike(cases, read_manifest(folder)["problems"])
    names = solver_names([case.solver for case in cases]) if options.rerun else []
    again = set[str]()
    for text in options.rerun:
        if not any(chosen := selected(text, names)):
            raise Refusal(f"--rerun: {text!r} selects nothing; {choices_text(text, names)}")
        pairs = zip(cases, chosen, strict=True)
        again |= {search_of(case.run_id) for case, is_chosen in pairs if is_chosen}
    return cases, again


def folder_plan(cases: list[Case], folder: Path) -> list[Case]:
    """Return all cases that a folder of runs has planned, if `cases` are some of them, else `cases`."""
    if (folder / NAME).is_file():
        planned_ids = {*read_manifest(folder)["run_ids"]}
        if {case.run_id for case in cases} < planned_ids:
            return planned_in(folder)
    return cases


def begin(
    described: Experiment, folder: Path, options: RunOptions, repeated: Path | None = None
) -> tuple[list[Case], Executor, Store]:
    """Return the cases of an experiment, the executor that can run them, and the folder, open."""
    cases, again = planned(described, folder, options, repeated)
    whole = folder_plan(cases, folder) if options.rerun else cases
    plans = [] if repeated is None else read_manifest(repeated).get("plans", [])
    try:
        chosen = EXECUTORS.find(options.executor)
    except ValueError as error:
        raise Refusal(f"--executor: {error}") from None
    executor = chosen(options.workers, options.address, folder=folder)
    executor.check()
    inputs = input_files(whole)
    store = Store.open(
        folder,
        described.text,
        [case.run_id for case in whole],
        options.resume,
        Growth(options.force, options.extend, again),
        inputs=inputs,
        problems={case.problem_id: vars(case.problem) for case in whole},
        begun_by={
            "options": described.options,
            "folder": described.folder if inputs else "",
            "plans": plans,
        },
    )
    for run in store.session.restarted:  # what it had left is not gone on from
        for left in (folder / CHECKPOINTS).glob(f"{escape(run)}*"):
            shutil.rmtree(left, ignore_errors=True)
    return cases, executor, store


def _run(
    cases: Sequence[Case],
    executor: Executor,
    store: Store,
    recorded: Mapping[str, Record],
    quiet: bool,
) -> str:
    """Run the cases that are not recorded; return why not all of them, or an empty string."""
    waiting = Waiting(cases, recorded, partial(load_answer, store.folder))
    try:
        while total := len(waiting):
            with progress(total, quiet) as advance:
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


def write_all(
    folder: RunFolder,
    summary: str,
    others: Mapping[str, str] | None = None,
    options: RunOptions = RunOptions(),
) -> bool:
    """Write all tables of a run and print their paths, or why not; return whether they are written."""
    try:
        paths = write_tables(folder, {"summary.md": summary} | dict(others or {}))
    except OSError as error:  # the runs themselves are recorded
        say(f"{folder.path}: the tables cannot be written: {error.strerror}", err=True)
        return False
    for path in () if options.quiet else paths:
        say(path, err=options.as_json)
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
