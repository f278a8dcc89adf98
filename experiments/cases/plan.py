"""Plan the cases of an experiment: a pure function with the same result on every machine.

Every repetition runs all solvers on a problem once, in a newly shuffled order, so that neither a warm
machine nor a busy hour favours one of them. If noise is measured, the first configuration of each solver
runs twice per repetition, at two positions of the order (see `noise`).

`RunKey` is the only place that reads or writes the text of a key, the run id.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dualgap.experiments.files.specs import ProblemSpec, SolverSpec, named_solvers
from dualgap.experiments.records.names import Spec, joined_solvers, problem_names, solver_key

if TYPE_CHECKING:  # workers never plan, and need not import experiment files
    from dualgap.experiments.files.experiment import Experiment

_RUN_ID = re.compile(r"([^.-]+)(?:\.([0-9]+)(a?))?(?:-([0-9]{2,}))?")


class RunKey(NamedTuple):
    """What tells a run from all others: `task`, `task-02`, `task.1-02`, `task.1a-02`.

    Attributes
    ----------
    task : hash of the problem, the solver and the conditions. For a run outside a search it is the hash
        of everything that determines the run, and the other attributes have their defaults.
    repetition : counted from 0.
    step : how tight the searched tolerance is, from 0 for the loosest; None outside a search.
    repeat : whether it is the A/A repeat of another run.
    """

    task: str
    repetition: int = 0
    step: int | None = None
    repeat: bool = False

    @classmethod
    def parse(cls, run_id: str) -> RunKey:
        """Return the key of a run id; text that no key has written is a task of one run."""
        if match := _RUN_ID.fullmatch(run_id):
            task, repetition, repeat, step = match.groups()
            number = None if step is None else int(step)
            key = cls(task, int(repetition or 0), number, bool(repeat))
            if str(key) == run_id:
                return key
        return cls(run_id)

    def __str__(self) -> str:
        again = self.repetition or self.repeat
        suffix = f".{self.repetition}{'a' * self.repeat}" if again else ""
        return f"{self.task}{suffix}" + ("" if self.step is None else f"-{self.step:02}")

    @property
    def round(self) -> RunKey:
        """The key without the step: of all runs of a task in one repetition, or in its A/A repeat."""
        return RunKey(self.task, self.repetition, None, self.repeat)

    def is_in(self, keys: Collection[RunKey]) -> bool:
        """Whether the run, or its round, is among `keys`."""
        return self in keys or self.round in keys

    def at(self, step: int) -> RunKey:
        """Return the key of another step of the same round."""
        return self._replace(step=step)


@dataclass(frozen=True)
class Case:
    """One run: a problem, a solver, a repetition.

    Attributes
    ----------
    key : of the run; of the first one of a search.
    problem_id : a readable name of the problem, unique in the plan.
    seed : for a solver that draws random numbers, else None.
    folder : base of relative paths; not part of the identity.
    proven : whether bounds are proven in ball arithmetic, see `dualgap.problems.certificates.proof`.
    described : whether the problem is described at its optimum, see `cases.description`.
    aa_repeat : whether it is the A/A repeat of another case, whose time shows the timing noise.
    artifacts : folder for files that the solver keeps, "" for none; not part of the identity.
    profiled : whether a profile of the solver is written there; not part of the identity.
    label, series : names of the solver in tables, see `records.names`; not part of the identity.
    after : id of the run whose answer is the starting point, "" for the first of a series; None without
        warm starts. before : the problem of that run. initial : its dual variables, None if unknown.
    """

    key: RunKey
    problem_id: str
    problem: ProblemSpec
    solver: SolverSpec
    repetition: int
    seed: int | None
    target_gap: float
    time_limit: float | None
    memory_limit: int | None
    trace: bool
    folder: str
    proven: bool = False
    described: bool = False
    aa_repeat: bool = False
    after: str | None = None
    before: ProblemSpec | None = None
    initial: Any = field(default=None, compare=False)
    artifacts: str = field(default="", compare=False)
    profiled: bool = field(default=False, compare=False)
    label: str = field(default="", compare=False)
    series: str = field(default="", compare=False)

    @property
    def run_id(self) -> str:
        """The text of the key."""
        return str(self.key)


def plan(experiment: Experiment) -> list[Case]:
    """Return the cases of an experiment in the order in which they run."""
    names = problem_names(map(vars, experiment.problems))
    labels = {
        id(solver): {"label": label, "series": series}
        for solver, (label, series) in zip(
            experiment.solvers, named_solvers(experiment.solvers), strict=True
        )
    }
    first = {solver.name: solver for solver in reversed(experiment.solvers)}
    repeats = first.values() if experiment.noise else ()
    entrants = [*((s, False) for s in experiment.solvers), *((s, True) for s in repeats)]
    cases, last = list[Case](), dict[Any, Case]()
    for problem, name in zip(experiment.problems, names, strict=True):
        fixed = {k: v for k, v in problem.parameters.items() if k not in ("C", "lam", "epsilon")}
        series = str(replace(problem, parameters=fixed)) if experiment.warm_start else ""
        for repetition in range(experiment.repetitions):
            order = _rng(experiment.seed, "order", name, repetition).permutation(len(entrants))
            for index in order.tolist():
                before = last.get((series, index, repetition))
                case = _case(experiment, problem, name, entrants[index], repetition, before)
                case = replace(case, **labels[id(case.solver)])
                last[series, index, repetition] = case
                cases.append(case)
    return cases


def _case(
    experiment: Experiment,
    problem: ProblemSpec,
    name: str,
    entrant: tuple[SolverSpec, bool],
    repetition: int,
    last: Case | None,
) -> Case:
    solver, aa_repeat = entrant
    warm = experiment.warm_start and not problem.path
    named = {"name": solver.name, "settings": solver.settings, "seeded": solver.seeded}
    seed = solver.settings.get("seed")
    if solver.seeded:
        seed = int(_rng(experiment.seed, named, repetition).integers(2**31))
    run_settings: dict[str, Any] = {
        "target_gap": problem.path.get("gap", experiment.target_gap),
        "time_limit": experiment.time_limit,
        "memory_limit": experiment.memory_limit,
        "trace": experiment.trace,
        "proven": experiment.target == "proven",
        "described": experiment.describe,
        "after": (last.run_id if last else "") if warm else None,
    }
    identity = [vars(problem), named, run_settings]
    if solver.searched:
        key = RunKey(digest(identity)[:16], repetition, 0, aa_repeat)
    else:
        key = RunKey(digest(identity, repetition, seed, aa_repeat)[:16])
    return Case(
        key,
        name,
        problem,
        solver,
        repetition,
        seed,
        folder=experiment.folder,
        aa_repeat=aa_repeat,
        before=last.problem if last and run_settings["after"] else None,
        **run_settings,
    )


def solvers_of(cases: Iterable[Case]) -> dict[str, Spec]:
    """Return the solvers of cases by label, as a manifest has them."""
    return {case.label: _solver_of(case) for case in cases}


def _solver_of(case: Case) -> Spec:
    solver = case.solver
    return {"name": solver.name, "settings": solver.fixed_settings, "series": case.series}


def keep_existing_names(cases: Sequence[Case], manifest: Mapping[str, Any]) -> list[Case]:
    """Return the cases with the names of a folder's problems and solvers, and new names for others.

    Parameters
    ----------
    manifest : of the folder.
    """
    solvers = joined_solvers(manifest["solvers"], solvers_of(cases))
    labels = {solver_key(each): (label, each["series"]) for label, each in solvers.items()}
    existing = manifest["problems"]
    problems = {id(case.problem): case.problem for case in cases}
    keys = {key: digest(vars(problem)) for key, problem in problems.items()}
    old = {digest(spec): (name, spec) for name, spec in existing.items()}
    specs = {key: spec for key, (_, spec) in old.items()}
    specs |= {keys[key]: vars(problem) for key, problem in problems.items()}
    names = dict(zip(specs, problem_names(specs.values()), strict=True))
    names |= {key: name for key, (name, _) in old.items()}
    renamed = list[Case]()
    for case in cases:
        label, series = labels.get(solver_key(_solver_of(case)), (case.label, case.series))
        name = names[keys[id(case.problem)]]
        renamed.append(replace(case, problem_id=name, label=label, series=series))
    return renamed


def digest(*parts: Any) -> str:
    """Return the SHA-256 of plain values, the same on every machine."""
    text = json.dumps(parts, sort_keys=True, separators=(",", ":"), default=str)
    return hashlib.sha256(text.encode()).hexdigest()


def _rng(seed: int, *parts: Any) -> np.random.Generator:
    entropy = [seed, int(digest(*parts)[:16], 16)]
    return np.random.default_rng(np.random.SeedSequence(entropy))
