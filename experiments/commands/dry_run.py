"""What `dualgap run` would do: the plan, the runs known to be impossible, and how long it takes at most.

The time is bounded by when a run that does not stop is killed. It is for solving alone: loading data and
certifying come on top.
"""

from collections import Counter
from collections.abc import Iterable, Sequence, Set
from contextlib import suppress
from math import inf
from pathlib import Path
from typing import Any

from rich.console import Group
from rich.table import Table
from rich.text import Text

from dualgap.experiments.cases.plan import Case, code_from_outside, search_of
from dualgap.experiments.cases.search import Record, next_of
from dualgap.experiments.executors.base import limit_of
from dualgap.experiments.files.experiment import Experiment
from dualgap.experiments.files.settings import options_of
from dualgap.experiments.files.specs import (
    SolverSpec,
    build_kernel,
    build_problem,
    build_solver,
    build_source,
    plain,
)
from dualgap.experiments.records.names import settings_text
from dualgap.experiments.store.manifest import StoreError
from dualgap.experiments.store.reading import RunFolder
from dualgap.experiments.tables.formats import duration
from dualgap.problems import FORMULATIONS, Dataset, Unsupported, reduce
from dualgap.problems.datasets import GeneratedBlocks, WholeProblem
from dualgap.solvers import SOLVERS

_MOST = 20  # lines of a list


def preview(
    experiment: Experiment,
    planned: tuple[Sequence[Case], Set[str]],
    folder: Path,
    workers: int = 1,
    resume: bool = False,
    retry: Sequence[str] = (),
) -> Group:
    """Return the plan of an experiment for the terminal; nothing is run and nothing written.

    Parameters
    ----------
    planned : the cases, and what the ids of those that begin anew begin with.
    folder : where the runs would go. workers : processes. resume : whether recorded runs are left out,
        but those whose status or verdict is in `retry`.
    """
    (cases, again), done = planned, dict[str, Record]()
    with suppress(StoreError):
        done = RunFolder(folder).records(retry)
    kept = {run_id: own for run_id, own in done.items() if search_of(run_id) not in again}
    refusals = impossible(cases)
    left = [case for case in cases if not resume or next_of(case.run_id, kept) is not None]
    possible = [case for case in left if _pair(case) not in refusals]
    repeats = ["the first of each a second time (A/A)"] if experiment.noise else []
    reasons = Counter((solver, why) for (_, solver, _), why in refusals.items())
    runs = [
        str(len(cases)),
        *[f"{len(cases) - len(left)} of them recorded"] * (len(left) < len(cases)),
        *[f"{len(left) - len(possible)} of them impossible"] * (len(possible) < len(left)),
    ]
    searched = "; more where a tolerance is searched" * any(c.solver.searched for c in cases)
    missing = "" if resume else "; add --resume to continue, or choose another --out"
    limits, memory = "no time limit", "no memory limit"
    if experiment.time_limit is not None:
        ended = f"killed after {limit_of(cases[0], 'solving'):g} s if it does not stop by itself"
        limits = f"{experiment.time_limit:g} s of solving a run ({ended})"
    if experiment.memory_limit is not None:
        memory = f"{experiment.memory_limit / 2**30:.3g} GiB a worker"
    facts = {
        "problems": _listed(dict.fromkeys(case.problem_id for case in cases)),
        "solvers": _listed([*map(_solver_text, experiment.solvers), *repeats]),
        "repetitions": str(experiment.repetitions),
        "limits": f"{limits}, {memory}",
        "target gap": f"{experiment.target_gap:g}, {experiment.target}",
        "impossible": _listed(
            f"{solver}: {why} ({count} {'pair' if count == 1 else 'pairs'})"
            for (solver, why), count in reasons.items()
        )
        or "no pair, as far as can be found without the data",
        "runs": ", ".join(runs) + searched,
        "solving time": f"{time_text(possible, workers)} ({workers} process{'es' * (workers > 1)})",
        "folder": f"{folder} (has {len(done)} runs{missing})" if done else str(folder),
    }
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for name, fact in facts.items():
        table.add_row(name, Text(fact))
    return Group(Text(experiment.name, style="bold"), table)


def time_text(cases: Sequence[Case], workers: int) -> str:
    """Return by when so many processes have ended these runs, where that is known."""
    if not cases:
        return "nothing to run"
    runs = f"{len(cases)} run{'s' * (len(cases) > 1)}"
    limit = limit_of(cases[0], "solving")  # which all runs of an experiment share
    if limit == inf:
        return f"unknown for {runs}: no time limit"
    return f"at most {duration(limit * len(cases) / workers)} for {runs}, until killed"


def impossible(cases: Iterable[Case]) -> dict[tuple[str, str, str], str]:
    """Return why a problem and a solver do not go together, for the pairs that are known not to.

    Each problem is built on two arbitrary samples, so that no data are read: refusals that depend on the
    data are not found, nor those of classes from outside.
    """
    pairs = {_pair(case): case for case in cases if not code_from_outside(case)}
    refusals = {pair: _refusal(case) for pair, case in pairs.items()}
    return {pair: reason for pair, reason in refusals.items() if reason}


def _refusal(case: Case) -> str | None:
    spec = case.problem
    kernel = spec.parameters.get("kernel")
    if kernel is not None and not build_kernel(kernel).psd:
        return None  # it may be positive semidefinite on the samples
    try:
        formulation = FORMULATIONS[spec.formulation]
        samples: Any = formulation.example_samples(spec.parameters)
        data = Dataset(*samples) if formulation.has_samples else WholeProblem(*samples)
        problem = build_problem(spec, data).parts[0].problem
        if build_source(spec.dataset, case.folder).in_blocks:
            task = "regression" if problem.is_regression else "classification"
            problem = build_problem(spec, GeneratedBlocks(n=2, task=task).load())
        solver = build_solver(case.solver, case.folder, case.seed)
        return solver.refuses(reduce(problem, solver.form, None).form)
    except Unsupported as refused:
        return str(refused)
    except (ValueError, TypeError, ImportError):  # such samples are refused; a package is missing
        return None


def _pair(case: Case) -> tuple[str, str, str]:
    return case.problem_id, case.solver.name, str(case.solver.settings)


def _solver_text(solver: SolverSpec) -> str:
    """Return a solver with those of its settings that differ from their defaults, and its label."""
    options = options_of(SOLVERS[solver.name]) if solver.name in SOLVERS else {}
    usual = {key: plain(option.default) for key, option in options.items()}
    chosen = {k: v for k, v in solver.settings.items() if k not in usual or v != usual[k]}
    text = settings_text(solver.name, chosen)
    return f"{solver.label}: {text}" if solver.label else text


def _listed(names: Iterable[str]) -> str:
    """Return names line by line; of many the first."""
    every = list(names)
    more = [f"... and {len(every) - _MOST} more"] if len(every) > _MOST else []
    return "\n".join(every[:_MOST] + more)
