"""Run experiments, each into one folder, as `dualgap run` does."""

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from dualgap.experiments.cases.plan import Case, RunKey, keep_existing_names, plan, solvers_of
from dualgap.experiments.cases.records import failed
from dualgap.experiments.cases.schedule import Schedule
from dualgap.experiments.executors.base import EXECUTORS, Executor, ExecutorError
from dualgap.experiments.files.experiment import (
    Experiment,
    find_experiments,
    read_experiment,
)
from dualgap.experiments.operations.options import CommandOptions, RunOptions
from dualgap.experiments.operations.progress import progress
from dualgap.experiments.operations.terminal import INTERRUPTED, say
from dualgap.experiments.records import Refusal
from dualgap.experiments.store.inputs import input_files
from dualgap.experiments.store.logs import RecordedRuns
from dualgap.experiments.store.manifest import LOG, is_results_folder, read_manifest
from dualgap.experiments.store.plan import ResumePolicy, planned_cases, recorded_experiment
from dualgap.experiments.store.session import Session

_MAX_KILLED_STARTS = 3  # of one run, by commands of a shard


class Recorded(NamedTuple):
    """Result of a command that records runs, as shown by `conclusion`.

    Attributes
    ----------
    runs : of the results folder. stop_reason : why some of its runs are missing, empty if none is.
    options : of the command. arguments : of a `dualgap run` for the missing runs.
    archived : the earlier runs of an archive, if these repeat them.
    """

    runs: RecordedRuns
    stop_reason: str
    options: CommandOptions
    arguments: Sequence[str]
    archived: RecordedRuns | None = None


def run_all(
    experiment: str,
    options: CommandOptions,
    parent: str,
    changes: Sequence[tuple[str, str]] = (),
) -> Iterator[Recorded]:
    """Run the experiments of a name or file one after another; yield each. See `load_all`."""
    experiments = load_all(experiment, options, parent, changes)
    if options.rerun_names("solver"):  # before any of several is run
        for one, target in experiments:
            plan_runs(one, target, options)
    _, target = experiments[0]
    folder = target.parent if len(experiments) > 1 else target
    arguments = [experiment, *chain.from_iterable(changes), "--out", str(folder)]
    for one, target in experiments:
        recorded, stop_reason = run_missing(one, target, options)
        yield Recorded(recorded, stop_reason, options, [*arguments, *options.resume_arguments()])


def load_all(
    experiment: str,
    options: RunOptions,
    parent: str,
    changes: Sequence[tuple[str, str]] = (),
) -> list[tuple[Experiment, Path]]:
    """Return the experiments of a name or file with their results folders; several share a parent.

    Parameters
    ----------
    parent : of results folders, see `results_folder`.
    changes : changes of each file by the command line, see `read_experiment`.
    """
    experiments = load_experiments(experiment, changes)
    several = len(experiments) > 1
    names = [one.name for one in experiments]
    if duplicate := next((name for name in names if names.count(name) > 1), None):
        raise Refusal(
            f"Several experiments of {experiment} are named {duplicate!r}, which is also the name of "
            "their results folder. Rename all except one."
        )
    name = Path(experiment).name if several else names[0]
    folder = results_folder(experiment, name, options, parent)
    return [(one, folder / one.name if several else folder) for one in experiments]


def load_experiments(experiment: str, changes: Sequence[tuple[str, str]] = ()) -> list[Experiment]:
    """Return the validated experiments of a file, a name, a folder of files, or a results folder.

    Parameters
    ----------
    changes : changes of each file by the command line, see `read_experiment`. With changes, a results
        folder is not rerun as it is: its changed experiment is planned again.
    """
    folder = Path(experiment)
    if is_results_folder(folder):
        loaded = recorded_experiment(folder, changes)
        return [loaded if changes else loaded.model_copy(update={"source": folder})]
    return [read_experiment(file, changes) for file in find_experiments(experiment)]


def load_experiment(experiment: str, changes: Sequence[tuple[str, str]] = ()) -> Experiment:
    """Return a single experiment as `load_experiments` does; Refusal if there are several."""
    experiments = load_experiments(experiment, changes)
    if len(experiments) > 1:
        names = ", ".join(each.name for each in experiments)
        raise Refusal(f"{experiment} is a folder of several experiments. Choose one of {names}.")
    return experiments[0]


def results_folder(experiment: str | None, name: str, options: RunOptions, parent: str) -> Path:
    """Return the folder of `options`, else the one that is resumed, else that of a name in `parent`."""
    if options.out is not None:
        return Path(options.out)
    if experiment and options.resumes and is_results_folder(Path(experiment)):
        return Path(experiment)
    return Path(parent) / name


