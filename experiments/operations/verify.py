"""`dualgap verify`: run an experiment and compare every run with the QP optimum."""

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

from dualgap.experiments.analysis.results import Results
from dualgap.experiments.analysis.verify import compare
from dualgap.experiments.files.build import Describer
from dualgap.experiments.files.document import ConfigError, Fault
from dualgap.experiments.files.experiment import Experiment
from dualgap.experiments.files.overrides import text_of
from dualgap.experiments.files.yaml import parse
from dualgap.experiments.operations.conclusion import write_all
from dualgap.experiments.operations.options import CommandOptions
from dualgap.experiments.operations.run import load_experiment, run_missing
from dualgap.experiments.operations.terminal import INTERRUPTED, console, print_json, say
from dualgap.experiments.store.reading import RunFolder
from dualgap.experiments.tables.summary import summarise
from dualgap.experiments.tables.verification import to_json, to_terminal, verification_texts


def verify_experiment(
    experiment: str,
    more: Sequence[str],
    options: CommandOptions,
    rigorous: bool,
    tolerance: float | None,
) -> int:
    """Run an experiment and print its verification; return the exit code.

    Parameters
    ----------
    more : additional solvers to check.
    tolerance : the largest difference from the QP optimum that passes, see `compare`; None for the
        target gap of the experiment.
    """
    changes = [("--set", "target=proven")] if rigorous else []
    loaded = with_solvers(load_experiment(experiment, changes), more)
    with TemporaryDirectory() as scratch:
        runs, stop_reason = run_missing(loaded, Path(options.out or scratch), options)
        recorded = RunFolder.of(runs)
        results = recorded.results
        proven = loaded.target == "proven"
        verification = compare(results, tolerance, proven, recorded.diagnoses)
        if options.as_json:
            header = {"experiment": loaded.name, "ended": stop_reason or None}
            print_json(header | to_json(verification))
        elif not options.quiet:
            console().print(to_terminal(verification))
        if options.out:
            texts = verification_texts(verification, loaded.name)
            if not write_all(recorded, summarise(Results(results)), options, texts):
                return 1
    if stop_reason:
        say(f"{stop_reason}: not every problem was checked", err=True)
        return 130 if stop_reason == INTERRUPTED else 1
    return int(not verification.passed)


def with_solvers(experiment: Experiment, names: Sequence[str]) -> Experiment:
    """Return the experiment with additional solvers, each a name or `path/to/file.py:ClassName`.

    Raises
    ------
    ConfigError
        If there is no such solver, or the experiment contains a path.
    """
    if any(problem.path for problem in experiment.problems):
        fault = "path: `verify` compares single answers with the QP optimum, not whole paths. "
        remedy = "List values instead, as C: [0.1, 1], or use `dualgap run`."
        raise ConfigError(experiment.name, [Fault(fault + remedy)])
    try:
        with closing(Describer(experiment.folder)) as describer:
            more = [describer.solver(name) for name in names]
    except Fault as fault:
        raise ConfigError("--solver", [Fault(fault.text)]) from None
    experiment = experiment.model_copy(update={"source": None})  # it is planned anew
    if not names:
        return experiment
    document = parse(experiment.text.encode())
    value = document.value | {"solvers": [*document.listed("solvers"), *names]}
    text = text_of(value, experiment.text, [f"--solver {name}" for name in names])
    return experiment.model_copy(update={"solvers": experiment.solvers + more, "text": text})
