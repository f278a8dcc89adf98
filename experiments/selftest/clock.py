"""Properties of a solver's timing: no work while its clock is stopped, no remembered answers."""

import gc
from collections import deque
from itertools import islice

import numpy as np

from dualgap.experiments.selftest.behaviour import MAX_POINTS, form_of
from dualgap.experiments.selftest.bench import Bench, NotJudged, changed
from dualgap.problems import QP, Formulation, Gram, certify, reduce
from dualgap.problems.problem.certificate import WRONG_GAP
from dualgap.solvers import Solution


def no_untimed_work(bench: Bench, problem: Formulation) -> str:
    """Untimed preparation does not use the samples: they are replaced before solving starts."""
    form = form_of(bench, problem)
    gram = getattr(form, "gram", None)
    gram = gram if isinstance(gram, Gram) else None
    if (
        (form is not problem and (gram is None or gram.X is not problem.X))
        or (isinstance(form, QP) and form.G is not None)
        or bench.solver.copies_samples
    ):
        raise NotJudged("its form, or its library, copies the samples")
    state = bench.solver.prepare(form)
    if gram is not None and gram.evaluations:
        return f"it computes {gram.evaluations} kernel values in prepare, which is not timed"
    samples = problem.X[::-1] * np.where(np.arange(problem.d) == 0, -1.0, 1.0)
    problem.X.flags.writeable = True
    problem.X[...] = samples
    other = changed(problem, X=samples)
    points = deque(islice(bench.solver.iterates(state), MAX_POINTS), maxlen=1)
    if not points or not bench.solve(other).certificate.relative_gap <= WRONG_GAP:
        raise NotJudged("it does not solve this problem")
    answer = reduce(other, bench.solver.form).recover(points[0])
    gap = certify(other, answer).relative_gap
    fault = "it solves in prepare, which is not timed: the answer is for the old samples"
    return f"{fault} (relative gap {gap:.2g})" if gap > 10 * WRONG_GAP else ""


def other_data(bench: Bench, problem: Formulation) -> str:
    """Larger problems of new random samples are solved as honestly as the small ones.

    The largest is neither solved during set-up, which is not timed, nor remembered when it is repeated.
    Times are CPU seconds.
    """
    seed = int(np.random.SeedSequence().generate_state(1)[0])
    rng, n = np.random.default_rng(seed), problem.n
    gc.collect()  # takes 50 ms, and might otherwise happen during a solve
    runs: list[tuple[Formulation, Solution, float]] = []
    # with n³ operations, four times as many samples as take 0.05 s take 3 s
    while n <= 1000 and not (runs and runs[-1][-1] > 0.05):
        for _ in range(2):  # the second time everything for this size is loaded and compiled
            # scattered around the samples of the small problem
            rows = rng.integers(problem.n, size=n)
            noise = 0.3 * np.std(problem.X, axis=0) * rng.standard_normal((n, problem.d))
            drawn = changed(problem, X=problem.X[rows] + noise, y=problem.y[rows])
            start = bench.clock()
            runs.append((drawn, bench.solve(drawn), bench.clock() - start))
            if wrong := bench.objection(runs[-1][1]):
                return f"with {n} samples drawn from the seed {seed} it {wrong}"
        n *= 4
    drawn, solution, elapsed = runs[-1]
    n = drawn.n
    setup, solving = solution.time_setup, solution.time_solve
    again = bench.solve(drawn).time_solve
    slack = 0.05  # s: inspecting the samples takes far less
    if setup > max(slack, solving):
        return f"with {n} samples its set-up takes {setup:.2g} s, and solving {solving:.2g} s"
    if elapsed > 2.0 * (setup + solving) + slack:
        return f"with {n} samples it takes {elapsed:.2g} s, but reports {setup + solving:.2g} s"
    if solving > max(5e-3, 20.0 * again):  # noise explains neither
        return f"it remembers answers: {n} samples take {solving:.2g} s, and {again:.2g} s when repeated"
    return ""
