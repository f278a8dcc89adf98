"""From an experiment to its list of cases: pure, and the same on every machine.

For each problem all solvers run once, then all again, in an order shuffled anew each time, so that
neither a warm machine nor a busy hour favours one of them.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from experiments.config import Experiment
from experiments.specs import ProblemSpec, SolverSpec, kernel_text, settings_text


@dataclass(frozen=True)
class Case:
    """One run: a problem, a solver, a repetition.

    Attributes
    ----------
    run_id : hash of everything that decides what is run.
    problem_id : the problem in words, unique in the plan.
    seed : for a solver that draws random numbers; None where there is nothing to seed.
    folder : where relative paths begin; not part of the identity.
    """

    run_id: str
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


def plan(experiment: Experiment) -> list[Case]:
    """Return the cases of an experiment in the order in which they are started."""
    names = problem_ids(experiment.problems)
    return list(_cases(experiment, names))


def _cases(experiment: Experiment, names: list[str]) -> Iterator[Case]:
    for problem, name in zip(experiment.problems, names, strict=True):
        for repetition in range(experiment.repetitions):
            order = _rng(experiment.seed, "order", name, repetition).permutation(
                len(experiment.solvers)
            )
            for index in order:
                yield _case(experiment, problem, name, experiment.solvers[index], repetition)


def _case(
    experiment: Experiment, problem: ProblemSpec, name: str, solver: SolverSpec, repetition: int
) -> Case:
    seed = solver.settings.get("seed")
    if solver.seeded:
        drawn = _rng(experiment.seed, asdict(solver), repetition)
        seed = int(drawn.integers(2**31))
    case = Case(
        run_id="",
        problem_id=name,
        problem=problem,
        solver=solver,
        repetition=repetition,
        seed=seed,
        target_gap=experiment.target_gap,
        time_limit=experiment.time_limit,
        memory_limit=experiment.memory_limit,
        trace=experiment.trace,
        folder="",
    )
    # neither the folder nor the name in words decides what is run
    identity = digest(asdict(replace(case, problem_id="")))
    return replace(case, run_id=identity[:16], folder=experiment.folder)


def digest(*parts: Any) -> str:
    """Return the SHA-256 of plain values, the same on every machine."""
    text = json.dumps(parts, sort_keys=True, separators=(",", ":"), default=str)
    return hashlib.sha256(text.encode()).hexdigest()


def _rng(seed: int, *parts: Any) -> np.random.Generator:
    entropy = [seed, int(digest(*parts)[:16], 16)]
    return np.random.default_rng(np.random.SeedSequence(entropy))


def problem_ids(problems: tuple[ProblemSpec, ...]) -> list[str]:
    """Return a readable name for each problem, with the data set's options that tell it apart."""
    return [_problem_id(problem, _varying(problem, problems)) for problem in problems]


def _varying(problem: ProblemSpec, problems: tuple[ProblemSpec, ...]) -> dict[str, Any]:
    """Return the options in which the plan's data sets of this name differ."""
    others = [p.dataset for p in problems if dataset_text(p) == dataset_text(problem)]
    return {
        key: value
        for key, value in problem.dataset.items()
        if any(other[key] != value for other in others)
    }


def _problem_id(problem: ProblemSpec, options: dict[str, Any]) -> str:
    values = dict(problem.parameters)
    parts = [settings_text(dataset_text(problem), options), problem.formulation]
    if "kernel" in values:
        parts.append(kernel_text(values.pop("kernel")))
    usual = problem.formulation != "hinge_erm"
    if values["intercept"] == usual:
        del values["intercept"]
    shown = (f"{value:.12g}" if isinstance(value, float) else value for value in values.values())
    return " ".join([*parts, *(f"{k}={v}" for k, v in zip(values, shown, strict=True))])


def dataset_text(problem: ProblemSpec) -> str:
    """Return the name of a problem's data set; of a file, its own name."""
    path = problem.dataset.get("path")
    return problem.dataset["name"] if path is None else str(path).replace("\\", "/").split("/")[-1]
