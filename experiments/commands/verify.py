"""What `dualgap verify` runs: an experiment, with further solvers to be checked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from experiments.files.entries import OutsideClasses
from experiments.files.experiment import ConfigError, Experiment
from experiments.files.yamlfile import Fault, Node


def with_solvers(experiment: Experiment, names: Sequence[str]) -> Experiment:
    """Return the experiment with more solvers, each a name or `path/to/file.py:ClassName`.

    Raises
    ------
    ConfigError
        If there is no such solver.
    """
    try:
        with OutsideClasses(experiment.folder) as outside:
            more = tuple(outside.solver_spec(Node(name, 0)) for name in names)
    except Fault as fault:
        raise ConfigError("--solver", [fault]) from None
    return replace(experiment, solvers=experiment.solvers + more)
