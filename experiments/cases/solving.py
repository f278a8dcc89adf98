"""Solving one case, in a process that the solver has to itself: the only module that runs one.

What the solver gave leaves as a message of plain arrays and numbers, see `answer`.
"""

import json
import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from time import perf_counter

import numpy as np
from scipy.linalg.blas import dgemm
from threadpoolctl import threadpool_info

from dualgap.experiments.cases import paths
from dualgap.experiments.cases.answer import Answer, Failure, Found, packed
from dualgap.experiments.cases.plan import Case, code_from_outside
from dualgap.experiments.files.specs import Loaded, build_problem, build_solver, build_source
from dualgap.experiments.workers.start import COMPILING
from dualgap.problems import Formulation, Point, reduce
from dualgap.problems.compilation import compiled_apart, compiling
from dualgap.solvers import Solution, Status, solve
from dualgap.solvers.numerics.warm_up import warm_up

_LOADED = dict[tuple[str, str], Loaded]()  # the data set of the last case
_WAKING = 80  # rows of a product that OpenBLAS computes on all threads


def solved(begin: Callable[[], object], case: Case) -> bytes:
    """Return the answer to a case as a message, or how it failed, whatever the solver raises.

    `begin` is called when the problem is there, before the solver is imported, and again when the solver
    is set up.
    """
    try:
        with warnings.catch_warnings(), np.errstate(), compiled_apart(code_from_outside(case)):
            return _solved(begin, case)
    except BaseException as error:  # a solver may also call sys.exit
        return packed(Answer(failure=Failure.of(error)))


def _solved(begin: Callable[[], object], case: Case) -> bytes:
    clock, (problem, _) = perf_counter, posed(case)
    np.random.seed(case.repetition)  # noqa: NPY002 - for solvers from outside that draw from it
    square = np.ones((_WAKING, _WAKING))
    dgemm(1.0, square, square)  # starts the threads that a copy of a process begins without
    begin()
    begun = clock()
    solver = build_solver(case.solver, case.folder, case.seed)
    # naming the file of samples in memory would hash them, on the clock
    if case.checkpoints and problem.in_blocks and getattr(solver, "checkpoints", "") is None:
        solver = replace(solver, checkpoints=case.checkpoints)
    importing = clock() - begun
    if case.problem.path:
        begin()
        ended, solutions = paths.traced(problem, solver, case)
        answer = replace(ended, importing=importing, threads=_most_threads())
        return packed(answer, [solution.point for solution in solutions])
    initial = None
    if case.initial is not None and case.before is not None:
        other, _ = posed(replace(case, problem=case.before))
        initial = Solution(other, solver, Point(alpha=case.initial), Status.FINISHED)
    solution = solve(
        problem,
        solver,
        target_gap=case.target_gap,
        time_limit=case.time_limit,
        initial=initial,
        callback=(lambda _: None) if case.trace else None,  # evaluations are certified later on
        started=cache(begin),
    )
    answer = Answer(
        found=[Found.of(solution)],
        claims=[each.claimed for each in solution.parts],
        trace=[(evaluation.time, evaluation.iteration) for evaluation in solution.trace],
        threads=_most_threads(),
        importing=importing,
    )
    return packed(answer, [solution.point, *(evaluation.point for evaluation in solution.trace)])


def posed(case: Case) -> tuple[Formulation, Loaded]:
    """Return the problem of a case, built from the file and the data, and its samples."""
    data = _load(json.dumps(case.problem.dataset), case.folder)
    return build_problem(case.problem, data, case.folder), data


def _load(dataset: str, folder: str) -> Loaded:
    """Return a data set; consecutive cases on the same data read it once.

    The one before is let go first: a limit of memory, or the machine, might not have room for both.
    """
    if (dataset, folder) not in _LOADED:
        _LOADED.clear()
        _LOADED[dataset, folder] = build_source(json.loads(dataset), folder).load()
    return _LOADED[dataset, folder]


def load_shared(case: Case, report: Callable[[str], object]) -> None:
    """Load samples and compiled code that later cases use too, but nothing from outside."""
    if code_from_outside(case, "dataset"):
        _LOADED.clear()  # a copy of this process would have it too
        return
    data = _load(json.dumps(case.problem.dataset), case.folder)
    if code_from_outside(case):
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


def _most_threads() -> int | None:
    """Return the most threads that a numerical library of this process may use."""
    return max((int(pool["num_threads"]) for pool in threadpool_info()), default=None)
