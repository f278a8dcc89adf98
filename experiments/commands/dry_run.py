"""What `dualgap run` would do: the plan, the runs known to be impossible, and about how long it takes.

The time is that of an earlier run of the same problems and solvers, where a folder holds one; otherwise
it is bounded by when a run that does not stop is killed. Both are for solving alone: loading data and
certifying come on top.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import fields
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from rich.console import Group
from rich.table import Table
from rich.text import Text

from experiments.cases.plan import Case, needs_outside, plan
from experiments.executors.base import Limits
from experiments.files.experiment import Experiment
from experiments.files.specs import (
    SolverSpec,
    build_kernel,
    build_problem,
    build_solver,
    plain,
    settings_text,
)
from experiments.output.text import duration
from experiments.store.manifest import StoreError
from experiments.store.published import read_records
from experiments.store.reading import RunFolder
from problems import FORMULATIONS, Dataset, Multiclass, Unsupported, reduce
from solvers import SOLVERS

_MOST = 20  # lines of a list
_Settings = dict[str, Any]
_Times = dict[tuple[str, str], list[tuple[_Settings, float]]]


class Estimate(NamedTuple):
    """How long runs take, in seconds of solving.

    Attributes
    ----------
    measured : of each of those that an earlier run had. limits : of the others, when they are ended.
    unknown : how many have neither. source : the folder of the earlier run, None if there is none.
    """

    measured: list[float]
    limits: list[float]
    unknown: int
    source: Path | None

    def text(self, workers: int) -> str:
        """Return the estimate as a sentence, for this number of processes."""
        phrases: list[str] = []
        if self.measured:
            time, count = duration(sum(self.measured) / workers), len(self.measured)
            phrases.append(f"about {time}, as measured for {_runs(count)} in {self.source}")
        if self.limits:
            time, count = duration(sum(self.limits) / workers), len(self.limits)
            phrases.append(f"at most {time} for {_runs(count)}, until killed")
        if self.unknown:
            phrases.append(f"unknown for {_runs(self.unknown)}: no time limit, and no earlier run")
        return "; ".join(phrases) or "nothing to run"


def _runs(count: int) -> str:
    return f"{count} run{'s' * (count > 1)}"


def preview(experiment: Experiment, folder: Path, workers: int = 1, resume: bool = False) -> Group:
    """Return the plan of an experiment for the terminal; nothing is run and nothing written.

    Parameters
    ----------
    folder : where the runs would go. workers : processes. resume : whether recorded runs are left out.
    """
    cases = plan(experiment)
    done = _recorded(folder)
    refusals = impossible(cases)
    left = [case for case in cases if not (resume and case.run_id in done)]
    possible = [case for case in left if _pair(case) not in refusals]
    repeats = ["the first of each a second time (A/A)"] if experiment.noise else []
    processes = "1 process" if workers == 1 else f"{workers} processes"
    facts = {
        "problems": _listed(dict.fromkeys(case.problem_id for case in cases)),
        "solvers": _listed([*map(_solver_text, experiment.solvers), *repeats]),
        "repetitions": str(experiment.repetitions),
        "limits": _limits(experiment),
        "target gap": f"{experiment.target_gap:g}, {experiment.target}",
        "impossible": _listed(_grouped(refusals))
        or "no pair, as far as can be found without the data",
        "runs": _counts(len(cases), len(left), len(possible))
        + ("; more where a tolerance is searched" if any(c.solver.searched for c in cases) else ""),
        "solving time": f"{estimate(possible, folder).text(workers)} ({processes})",
        "folder": str(folder) + _state(len(done), resume),
    }
    return Group(Text(experiment.name, style="bold"), _facts(facts))


def estimate(cases: Sequence[Case], folder: Path) -> Estimate:
    """Return how long the cases take, from an earlier run in `folder` or beside it, else by limits.

    Folders beside it count if their names begin like its own; the latest of them is taken.
    """
    source, spent = _earlier(folder, cases)
    known = [time for time in spent if time is not None]
    others = [_ended_after(c) for c, time in zip(cases, spent, strict=True) if time is None]
    limits = [limit for limit in others if np.isfinite(limit)]
    return Estimate(known, limits, len(others) - len(limits), source)


def _ended_after(limits: Case | Experiment) -> float:
    """Return after how many seconds a run is ended from outside, infinity where it never is."""
    return Limits(limits.time_limit).limit_of("solving")


def _earlier(folder: Path, cases: Sequence[Case]) -> tuple[Path | None, list[float | None]]:
    """Return a folder that has runs like these, and the seconds that each took there, if it is known."""
    beside = folder.parent.glob(f"{folder.name}*") if folder.parent.is_dir() else ()
    others = [path for path in beside if path.is_dir() and path != folder]
    latest = sorted(others, key=lambda path: path.stat().st_mtime, reverse=True)
    for place in (folder, *latest):
        try:
            times = _times(read_records(place))
        except StoreError:
            continue
        spent = [_spent(case, times) for case in cases]
        if any(time is not None for time in spent):
            return place, spent
    return None, [None] * len(cases)


def _times(results: pd.DataFrame) -> _Times:
    """Return for each problem and solver the settings of its runs, and their seconds with setup."""
    spent = results["time_solve"] + results["time_setup"].fillna(0.0)
    columns = (results["problem_id"], results["solver"], results["params"], spent)
    found: _Times = defaultdict(list)
    for problem, solver, params, seconds in zip(*columns, strict=True):
        if seconds >= 0:  # not NaN
            found[problem, solver].append((json.loads(params), seconds))
    return found


def _spent(case: Case, times: _Times) -> float | None:
    """Return the median of the runs whose settings, as far as both know them, are the case's."""
    own = {k: v for k, v in case.solver.settings.items() if k != "seed"}
    alike = [
        seconds
        for settings, seconds in times.get((case.problem_id, case.solver.name), [])
        if all(settings.get(key, value) == value for key, value in own.items())
    ]
    return float(np.median(alike)) if alike else None


