"""Experiments run from Python and notebooks, as `dualgap run` does."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dualgap.experiments.commands.defaults import take_defaults
from dualgap.experiments.commands.run import RunOptions, experiment_of, goes_on_in, place_of, record
from dualgap.experiments.commands.terminal import INTERRUPTED
from dualgap.experiments.files.experiment import described_experiment
from dualgap.experiments.store.folder import write_tables
from dualgap.experiments.store.reading import RunFolder
from dualgap.experiments.tables.summary import summarise, to_markdown


def run(
    experiment: str | Path | Mapping[str, Any],
    out: str | Path | None = None,
    *,
    resume: bool = False,
    extend: bool = False,
    rerun: Sequence[str] = (),
    workers: int | None = None,
    executor: str | None = None,
    address: str | None = None,
    quiet: bool = False,
) -> RunFolder:
    """Run an experiment as `dualgap run` does, and return the folder of its results.

    A notebook shows a bar of its progress. What a user's `dualgap.yaml` says stands for what is not
    given.

    Parameters
    ----------
    experiment : a file, the name of one that comes with the toolkit, a folder of runs that are to be
        repeated, or a dict such as a file's YAML gives.
    out : folder of the results; runs/<name> if it is not given.
    resume : run only what the folder does not have yet.
    extend : resume, keep what the folder has, and run what is new in the plan.
    rerun : names or labels of solvers; resume, and run them again.
    workers : processes. executor : local, dask, slurm or one from outside. address : of a Dask
        scheduler.
    quiet : show no progress.

    Raises
    ------
    Refusal
        With everything that is wrong with the experiment, or if the folder cannot be used, as a command
        says it.
    RuntimeError
        If not all runs could be made; those that were are recorded.
    KeyboardInterrupt
        If it was interrupted; `resume` goes on.
    """
    if isinstance(experiment, Mapping):
        described, repeated = described_experiment(experiment), None
    else:
        described, repeated = experiment_of(str(experiment))
    workers, executor, address = take_defaults().completed(workers, executor, address)
    options = RunOptions(
        resume=resume or extend or bool(rerun),
        extend=extend,
        rerun=tuple(rerun),
        workers=workers,
        executor=executor,
        address=address,
        quiet=quiet,
    )
    known = None if isinstance(experiment, Mapping) else goes_on_in(str(experiment), options)
    folder = Path(out or known or place_of(described.name))
    recorded, early = record(described, folder, options, repeated)
    summary = to_markdown(summarise(recorded.results), described.name)
    write_tables(recorded, {"summary.md": summary})
    if early == INTERRUPTED:
        raise KeyboardInterrupt
    if early:
        raise RuntimeError(f"{early}; what is recorded is kept, and resume=True goes on")
    return recorded
