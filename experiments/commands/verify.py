"""What `dualgap verify` does: an experiment is run, and every run compared with the QP optimum."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import closing, redirect_stdout
from pathlib import Path

from experiments.analysis.verify import Verification, compare
from experiments.commands.session import RunOptions, record, write_all
from experiments.files.entries import Describer
from experiments.files.experiment import ConfigError, Experiment
from experiments.files.yamlfile import Fault, Node
from experiments.output import tables
from experiments.output.terminal import console, print_json
from experiments.output.verify_tables import to_json, to_terminal, verification_texts


def verify_into(
    described: Experiment,
    folder: Path,
    options: RunOptions,
    keep: bool,
    tolerance: float,
    as_json: bool = False,
) -> tuple[Verification, str]:
    """Run an experiment into a folder and print its verification; with `keep` also write all tables.

    Parameters
    ----------
    tolerance : the largest difference from the QP optimum with which a run passes, see `compare`.
    as_json : print JSON alone to standard output.

    Returns
    -------
    Verification, str
        The outcome, and why not every problem was checked, if so.
    """
    recorded, early = record(described, folder, options)
    results = recorded.results
    diagnosed = results.assign(diagnosis=results["run_id"].map(recorded.diagnoses))
    verification = compare(diagnosed, tolerance, proven=described.target == "proven")
    if as_json:
        print_json({"experiment": described.name, "ended": early or None} | to_json(verification))
    else:
        console().print(to_terminal(verification))
    if keep:
        summary = tables.to_markdown(tables.summarise(results), described.name)
        texts = verification_texts(verification, described.name)
        with redirect_stdout(sys.stderr if as_json else sys.stdout):
            written = write_all(recorded, summary, texts)
        if not written:
            sys.exit(1)
    return verification, early


def with_solvers(experiment: Experiment, names: Sequence[str]) -> Experiment:
    """Return the experiment with more solvers, each a name or `path/to/file.py:ClassName`.

    Raises
    ------
    ConfigError
        If there is no such solver, or the experiment follows a path.
    """
    if any(problem.path for problem in experiment.problems):
        fault = (
            "path: has an answer for each interval, and `verify` compares one with a QP optimum; "
        )
        remedy = "list values in its place, as C: [0.1, 1], or follow it with `dualgap run`"
        raise ConfigError(experiment.name, [Fault(0, fault + remedy)])
    try:
        with closing(Describer(experiment.folder)) as describer:
            more = [describer.solver(Node(name, 0)) for name in names]
    except Fault as fault:
        raise ConfigError("--solver", [fault]) from None
    return experiment.model_copy(update={"solvers": experiment.solvers + more})
