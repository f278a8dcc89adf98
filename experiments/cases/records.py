"""What is recorded of a run: one row of results, rows of its trace, and perhaps a small model."""

from __future__ import annotations

import json
import platform
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import PackageNotFoundError, entry_points, version
from typing import Any

from experiments.cases.columns import COLUMNS
from experiments.cases.plan import AA_REPEAT, Case, dataset_text
from experiments.files.specs import kernel_text, path_text

_PACKAGES = """
dualgap numpy scipy numba cvxopt cvxpy scikit-learn networkx pandas clarabel highspy osqp piqp proxsuite
qpsolvers quadprog scs scikit-learn-intelex snapml libsvm-official liblinear-multicore
"""
PACKAGES = _PACKAGES.split()
_PLUGINS = ("dualgap.solvers", "dualgap.formulations", "dualgap.datasets")
BAD = ("crashed", "diverged", "out_of_memory")  # one run with such a status fails the command


@dataclass(frozen=True)
class Outcome:
    """What one run gave.

    Attributes
    ----------
    record : a value for every column; None where there is none.
    trace : one row for each evaluation of the solver.
    model : arrays that draw the decision function of samples in the plane; empty for others.
    output : the end of what the run printed.
    diagnosis : the fields of the answer's `Diagnosis`, empty if it has none.
    path : of a path one row for each answer on it, from the lowest value.
    answer : the dual variables, if another run begins at them.
    """

    record: dict[str, Any]
    trace: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    model: dict[str, Any] = field(default_factory=dict[str, Any])
    output: str = ""
    diagnosis: dict[str, Any] = field(default_factory=dict[str, Any])
    path: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    answer: Any = None

    @property
    def run_id(self) -> str:
        """Which case this is the outcome of."""
        return self.record["run_id"]


def blank_record(case: Case) -> dict[str, Any]:
    """Return a record with what is known before the run, and None for everything else."""
    parameters = case.problem.parameters
    settings = case.solver.settings | ({"seed": case.seed} if case.solver.seeded else {})
    settings |= {AA_REPEAT: True} if case.aa_repeat else {}
    known = {
        "run_id": case.run_id,
        "problem_id": case.problem_id,
        "formulation": case.problem.formulation,
        "dataset": dataset_text(case.problem),
        "kernel": kernel_text(parameters.get("kernel")),
        "C": parameters.get("C"),
        "epsilon": parameters.get("epsilon"),
        "lam": parameters.get("lam"),
        "path": path_text(case.problem.path),
        "solver": case.solver.name,
        "params": json.dumps(settings, default=str),
        "seed": case.seed,
        "repetition": case.repetition,
        "target_gap": case.target_gap,
        "warm_start": "" if case.initial is None else case.after,
        "claimed": "none",
        "verdict": "uncertified",
        "bound_source": "none",
        "host": platform.node(),
        "versions": json.dumps(versions()),
    }
    return dict.fromkeys(COLUMNS) | known


def failed(case: Case, status: str, reason: str, signal: str | None = None) -> Outcome:
    """Return the outcome of a run that gave no answer."""
    known = {"status": status, "reason": reason, "signal": signal}
    return Outcome(blank_record(case) | known)


@cache
def versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that decide numbers and times, plug-ins too."""
    found = {"python": platform.python_version()}
    plugins = {e.dist.name for group in _PLUGINS for e in entry_points(group=group) if e.dist}
    for package in [*PACKAGES, *sorted(plugins)]:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found
