"""Solve one case in a separate process: the only module that runs a solver.

The answer is returned as a message of plain arrays and numbers, see `messages`.
"""

import json
import os
import warnings
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from scipy.linalg.blas import dgemm
from threadpoolctl import threadpool_info

from dualgap.experiments.cases import paths
from dualgap.experiments.cases.messages import Failure, SolverAnswer, SolverReport, pack_answer
from dualgap.experiments.cases.plan import Case
from dualgap.experiments.files.specs import (
    Loaded,
    build_problem,
    build_solver,
    build_source,
    user_class_names,
)
from dualgap.experiments.workers.machine import core_frequency, throttle_events
from dualgap.experiments.workers.start import COMPILING
from dualgap.problems import FORMULATIONS, Point, reduce
from dualgap.problems.compilation import compiling
from dualgap.problems.datasets import SOURCES
from dualgap.solvers import SOLVERS, Solution, Status, solve
from dualgap.solvers.base import import_optional
from dualgap.solvers.numerics.timing import warm_up

PROFILE = "profile.html"
_ARTIFACTS = "DUALGAP_ARTIFACTS"  # environment variable of a solver, and of the programs it starts
_LOADED = dict[tuple[str, str], Loaded]()  # the data set of the last case


def solve_case(started: Callable[[], object], case: Case) -> bytes:
    """Return the answer to a case, or its failure, as a message, whatever the solver raises.

    `started` is called once the problem is loaded, before the solver is imported, and again once the
    solver is set up.
    """
    try:
        with warnings.catch_warnings(), np.errstate():
            return _solve_case(started, case)
    except BaseException as error:  # a solver may also call sys.exit
        return pack_answer(SolverAnswer(failure=Failure.of(error)))
    finally:
        os.environ.pop(_ARTIFACTS, None)


def _solve_case(started: Callable[[], object], case: Case) -> bytes:
    clock = perf_counter
    if not _LOADED:  # in a new interpreter; a fork has what its parent has loaded
        with suppress(Exception):  # raised again by the next line
            load_shared(case, lambda _: None)
    problem, _ = load_problem(case)
    previous = None
    if case.initial is not None and case.before is not None:
        previous, _ = load_problem(replace(case, problem=case.before))
    np.random.seed(case.repetition)  # noqa: NPY002 - user solvers may draw from it
    square = np.ones((80, 80))  # OpenBLAS multiplies matrices of this size on all threads
    dgemm(1.0, square, square)  # starts the threads of BLAS, which a fork does not inherit
    throttled = throttle_events()
    started()
    start = clock()
    solver = build_solver(case.solver, case.folder, case.seed)
    importing = clock() - start

    tools = ExitStack()
    begin = partial(_begin, started, case, tools)
    if case.problem.path:
        begin()
        with tools:
            path, solutions = paths.follow_path(problem, solver, case)
        answer = replace(path, importing=importing, **_conditions(throttled))
        return pack_answer(answer, [solution.point for solution in solutions])
    initial = None
    if previous is not None:
        initial = Solution(previous, solver, Point(alpha=case.initial), Status.FINISHED)
    with tools:
        solution = solve(
            problem,
            solver,
            target_gap=case.target_gap,
            time_limit=case.time_limit,
            initial=initial,
            callback=(lambda _: None) if case.trace else None,  # evaluations are certified later
            started=cache(begin),
        )
    answer = SolverAnswer(
        reports=[SolverReport.of(solution)],
        claims=[each.claimed for each in solution.parts],
        trace=[(evaluation.time, evaluation.iteration) for evaluation in solution.trace],
        importing=importing,
        **_conditions(throttled),
    )
    return pack_answer(
        answer, [solution.point, *(evaluation.point for evaluation in solution.trace)]
    )


def _begin(started: Callable[[], object], case: Case, tools: ExitStack) -> None:
    """Signal that the solver is set up; only from now on it is profiled and may write artifacts."""
    # on a machine that does not see the results folder, nothing is kept
    if case.artifacts and Path(case.artifacts).parents[1].is_dir():
        os.makedirs(case.artifacts, exist_ok=True)
        os.environ[_ARTIFACTS] = case.artifacts
    started()
    if case.profiled:
        library = import_optional("pyinstrument", "--profile", "pyinstrument")
        profiler, page = library.Profiler(async_mode="disabled"), Path(case.artifacts, PROFILE)
        tools.callback(lambda: page.write_text(profiler.output_html(), encoding="utf-8"))
        tools.callback(profiler.stop)
        profiler.start(target_description=f"{case.label} on {case.problem_id}")


def load_problem(case: Case) -> tuple[Any, Loaded]:
    """Return the `Problem` of a case, and the data that it is built from."""
    data = _load(json.dumps(case.problem.dataset), case.folder)
    return build_problem(case.problem, data, case.folder), data


def _load(dataset: str, folder: str) -> Loaded:
    """Return a data set; consecutive cases on the same data read it once.

    The previous one is released first: both may not fit in memory.
    """
    if (dataset, folder) not in _LOADED:
        _LOADED.clear()
        _LOADED[dataset, folder] = build_source(json.loads(dataset), folder).load()
    return _LOADED[dataset, folder]


def load_shared(case: Case, report: Callable[[str], object]) -> None:
    """Load samples and compiled code that later cases can share, but no user code."""
    if user_code(case, "dataset"):
        _LOADED.clear()  # a fork would inherit it
        return
    data = _load(json.dumps(case.problem.dataset), case.folder)
    if user_code(case):
        return
    solver = build_solver(case.solver, case.folder, case.seed)
    if not type(solver).__module__.startswith("dualgap.solvers.external."):
        problem = build_problem(case.problem, data, case.folder)
        alone = case.initial is not None and len(problem.parts) == 1
        start = Point(alpha=case.initial) if alone else None
        with compiling(lambda: report(f"{COMPILING} {solver.name}")):
            for part in problem.parts:
                warm_up(solver, part.problem, start)
                solver.prepare(reduce(part.problem, solver.form).form)


def user_code(case: Case, part: str = "solver") -> str:
    """Return the names of the user code, files and plug-ins, that a part of a case runs.

    `part` is "dataset", "problem" (with its data set) or "solver" (the whole run).
    """
    problem, solver = case.problem, case.solver
    parts = {
        "dataset": (problem.dataset, problem.dataset["name"], SOURCES),
        "problem": (list(vars(problem).values()), problem.formulation, FORMULATIONS),
        "solver": (list(vars(solver).values()), solver.name, SOLVERS),
    }
    names = set[str]()
    for key, (spec, class_name, registry) in parts.items():
        names |= user_class_names(spec) | ({class_name} & registry.plugins.keys())
        if key == part:
            break
    return " ".join(sorted(names))


def _conditions(throttled: int | None) -> dict[str, Any]:
    """Return the fields of a `SolverAnswer` on threads and the clock, as the solver ends.

    `throttled` : the throttling events before it began.
    """
    started_at, events = perf_counter(), throttle_events()
    conditions = {
        "threads": max((int(pool["num_threads"]) for pool in threadpool_info()), default=None),
        "frequency": core_frequency(),
        "throttled": None if events is None or throttled is None else events - throttled,
    }
    return conditions | {"measuring": perf_counter() - started_at}
