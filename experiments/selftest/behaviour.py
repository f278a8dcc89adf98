"""How a solver behaves, whatever it answers: shapes, repetition, side effects, limits."""

import gc
import hashlib
import os
import pickle
import random
import resource
import signal
import sys
import threading
import warnings
from dataclasses import fields
from itertools import islice
from typing import Any

import numpy as np
import scipy.sparse as sp
from threadpoolctl import threadpool_info

from dualgap.experiments.selftest.bench import Bench, NotJudged, changed
from dualgap.problems import ERM, Formulation, Gram, Unsupported, certify, reduce
from dualgap.problems.answers.diagnosis import diagnose
from dualgap.problems.chains import Chains
from dualgap.problems.forms import Form, Sharded
from dualgap.solvers import Status
from dualgap.solvers.running.loop import taken_apart

_RELIED_ON = ("time", "dualgap", "numpy", "scipy")
MOST_POINTS = 10_000  # of one run: some yield after every step


def answers(bench: Bench, problem: Formulation) -> str:
    """It yields points of the form, in floats, finite and of the right shape.

    The last α is within its box and keeps to the equalities, as far as tolerances explain.
    """
    reduction, form = reduce(problem, bench.solver.form), form_of(bench, problem)
    point = None
    for point in islice(bench.solver.iterates(bench.solver.prepare(form)), MOST_POINTS):
        wrong = _objection_to(point, form)
        if wrong:
            return wrong
    if point is None:
        return "it ended without yielding a point"
    answer = reduction.recover(point)
    if answer.alpha is not None:
        diagnosis = diagnose(problem, answer, certify(problem, answer), point.claim)
        if diagnosis is not None and diagnosis.condition in ("box", "equality"):
            bench.diagnosed(diagnosis)
            return diagnosis.finding
    bench.digests[problem.hash] = _digest(point.x, point.beta)
    return ""


def deterministic(bench: Bench, problem: Formulation) -> str:
    """The same problem, solver and seed give the same answer in another process."""
    wrong = answers(bench, problem)
    if problem.hash not in bench.expected:
        raise NotJudged("there is no first answer to compare with")
    same = wrong or bench.digests[problem.hash] == bench.expected[problem.hash]
    return "" if same else "two runs with the same settings and seed give different answers"


def stateless(bench: Bench, problem: Formulation) -> str:
    """An answer does not depend on what was solved before."""
    first, again = bench.solve(problem), bench.solve(problem)
    order = np.random.default_rng(1).permutation(problem.n)  # of the same kind, with other labels
    bench.solve(changed(problem, X=problem.X[order], y=-problem.y[order][::-1]))
    found = {"again": again, "after another problem": bench.solve(problem)}
    expected = _digest(first.point.alpha, first.point.w)
    for when, other in found.items():
        if _digest(other.point.alpha, other.point.w) != expected:
            change = other.objective - first.objective
            return f"solved {when}, the answer differs (objective by {change:.2g})"
    return ""


def inputs_unchanged(bench: Bench, problem: Formulation) -> str:
    """The data and the form stay as they were."""
    form = form_of(bench, problem)
    arrays = {**_arrays(problem, "problem"), **_arrays(form, "form")}
    before = {where: array.copy() for where, array in arrays.items()}
    identity = changed(problem).hash  # anew: that of a problem is remembered
    for _ in islice(bench.solver.iterates(bench.solver.prepare(form)), MOST_POINTS):
        pass
    touched = [where for where, old in before.items() if not _equal(old, arrays[where])]
    gram = form.gram
    if isinstance(gram, Gram) and not _equal(gram.dense(), problem.gram().dense()):
        touched.append("the Gram matrix")
    if not touched and changed(problem).hash != identity:
        touched.append("the problem's parameters")
    return f"it changes {', '.join(touched)} in place" if touched else ""


def global_state(bench: Bench, problem: Formulation) -> str:
    """Nothing outside the solver changes: neither by a whole run nor by one that is cut short.

    Importing a library may add environment variables, pools of threads and warnings filters, and draw
    random numbers; it may not change what else is there.
    """
    before = _process_state() | _functions()
    bench.solve(problem, max_iter=1)  # imports
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        random.random()  # else seeding twice does not show
        np.random.random()  # noqa: NPY002
        before |= _after_imports()
        bench.solve(problem)
        bench.solve(problem, max_iter=1)
        after = _process_state() | _functions() | _after_imports()
    touched = [what for what, old in before.items() if after.get(what) != old]
    return f"it changes {', '.join(touched)}" if touched else ""


def ends_by_itself(bench: Bench, problem: Formulation) -> str:
    """At its default settings it ends by itself on a small problem."""
    limit = bench.limits.grace
    solution = bench.solve(problem, time_limit=limit)
    if solution.status is Status.TIME_LIMIT:
        return f"no end by itself: still running after {limit:g} s and {solution.iterations} iterations"
    if solution.status is Status.DIVERGED:
        return "it diverged: its point has NaN or infinite entries"
    return ""


