"""The record of a run: one row of results, the rows of its trace, and possibly a small model."""

import json
import platform
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import PackageNotFoundError, entry_points, version
from typing import Any

from dualgap.experiments.cases.plan import Case
from dualgap.experiments.records.columns import COLUMNS
from dualgap.experiments.records.names import dataset_text, kernel_text, path_text, value_text
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
