"""The record of a run: one row of results, the rows of its trace, and possibly a small model."""

import json
import platform
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import PackageNotFoundError, entry_points, version
from typing import Any, BinaryIO

import numpy as np

from dualgap.experiments.cases.plan import Case
from dualgap.experiments.records.columns import COLUMNS, FILES
from dualgap.experiments.records.names import dataset_text, kernel_text, path_text, value_text
from dualgap.experiments.workers.wire import Layout, Malformed, Shapes, pack
from dualgap.problems.dataset import Names

_PACKAGES = """
dualgap numpy scipy numba cvxopt cvxpy scikit-learn networkx pandas clarabel daqp ecos gurobipy highspy
highspy-extras mosek osqp piqp proxsuite qpalm qpsolvers quadprog scs scikit-learn-intelex snapml
libsvm-official liblinear-multicore
"""
PACKAGES = _PACKAGES.split()
_PLUGINS = ("dualgap.solvers", "dualgap.formulations", "dualgap.datasets")


@dataclass(frozen=True)
class Outcome:
    """The result of one run.

    Attributes
    ----------
    record : a value for every column, None if missing.
    trace : one row per evaluation of the solver.
    model : arrays that draw the decision function in the plane, and after reading the problem as JSON;
        empty for other problems.
    output : the end of the run's printed output.
    diagnosis : the fields of the answer's `Diagnosis`, empty if there is none.
    path : one row per answer on a path, from the lowest value.
    answer : the dual variables, if another run starts from them.
    names : of the features and classes of the model.
    """

    record: dict[str, Any]
    trace: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    model: dict[str, Any] = field(default_factory=dict[str, Any])
    output: str = ""
    diagnosis: dict[str, Any] = field(default_factory=dict[str, Any])
    path: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    answer: Any = None
    names: Names = Names()  # noqa: RUF009 - immutable

    @property
    def run_id(self) -> str:
        """Id of the case."""
        return self.record["run_id"]


def blank_record(case: Case) -> dict[str, Any]:
    """Return a record with the values known before the run, and None for all others."""
    parameters = case.problem.parameters
    settings = case.solver.settings | ({"seed": case.seed} if case.solver.seeded else {})
    searched = case.solver.searched
    columns = {
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
        "label": case.label,
        "problem": json.dumps(vars(case.problem)),
        "aa_repeat": case.aa_repeat,
        "search": "" if case.key.step is None else str(case.key.round),
        "step": case.key.step,
        "series": case.series,
        "search_setting": f"{searched}={value_text(settings[searched])}" if searched else "",
    }
    return dict.fromkeys(COLUMNS) | columns


def failed(
    case: Case, status: str, reason: str, output: str = "", signal: str | None = None
) -> Outcome:
    """Return the outcome of a run without an answer."""
    columns = {"status": status, "reason": reason, "signal": signal}
    return Outcome(blank_record(case) | columns, output=output)


Cell = bool | int | float | str | None
Row = dict[str, Cell]
_Header = tuple[Row, list[Row], str, Row, list[Row], Names]  # an outcome without its arrays
_LAYOUT = Layout[_Header](_Header)
_ANSWER = "answer"
_COLUMN_NAMES = {column.name for column in FILES["runs.csv"]}
# columns of `blank_record` that the worker decides; all others are as planned, whatever it sends
_WORKER_COLUMNS = {"claimed", "verdict", "bound_source", "host", "versions"}


def pack_outcome(outcome: Outcome) -> bytes:
    """Return an outcome as a message, see `workers.wire`."""
    texts = ("problem", "names")  # of a model that was read, as Dask sends it on
    arrays = {name: array for name, array in outcome.model.items() if name not in texts}
    arrays |= {} if outcome.answer is None else {_ANSWER: outcome.answer}
    more = outcome.output, outcome.diagnosis, outcome.path, outcome.names
    return pack((outcome.record, outcome.trace, *more), arrays)


def read_outcome(message: BinaryIO | bytes, case: Case) -> Outcome:
    """Return the outcome of a case from its message.

    Raises
    ------
    Malformed
        If the message is not an outcome of this case.
    """
    (record, trace, output, diagnosis, path, names), arrays = _LAYOUT.read(message, _shapes)
    if wrong := (set(COLUMNS) - record.keys()) | (record.keys() - _COLUMN_NAMES):
        raise Malformed(f"columns: {', '.join(sorted(wrong))[:200]}")
    blank = blank_record(case)
    planned = {k: blank[k] for k in COLUMNS if blank[k] is not None and k not in _WORKER_COLUMNS}
    trace, path = ([row | {"run_id": case.run_id} for row in rows] for rows in (trace, path))
    model: dict[str, Any] = {name: a for name, a in arrays.items() if name != _ANSWER}
    if model:
        model["problem"] = np.str_(json.dumps([vars(case.problem), case.folder]))
        model["names"] = np.str_(json.dumps(names))
    answer = arrays.get(_ANSWER)
    return Outcome(record | planned, trace, model, output, diagnosis, path, answer, names)


def _shapes(header: _Header) -> Shapes:
    """Return the shapes of the arrays that an outcome may have: of a model, and dual variables."""
    n = header[0].get("n")
    if not isinstance(n, int):
        return {}
    alpha, weights = ((n,), (n, None)), ((2,), (2, None))
    plane: Shapes = {"X": ((n, 2),), "y": ((n,),), "alpha": alpha, "w": weights}
    return {**plane, "b": ((), (None,)), "offsets": ((None,),), _ANSWER: alpha}


@cache
def versions() -> dict[str, str]:
    """Return the versions of Python, plug-ins, and packages that affect numbers and times."""
    installed = {"python": platform.python_version()}
    plugins = {e.dist.name for group in _PLUGINS for e in entry_points(group=group) if e.dist}
    for package in [*PACKAGES, *sorted(plugins)]:
        try:
            installed[package] = version(package)
        except PackageNotFoundError:
            continue
    return installed