def time_limit(bench: Bench, problem: Formulation) -> str:
    """Solving ends soon after the time limit."""
    limit, grace = 0.01, bench.limits.grace
    solution = bench.solve(problem, time_limit=limit)
    if solution.time_solve <= limit + grace:
        return bench.objection(solution)
    return (
        f"with time_limit={limit:g} it solved for {solution.time_solve:.1f} s "
        f"and claims {solution.claimed!r}: yield more often"
    )


def max_iter(bench: Bench, problem: Formulation) -> str:
    """A setting `max_iter` is obeyed, and what is cut short claims nothing that is wrong."""
    if all(field.name != "max_iter" for field in fields(bench.solver)):
        raise NotJudged("it has no setting max_iter")
    for limit in (1, 3):
        solution = bench.solve(problem, max_iter=limit)
        if solution.iterations > limit:
            return f"with max_iter={limit} it made {solution.iterations} iterations"
        wrong = bench.objection(solution)
        if wrong:
            return f"with max_iter={limit} it {wrong}"
    return ""


def form_of(bench: Bench, problem: Formulation) -> Form | Formulation:
    """Return a problem in the solver's form; Unsupported if it refuses."""
    form = reduce(problem, bench.solver.form).form
    if refusal := bench.solver.refuses(form):
        raise Unsupported(refusal)
    return form


def _objection_to(point: Any, form: Form | Formulation) -> str:
    """Return what is wrong with a point that the solver yielded, or nothing."""
    try:
        plain = taken_apart(point)
    except (TypeError, ValueError) as error:
        return str(error)
    shapes: dict[str, tuple[int, ...]]  # of the arrays that it may have
    if isinstance(form, Chains):
        shapes = {"x": (form.size,), "beta": (form.y.size, form.K**2)}
    elif isinstance(form, ERM):
        shapes = {"x": (form.gram.X.shape[1],), "beta": (form.n,)}
    elif isinstance(form, Sharded):
        shapes = {"x": (form.blocks.d,)}
    else:
        shapes = {"x": (form.n,)}
    given = {name: value for name in shapes if (value := getattr(point, name)) is not None}
    if not given and plain.inequality is None and plain.claim in ("optimal", "none"):
        return f"it yields a point without {' or '.join(shapes)}"
    for name, value in given.items():
        if not isinstance(value, np.ndarray) or value.dtype.kind != "f":
            kind = getattr(value, "dtype", type(value).__name__)
            return f"{name} must be an array of floats, got {kind}"
        if value.shape != shapes[name]:
            return f"{name} must have shape {shapes[name]}, got {value.shape}"
        if not np.isfinite(value).all():
            return f"{name} has {int((~np.isfinite(value)).sum())} NaN or infinite entries"
    return ""


def _digest(*arrays: Any) -> str:
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(b"none" if array is None else np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def _arrays(owner: Any, whose: str) -> dict[str, Any]:
    """Return every array of a problem or form by the name to show; of a sparse one its values."""
    found: dict[str, Any] = {}
    for field in fields(owner):
        value = getattr(owner, field.name)
        value = value.data if sp.issparse(value) else value
        if isinstance(value, np.ndarray):
            found[f"the {whose}'s {field.name}"] = value
    return found


def _equal(first: Any, second: Any) -> bool:
    return np.array_equal(first, second, equal_nan=True)


def _process_state() -> dict[str, Any]:
    """Return what belongs to the whole process, by the name to show."""
    pools = {f"the number of threads of {p['prefix']}": p["num_threads"] for p in threadpool_info()}
    return {
        "NumPy's error handling": np.geterr(),
        "NumPy's print options": str(np.get_printoptions()),
        "the working directory": os.getcwd(),
        "its output": [os.fstat(stream)[:3] for stream in (1, 2)],
        "signal handlers": [signal.getsignal(s) for s in (signal.SIGTERM, signal.SIGALRM)],
        "a timer": signal.getitimer(signal.ITIMER_REAL)[0] > 0,
        "limits": [resource.getrlimit(r) for r in (resource.RLIMIT_NOFILE, resource.RLIMIT_AS)],
        "the recursion limit": sys.getrecursionlimit(),
        "garbage collection": (gc.isenabled(), gc.get_threshold()),
        "tracing": (sys.gettrace(), sys.getprofile()),
        **pools,
        **{f"the environment variable {name}": value for name, value in os.environ.items()},
    }


def _functions() -> dict[str, Any]:
    """Return the functions of the modules that a run relies on, and the methods of their classes."""
    modules = {n: m for n, m in list(sys.modules.items()) if n.partition(".")[0] in _RELIED_ON}
    found = {f"{name}.{key}": v for name, m in modules.items() for key, v in vars(m).items()}
    classes = {name: value for name, value in found.items() if isinstance(value, type)}
    methods = {f"{name}.{key}": v for name, c in classes.items() for key, v in vars(c).items()}
    return {name: value for name, value in (found | methods).items() if callable(value)}


def _after_imports() -> dict[str, Any]:
    return {
        "NumPy's random state": pickle.dumps(np.random.get_state(legacy=False)),  # noqa: NPY002
        "Python's random state": random.getstate(),
        "the warnings filter": list(warnings.filters),
        "running threads": threading.enumerate(),
        # libraries built with -ffast-math make the processor flush them to 0 once they are imported
        "subnormal numbers": sys.float_info.min / 2 > 0,
    }
