"""What is recorded of a run: one row of results, rows of its trace, and perhaps a small model."""

import json
import platform
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import PackageNotFoundError, entry_points, version
from typing import Any, BinaryIO

import numpy as np

from dualgap.experiments.cases.plan import Case
from dualgap.experiments.records.columns import COLUMNS, FILES
from dualgap.experiments.records.names import dataset_text, kernel_text, path_text
from dualgap.experiments.workers.wire import Layout, Malformed, Shapes, pack

_PACKAGES = """
dualgap numpy scipy numba cvxopt cvxpy scikit-learn networkx pandas clarabel highspy osqp piqp proxsuite
qpsolvers quadprog scs scikit-learn-intelex snapml libsvm-official liblinear-multicore
"""
PACKAGES = _PACKAGES.split()
_PLUGINS = ("dualgap.solvers", "dualgap.formulations", "dualgap.datasets")


@dataclass(frozen=True)
class Outcome:
    """What one run gave.

    Attributes
    ----------
    record : a value for every column; None where there is none.
    trace : one row for each evaluation of the solver.
    model : arrays that draw the decision function of samples in the plane, and once it is read the
        kernel's description as JSON; empty for others.
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
    search, _, step = case.run_id.partition("-")
    known = {
        "run_id": case.run_id,
        "problem_id": case.problem_id,
        "formulation": case.problem.formulation,
        "dataset": dataset_text(case.problem.dataset),
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
        "tol": case.solver.settings.get("tol"),
        "warm_start": "" if case.initial is None else case.after,
        "claimed": "none",
        "verdict": "uncertified",
        "bound_source": "none",
        "host": platform.node(),
        "versions": json.dumps(versions()),
        "label": case.solver.label,
        "problem": json.dumps(vars(case.problem)),
        "aa_repeat": case.aa_repeat,
        "search": search if step else "",
        "step": int(step) if step else None,
    }
    return dict.fromkeys(COLUMNS) | known


def failed(
    case: Case, status: str, reason: str, output: str = "", signal: str | None = None
) -> Outcome:
    """Return the outcome of a run that gave no answer."""
    known = {"status": status, "reason": reason, "signal": signal}
    return Outcome(blank_record(case) | known, output=output)


Cell = bool | int | float | str | None
Row = dict[str, Cell]
_Told = tuple[Row, list[Row], str, Row, list[Row]]  # an outcome without its arrays
_LAYOUT = Layout[_Told](_Told)
_ANSWER = "answer"
_KNOWN = {own.name for own in FILES["runs.csv"]}
# what decides is known where a run is planned, and what it ran on where it ran
_OF_THE_RUN = {"claimed", "verdict", "bound_source", "host", "versions"}


def packed(outcome: Outcome) -> bytes:
    """Return an outcome as a message, see `workers.wire`."""
    arrays = {name: array for name, array in outcome.model.items() if name != "problem"}
    arrays |= {} if outcome.answer is None else {_ANSWER: outcome.answer}
    told = outcome.record, outcome.trace, outcome.output, outcome.diagnosis, outcome.path
    return pack(told, arrays)


def read_outcome(message: BinaryIO | bytes, case: Case) -> Outcome:
    """Return the outcome of a case from its message.

    Raises
    ------
    Malformed
        If the message is no outcome of this case.
    """
    (record, trace, output, diagnosis, path), arrays = _LAYOUT.read(message, _shapes)
    if wrong := (set(COLUMNS) - record.keys()) | (record.keys() - _KNOWN):
        raise Malformed(f"columns: {', '.join(sorted(wrong))[:200]}")
    known = blank_record(case)
    decided = {k: known[k] for k in COLUMNS if known[k] is not None and k not in _OF_THE_RUN}
    trace, path = ([row | {"run_id": case.run_id} for row in rows] for rows in (trace, path))
    model: dict[str, Any] = {name: a for name, a in arrays.items() if name != _ANSWER}
    if model:
        model["problem"] = np.str_(json.dumps([vars(case.problem), case.folder]))
    return Outcome(record | decided, trace, model, output, diagnosis, path, arrays.get(_ANSWER))


def _shapes(told: _Told) -> Shapes:
    """Return which arrays an outcome has on so many samples: a picture's, and dual variables."""
    n = told[0].get("n")
    if not isinstance(n, int):
        return {}
    alpha, weights = ((n,), (n, None)), ((2,), (2, None))
    plane: Shapes = {"X": ((n, 2),), "y": ((n,),), "alpha": alpha, "w": weights}
    return {**plane, "b": ((), (None,)), "offsets": ((None,),), _ANSWER: alpha}


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
