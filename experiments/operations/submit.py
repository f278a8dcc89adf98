"""Submit the runs of an experiment to SLURM, as `dualgap submit` does."""

from collections.abc import Sequence
from dataclasses import replace

from dualgap.experiments.executors.slurm import SlurmExecutor
from dualgap.experiments.operations.options import RunOptions
from dualgap.experiments.operations.run import load_experiment, open_run, results_folder
from dualgap.experiments.operations.terminal import say


def submit(experiment: str, options: RunOptions, changes: Sequence[tuple[str, str]] = ()) -> int:
    """Submit the missing runs of an experiment in jobs; return the exit code."""
    loaded, source = load_experiment(experiment, changes)
    folder = results_folder(experiment, loaded.name, options)
    _, executor, session = open_run(loaded, folder, replace(options, executor="slurm"), source)
    session.close()
    assert isinstance(executor, SlurmExecutor)
    missing, jobs = executor.submit()
    say(
        f"Submitted {missing} runs in {jobs} jobs. See what is recorded with: dualgap report {folder}"
    )
    return 0
