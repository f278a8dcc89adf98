"""What a solver does where its clock does not run, or on data that it has seen before."""

import gc
from collections import deque
from itertools import islice

import numpy as np

from dualgap.experiments.selftest.behaviour import MOST_POINTS, form_of
from dualgap.experiments.selftest.bench import WRONG, Bench, NotJudged, changed
from dualgap.problems import QP, Formulation, Gram, certify, reduce
from dualgap.solvers import Solution

_SPREAD = 0.3  # of new samples around those that they are drawn from, in standard deviations
_GROWTH, _LARGEST = 4, 1000  # between the sizes of problems, and their samples
_SLOW = 0.05  # seconds of CPU time, as all here: one of n³ operations takes 3 s for the next size
_NOTICEABLE = 0.05  # seconds, far above what looking at the samples takes
_REMEMBERED = 20.0  # times as fast: no noise explains it
_SOME = 5e-3  # seconds, far above the noise of a time


def nothing_beforehand(bench: Bench, problem: Formulation) -> str:
    """What is prepared, off the clock, holds for any samples: they are others when solving begins."""
    form = form_of(bench, problem)
    gram = form.gram if isinstance(form.gram, Gram) else None
    if (
        (form is not problem and (gram is None or gram.X is not problem.X))
        or (isinstance(form, QP) and form.G is not None)
        or bench.solver.copies_samples
    ):
        raise NotJudged("its form, or its library, holds copies of the samples")
    state = bench.solver.prepare(form)
    if gram is not None and gram.evaluations:
        return f"it computes {gram.evaluations} kernel values in prepare, which is not timed"
    samples = problem.X[::-1] * np.where(np.arange(problem.d) == 0, -1.0, 1.0)
    problem.X.flags.writeable = True
    problem.X[...] = samples
    other = changed(problem, X=samples)
    points = deque(islice(bench.solver.iterates(state), MOST_POINTS), maxlen=1)
    if not points or not bench.solve(other).certificate.relative_gap <= WRONG:
        raise NotJudged("it does not solve this problem")
    answer = reduce(other, bench.solver.form).recover(points[0])
    gap = certify(other, answer).relative_gap
    fault = "it solves in prepare, which is not timed: the answer is for the samples from before"
    return f"{fault} (relative gap {gap:.2g})" if gap > 10 * WRONG else ""


def other_data(bench: Bench, problem: Formulation) -> str:
    """Larger problems, of samples drawn anew each time, are solved as honestly as small known ones.

    Nor is the largest solved in set-up, off the clock, or from memory when it comes again.
    """
    seed = int(np.random.SeedSequence().generate_state(1)[0])
    rng, n = np.random.default_rng(seed), problem.n
    gc.collect()  # all objects, which takes 50 ms, and else may fall into one of the solves
    runs: list[tuple[Formulation, Solution, float]] = []
    while n <= _LARGEST and not (runs and runs[-1][-1] > _SLOW):
        for _ in range(2):  # whatever is loaded or compiled for this size is there the second time
            # scattered about the samples of the small problem
            rows = rng.integers(problem.n, size=n)
            noise = _SPREAD * np.std(problem.X, axis=0) * rng.standard_normal((n, problem.d))
            drawn = changed(problem, X=problem.X[rows] + noise, y=problem.y[rows])
            begun = bench.clock()
            runs.append((drawn, bench.solve(drawn), bench.clock() - begun))
            if wrong := bench.objection(runs[-1][1]):
                return f"with {n} samples drawn from the seed {seed} it {wrong}"
        n *= _GROWTH
    drawn, solution, taken = runs[-1]
    n = drawn.n
    setup, solving = solution.time_setup, solution.time_solve
    again = bench.solve(drawn).time_solve
    if setup > max(_NOTICEABLE, solving):
        return f"with {n} samples its set-up takes {setup:.2g} s, and solving {solving:.2g} s"
    if taken > 2.0 * (setup + solving) + _NOTICEABLE:
        return f"with {n} samples it takes {taken:.2g} s, and shows {setup + solving:.2g} s"
    if solving > max(_SOME, _REMEMBERED * again):
        return f"it remembers: {n} samples take {solving:.2g} s, and again {again:.2g} s"
    return ""
