"""Run experiments from Python and notebooks, as `dualgap run` does."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dualgap.experiments.commands.defaults import load_defaults
from dualgap.experiments.commands.run import (
    RunOptions,
    default_output_folder,
    folder_to_resume,
    load_experiment,
    run_missing,
)
from dualgap.experiments.commands.terminal import INTERRUPTED
from dualgap.experiments.files.experiment import experiment_from_dict
from dualgap.experiments.store.folder import write_tables
from dualgap.experiments.store.reading import RunFolder
from dualgap.experiments.tables.summary import summarise, to_markdown


def run(
    experiment: str | Path | Mapping[str, Any],
    out: str | Path | None = None,
    *,
    resume: bool = False,
    rerun: Sequence[str] = (),
    force: bool = False,
    workers: int | None = None,
    executor: str | None = None,
    address: str | None = None,
    quiet: bool = False,
) -> RunFolder:
    """Run an experiment as `dualgap run` does, and return the folder of its results.

    A notebook shows a progress bar. The user's `dualgap.yaml` provides defaults.

    Parameters
    ----------
    experiment : a file, the name of a built-in experiment, a results folder to rerun, or a dict with the
        keys of a file.
    out : results folder; default runs/<name>.
    resume : keep all recorded runs, and run only what is missing or new.
    rerun : "solver:NAME" or "status:NAME"; resume, and repeat the runs of these solvers, or with these
        statuses or verdicts.
    force : resume with this plan alone, even if code, libraries or data changed.
    workers : processes. executor : local, dask, slurm or a user's class. address : of a Dask scheduler.
    quiet : show no progress.

    Raises
    ------
    Refusal
        With all faults of the experiment, or if the folder cannot be used.
    RuntimeError
        If not all runs could be made; the others are recorded.
    KeyboardInterrupt
        If interrupted; use `resume` to continue.
    """
    if isinstance(experiment, Mapping):
        loaded, source = experiment_from_dict(experiment), None
    else:
        loaded, source = load_experiment(str(experiment))
    workers, executor, address = load_defaults().completed(workers, executor, address)
    options = RunOptions(
        resume=resume,
        rerun=tuple(rerun),
        force=force,
        workers=workers,
        executor=executor,
        address=address,
        quiet=quiet,
    )
    resumed = (
        None if isinstance(experiment, Mapping) else folder_to_resume(str(experiment), options)
    )
    folder = Path(out or resumed or default_output_folder(loaded.name))
    recorded, stop_reason = run_missing(loaded, folder, options, source)
    summary = to_markdown(summarise(recorded.results), loaded.name)
    write_tables(recorded, {"summary.md": summary})
    if stop_reason == INTERRUPTED:
        raise KeyboardInterrupt
    if stop_reason:
        raise RuntimeError(f"{stop_reason}. Recorded runs are kept; continue with resume=True.")
    return recorded
