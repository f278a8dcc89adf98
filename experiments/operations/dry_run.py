"""`dualgap run --dry-run`: the plan, runs that cannot work, and an upper bound of the solving time.

The bound counts every run until it is killed. Loading data and certifying come on top.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from math import inf
from pathlib import Path
from typing import Any

from rich.console import Group
from rich.table import Table
from rich.text import Text

from dualgap.experiments.cases.plan import Case, RunKey
from dualgap.experiments.cases.schedule import Round
from dualgap.experiments.cases.search import Record
from dualgap.experiments.cases.solving import user_code
from dualgap.experiments.executors.local import limit_of
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
from dualgap.experiments.operations.options import RunOptions
from dualgap.experiments.operations.run import load_all, plan_runs
from dualgap.experiments.operations.terminal import console
from dualgap.experiments.records.names import settings_text
from dualgap.experiments.store.logs import RecordedRuns
from dualgap.experiments.store.manifest import StoreError
from dualgap.experiments.tables.formats import duration
from dualgap.problems import FORMULATIONS, ConvexQP, Dataset, Unsupported, reduce
from dualgap.problems.datasets import GeneratedBlocks, WholeProblem
from dualgap.solvers import SOLVERS

_MAX_LISTED = 20  # names; a longer list fills the screen


def show_plans(
    experiment: str,
    options: RunOptions,
    parent: str,
    changes: Sequence[tuple[str, str]],
) -> None:
    """Print the plans of the experiments of a name or file; parameters as for `load_all`."""
    for one, folder in load_all(experiment, options, parent, changes):
        console().print(preview(one, folder, options))


def preview(experiment: Experiment, folder: Path, options: RunOptions) -> Group:
    """Return the plan of an experiment for the terminal, without running or writing anything."""
    cases, restarted = plan_runs(experiment, folder, options)
    recorded, workers = dict[str, Record](), options.workers or 1
    with suppress(StoreError):
        recorded = RecordedRuns(folder).records()
    valid = {k: row for k, row in recorded.items() if not RunKey.parse(k).is_in(restarted)}
    refusals = impossible(cases)
    if not options.resumes:
        valid = dict[str, Record]()
    pending = [case for case in cases if Round(case.key, valid).next_run() is not None]
    possible = [case for case in pending if _pair(case) not in refusals]
    repeats = ["the first of each a second time (A/A)"] if experiment.noise else []
    reasons = Counter((solver, why) for (_, solver, _), why in refusals.items())
    runs = [
        str(len(cases)),
        *[f"{len(cases) - len(pending)} of them recorded"] * (len(pending) < len(cases)),
        *[f"{len(pending) - len(possible)} of them unsupported"] * (len(possible) < len(pending)),
    ]
    searched = "; more if a tolerance is searched" * any(c.solver.searched for c in cases)
    hint = "" if options.resumes else "; add --resume to continue, or choose another --out"
    limits, memory = "no time limit", "no memory limit"
    if experiment.time_limit is not None:
        killed = f"killed after {limit_of(cases[0], 'solving'):g} s if it ignores the limit"
        limits = f"{experiment.time_limit:g} s of solving per run ({killed})"
    if experiment.memory_limit is not None:
        memory = f"{experiment.memory_limit / 2**30:.3g} GiB per worker"
    facts = {
        "problems": _listed(dict.fromkeys(case.problem_id for case in cases)),
        "solvers": _listed([*map(_solver_text, experiment.solvers), *repeats]),
        "repetitions": str(experiment.repetitions),
        "limits": f"{limits}, {memory}",
        "target gap": f"{experiment.target_gap:g}, {experiment.target}",
        "unsupported": _listed(
            f"{solver}: {why} ({count} {'pair' if count == 1 else 'pairs'})"
            for (solver, why), count in reasons.items()
        )
        or "none known before loading the data",
        "runs": ", ".join(runs) + searched,
        "solving time": f"{time_text(possible, workers)} ({workers} process{'es' * (workers > 1)})",
        "folder": f"{folder} (has {len(recorded)} runs{hint})" if recorded else str(folder),
    }
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for name, fact in facts.items():
        table.add_row(name, Text(fact))
    return Group(Text(experiment.name, style="bold"), table)


def time_text(cases: Sequence[Case], workers: int) -> str:
    """Return an upper bound of the time of these runs in the given number of processes, if known."""
    if not cases:
        return "nothing to run"
    runs = f"{len(cases)} run{'s' * (len(cases) > 1)}"
    limit = limit_of(cases[0], "solving")  # the same for all runs
    if limit == inf:
        return f"unknown for {runs}: no time limit"
    return f"at most {duration(limit * len(cases) / workers)} for {runs}, until killed"


def impossible(cases: Iterable[Case]) -> dict[tuple[str, str, str], str]:
    """Return why a solver does not support a problem, for the pairs known to be unsupported.

    Each problem is built on two arbitrary samples, without reading data: refusals that depend on data,
    and those of user classes, are not found.
    """
    pairs = {_pair(case): case for case in cases if not user_code(case)}
    refusals = {pair: _refusal(case) for pair, case in pairs.items()}
    return {pair: reason for pair, reason in refusals.items() if reason}


def _refusal(case: Case) -> str | None:
    spec = case.problem
    kernel = spec.parameters.get("kernel")
    if kernel is not None and not build_kernel(kernel).psd:
        return None  # it may be positive semidefinite on the samples
    try:
        formulation = FORMULATIONS[spec.formulation]
        samples: Any = formulation.example_data(spec.parameters)
        data = WholeProblem(*samples) if formulation is ConvexQP else Dataset(*samples)
        problem = build_problem(spec, data).parts[0].problem
        if build_source(spec.dataset, case.folder).in_blocks:
            task = "regression" if problem.risk.loss.is_regression else "classification"
            problem = build_problem(spec, GeneratedBlocks(n=2, task=task).load())
        solver = build_solver(case.solver, case.folder, case.seed)
        return solver.refuses(reduce(problem, solver.form, None).form)
    except Unsupported as refused:
        return str(refused)
    except (ValueError, TypeError, ImportError):  # samples refused, or a package is missing
        return None


def _pair(case: Case) -> tuple[str, str, str]:
    return case.problem_id, case.solver.name, str(case.solver.settings)


def _solver_text(solver: SolverSpec) -> str:
    """Return a solver's label, name and the settings that differ from their defaults."""
    options = options_of(SOLVERS[solver.name]) if solver.name in SOLVERS else {}
    defaults = {key: plain(option.default) for key, option in options.items()}
    chosen = {k: v for k, v in solver.settings.items() if k not in defaults or v != defaults[k]}
    text = settings_text(solver.name, chosen)
    return f"{solver.label}: {text}" if solver.label else text


def _listed(names: Iterable[str]) -> str:
    """Return names, one per line; only the first if there are many."""
    every = list(names)
    more = [f"... and {len(every) - _MAX_LISTED} more"] if len(every) > _MAX_LISTED else []
    return "\n".join(every[:_MAX_LISTED] + more)