def run_missing(
    experiment: Experiment, folder: Path, options: RunOptions
) -> tuple[RecordedRuns, str]:
    """Run the missing runs of a folder; return its runs, and why some are still missing, else ""."""
    cases, executor, session = open_run(experiment, folder, options)
    recorded = RecordedRuns(folder)
    try:
        if options.shard:
            from dualgap.experiments.cases.shard import Shard  # noqa: PLC0415

            cases = Shard.parse(options.shard).cases_of(cases)
            _record_fatal_runs(cases, session, recorded)
            recorded = RecordedRuns(folder)
        stop_reason = _run(cases, executor, session, recorded, options)
    finally:
        session.close()
    if session.recorded or not recorded.is_current:
        recorded = RecordedRuns(folder)
    if lost := session.lost():
        stop_reason = (
            stop_reason or f"another process removed {lost} runs from {session.path / LOG}"
        )
    return recorded, stop_reason


def plan_runs(
    experiment: Experiment, folder: Path, options: RunOptions
) -> tuple[list[Case], set[RunKey]]:
    """Return the cases of an experiment, and the keys of the runs and rounds to rerun."""
    cases = plan(experiment) if experiment.source is None else planned_cases(experiment.source)
    restarted = set[RunKey]()
    if options.resumes and is_results_folder(folder):
        cases = keep_existing_names(cases, read_manifest(folder))
        ends = {*options.rerun_names("status")}
        records = RecordedRuns(folder).records() if ends else {}
        rows = [row for row in records.values() if ends & {row["status"], row["verdict"]}]
        restarted |= {RunKey.parse(row["run_id"]) for row in rows}
    if texts := options.rerun_names("solver"):
        from dualgap.experiments.files.overrides import chosen_solvers  # noqa: PLC0415 - rarely needed

        chosen = chosen_solvers(texts, [(case.solver, case.label, case.series) for case in cases])
        restarted |= {
            case.key.round for case, is_chosen in zip(cases, chosen, strict=True) if is_chosen
        }
    return cases, restarted


def all_planned_cases(cases: list[Case], folder: Path, force: bool = False) -> list[Case]:
    """Return the cases that a folder plans, then those of `cases` that are new.

    If new ones are forced, they form a separate plan.
    """
    if is_results_folder(folder):
        planned_ids = {*read_manifest(folder)["run_ids"]}
        added = [case for case in cases if case.run_id not in planned_ids]
        if len(cases) - len(added) < len(planned_ids) and not (force and added):
            return [*planned_cases(folder), *added]
    return cases


def open_run(
    experiment: Experiment, folder: Path, options: RunOptions
) -> tuple[list[Case], Executor, Session]:
    """Return the cases of an experiment, an executor that can run them, and the session."""
    cases, restarted = plan_runs(experiment, folder, options)
    all_cases = cases
    if options.rerun_names("solver"):
        all_cases = all_planned_cases(cases, folder, options.force)
    source = experiment.source
    plans = [] if source is None else read_manifest(source).get("plans", [])
    try:
        chosen = EXECUTORS.find(options.executor or "local")
    except ValueError as error:
        raise Refusal(f"--executor: {error}") from None
    executor = chosen(options.workers, options.address, folder=folder)
    executor.check()
    inputs = input_files(all_cases)
    session = Session.begin(
        folder,
        experiment.text,
        [case.run_id for case in all_cases],
        options.resumes,
        ResumePolicy(options.force, restarted),
        inputs=inputs,
        problems={case.problem_id: vars(case.problem) for case in all_cases},
        solvers=solvers_of(all_cases),
        command_info={
            "options": experiment.options,
            "folder": experiment.folder if inputs else "",
            "plans": plans,
        },
    )
    if (count := len(session.manifest["run_ids"]) - len(all_cases)) and not options.quiet:
        say(f"{folder} also keeps {count} runs that are not in this plan.", err=True)
    return cases, executor, session


def _record_fatal_runs(cases: Sequence[Case], session: Session, recorded: RecordedRuns) -> None:
    """Record as crashed the runs during which commands of a shard were killed too often."""
    for case in Schedule(cases, recorded.records()):
        if (count := recorded.killed_starts[case.run_id]) >= _MAX_KILLED_STARTS:
            reason = f"the command or its job was killed {count} times while it ran"
            session.append(failed(case, "crashed", reason))


def _run(
    cases: Sequence[Case],
    executor: Executor,
    session: Session,
    recorded: RecordedRuns,
    options: RunOptions,
) -> str:
    """Run the cases that are not recorded; return why it stopped early, or an empty string."""

    def answer(run_id: str) -> Any:
        return session.answer(run_id) if run_id in session.recorded else recorded.answer(run_id)

    schedule = Schedule(cases, recorded.records(), answer)
    starting = map(session.log_start, schedule) if options.shard else schedule
    started = map(session.with_artifacts, starting)
    try:
        while total := len(schedule):
            with progress(total, options.quiet) as advance:
                reporting = replace(executor, on_status=advance.begin_phase)
                with closing(reporting.run(started)) as outcomes:
                    for outcome in outcomes:
                        session.append(outcome)
                        row = outcome.record
                        ending = row["verdict"] if row["status"] == "finished" else row["status"]
                        line = f"{ending}: {row['label']} on {row['problem_id']}"
                        advance(line, schedule.follow(row))
    except KeyboardInterrupt:
        return INTERRUPTED
    except ExecutorError as error:
        return f"stopped: {error}"
    except OSError as error:
        return f"stopped: a run could not be recorded: {error.strerror or error}"
    return ""