def impossible(cases: Iterable[Case]) -> dict[tuple[str, str], str]:
    """Return why a problem and a solver do not go together, for the pairs that are known not to.

    Each problem is built on two arbitrary samples, so that no data are read: refusals that depend on the
    data are not found, nor those of classes from outside.
    """
    pairs = {_pair(case): case for case in cases if not needs_outside(case)}
    refusals = {pair: _refusal(case) for pair, case in pairs.items()}
    return {pair: reason for pair, reason in refusals.items() if reason}


def _refusal(case: Case) -> str | None:
    spec = case.problem
    kernel = spec.parameters.get("kernel")
    if kernel is not None and not build_kernel(kernel).psd:
        return None  # it may be positive semidefinite on the samples
    try:
        samples = FORMULATIONS[spec.formulation].example_samples(spec.parameters)
        problem = build_problem(spec, Dataset(*samples))
        problem = problem.subproblems[0].problem if isinstance(problem, Multiclass) else problem
        solver = build_solver(case.solver, case.folder, case.seed)
        return solver.refuses(reduce(problem, solver.form, None).form)
    except Unsupported as refused:
        return str(refused)
    except (
        ValueError,
        TypeError,
        ImportError,
    ):  # samples that the kernel does not take; no package
        return None


def _pair(case: Case) -> tuple[str, str]:
    return case.problem_id, settings_text(case.solver.name, case.solver.settings)


def _recorded(folder: Path) -> set[str]:
    with suppress(StoreError):
        return set(RunFolder(folder).lines)
    return set()


def _solver_text(solver: SolverSpec) -> str:
    """Return a solver with those of its settings that differ from their defaults, and its label."""
    chosen = solver.settings
    if solver.name in SOLVERS:
        defaults = {f.name: plain(f.default) for f in fields(SOLVERS[solver.name])}
        chosen = {k: v for k, v in chosen.items() if v != defaults[k]}
    text = settings_text(solver.name, chosen)
    return f"{solver.label}: {text}" if solver.label else text


def _listed(names: Iterable[str]) -> str:
    """Return names line by line; of many the first."""
    every = list(names)
    more = [f"... and {len(every) - _MOST} more"] if len(every) > _MOST else []
    return "\n".join(every[:_MOST] + more)


def _grouped(refusals: Mapping[tuple[str, str], str]) -> Iterator[str]:
    """Yield each solver's reason once, with how many problems it is of."""
    counted = Counter((solver.partition("(")[0], why) for (_, solver), why in refusals.items())
    for (solver, why), count in counted.items():
        yield f"{solver}: {why} ({count} {'pair' if count == 1 else 'pairs'})"


def _counts(planned: int, left: int, possible: int) -> str:
    recorded = f", {planned - left} of them recorded" if left < planned else ""
    impossible = f", {left - possible} of them impossible" if possible < left else ""
    return f"{planned}{recorded}{impossible}"


def _limits(experiment: Experiment) -> str:
    time, memory = experiment.time_limit, experiment.memory_limit
    ended = f"killed after {_ended_after(experiment):g} s if it does not stop by itself"
    limits = "no time limit" if time is None else f"{time:g} s of solving a run ({ended})"
    return f"{limits}, " + (
        "no memory limit" if memory is None else f"{memory / 2**30:.3g} GiB a worker"
    )


def _state(recorded: int, resume: bool) -> str:
    if not recorded:
        return ""
    missing = "" if resume else "; add --resume to continue, or choose another --out"
    return f" (has {recorded} runs{missing})"


def _facts(facts: Mapping[str, str]) -> Table:
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for key, value in facts.items():
        table.add_row(key, Text(value))
    return table
