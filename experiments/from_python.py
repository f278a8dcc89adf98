"""Run experiments from Python and notebooks, as `dualgap run` does."""

from collections.abc import Callable, Mapping
from functools import wraps
from inspect import signature
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeAlias, get_type_hints

from dualgap.experiments.analysis.results import Results
from dualgap.experiments.files.experiment import experiment_from_dict
from dualgap.experiments.operations.defaults import load_defaults
from dualgap.experiments.operations.options import RunOptions
from dualgap.experiments.operations.run import load_experiment, results_folder, run_missing
from dualgap.experiments.operations.terminal import INTERRUPTED
from dualgap.experiments.store.reading import RunFolder
from dualgap.experiments.tables.summary import summarise, to_markdown

ExperimentSource: TypeAlias = str | Path | Mapping[str, Any]
Parameters = ParamSpec("Parameters")


def _taking(
    options: Callable[Parameters, RunOptions],
) -> Callable[
    [Callable[[ExperimentSource, RunOptions], RunFolder]],
    Callable[Concatenate[ExperimentSource, Parameters], RunFolder],
]:
    """Turn the fields of the options into parameters of a function."""

    def decorate(
        function: Callable[[ExperimentSource, RunOptions], RunFolder],
    ) -> Callable[Concatenate[ExperimentSource, Parameters], RunFolder]:
        @wraps(function)
        def taking(
            experiment: ExperimentSource, *args: Parameters.args, **kwargs: Parameters.kwargs
        ) -> RunFolder:
            return function(experiment, options(*args, **kwargs))

        types, (first, _) = get_type_hints(RunOptions), signature(function).parameters.values()
        declared = signature(options).parameters.items()
        parameters = [first, *(each.replace(annotation=types[name]) for name, each in declared)]
        vars(taking)["__signature__"] = signature(function).replace(parameters=parameters)
        return taking

    return decorate


@_taking(RunOptions)
def run(experiment: ExperimentSource, options: RunOptions) -> RunFolder:
    """Run an experiment as `dualgap run` does, and return the folder of its results.

    A notebook shows a progress bar. The user's `dualgap.yaml` provides defaults.

    Parameters
    ----------
    experiment : a file, the name of a built-in experiment, a results folder to rerun, or a dict with the
        keys of a file.
    options : `out`, and the other fields of `RunOptions` as keywords.

    Raises
    ------
    Refusal
        With all faults of the experiment, or if the folder cannot be used.
    RuntimeError
        If not all runs could be made; the others are recorded.
    KeyboardInterrupt
        If interrupted; use `resume` to continue.
    """
    defaults = load_defaults()
    if isinstance(experiment, Mapping):
        loaded, source = experiment_from_dict(experiment), None
    else:
        source = str(experiment)
        loaded = load_experiment(source)
    folder = results_folder(source, loaded.name, options, defaults.out)
    runs, stop_reason = run_missing(loaded, folder, defaults.completed(options))
    recorded = RunFolder.of(runs)
    summary = to_markdown(summarise(Results(recorded.results)), loaded.name)
    recorded.write_tables({"summary.md": summary})
    if stop_reason == INTERRUPTED:
        raise KeyboardInterrupt
    if stop_reason:
        raise RuntimeError(f"{stop_reason}. Recorded runs are kept; continue with resume=True.")
    return recorded
