"""Properties of a solver's behaviour: shapes, repetition, side effects, limits."""

import gc
import hashlib
import os
import pickle
import random
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
from dualgap.problems.forms import Form
from dualgap.problems.risk.risk import Risk
from dualgap.solvers import Status
from dualgap.solvers.numerics.timing import resource_module
from dualgap.solvers.running.loop import validated

_PROTECTED = ("time", "dualgap", "numpy", "scipy")
MAX_POINTS = 10_000  # of one run: some solvers yield after every step


def answers(bench: Bench, problem: Formulation) -> str:
    """It yields finite floating-point points of the right shape.

    The last α satisfies its bounds and equalities up to tolerances.
    """
    reduction, form = reduce(problem, bench.solver.form), form_of(bench, problem)
    point = None
    for point in islice(bench.solver.iterates(bench.solver.prepare(form)), MAX_POINTS):
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
    """An answer does not depend on problems solved before."""
    first, again = bench.solve(problem), bench.solve(problem)
    order = np.random.default_rng(1).permutation(problem.n)  # a similar problem with other labels
    bench.solve(changed(problem, X=problem.X[order], y=-problem.y[order][::-1]))
    answers = {"again": again, "after another problem": bench.solve(problem)}
    expected = _digest(first.point.alpha, first.point.w)
    for when, other in answers.items():
        if _digest(other.point.alpha, other.point.w) != expected:
            change = other.objective - first.objective
            return f"when solved {when}, the answer differs (the objective by {change:.2g})"
    return ""


def inputs_unchanged(bench: Bench, problem: Formulation) -> str:
    """The data and the form are not modified."""
    form = form_of(bench, problem)
    arrays = {**_arrays(problem, "problem"), **_arrays(form, "form")}
    before = {where: array.copy() for where, array in arrays.items()}
    identity = changed(problem).hash  # of a new object: a problem caches its hash
    for _ in islice(bench.solver.iterates(bench.solver.prepare(form)), MAX_POINTS):
        pass
    modified = [where for where, old in before.items() if not _equal(old, arrays[where])]
    gram = getattr(form, "gram", None)
    if isinstance(gram, Gram) and not _equal(gram.dense(), problem.samples.gram().dense()):
        modified.append("the Gram matrix")
    if not modified and changed(problem).hash != identity:
        modified.append("the problem's parameters")
    return f"it changes {', '.join(modified)} in place" if modified else ""


def global_state(bench: Bench, problem: Formulation) -> str:
    """Neither a complete nor an interrupted run changes anything outside the solver.

    Importing a library may add environment variables, thread pools and warnings filters, and draw
    random numbers, but not change existing state.
    """
    before = _process_state() | _functions()
    bench.solve(problem, max_iter=1)  # imports
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        random.random()  # otherwise seeding twice has no effect
        np.random.random()  # noqa: NPY002
        before |= _after_imports()
        bench.solve(problem)
        bench.solve(problem, max_iter=1)
        after = _process_state() | _functions() | _after_imports()
    modified = [name for name, old in before.items() if after.get(name) != old]
    return f"it changes {', '.join(modified)}" if modified else ""


def terminates(bench: Bench, problem: Formulation) -> str:
    """At its default settings it stops on its own on a small problem."""
    limit = bench.limits.grace
    solution = bench.solve(problem, time_limit=limit)
    if solution.status is Status.TIME_LIMIT:
        return f"it did not stop on its own within {limit:g} s ({solution.iterations} iterations)"
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
        f"with time_limit={limit:g} it ran for {solution.time_solve:.1f} s "
        f"and claims {solution.claimed!r}: yield more often"
    )


def max_iter(bench: Bench, problem: Formulation) -> str:
    """A setting `max_iter` is obeyed, and an interrupted run makes no false claim."""
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


def form_of(bench: Bench, problem: Formulation) -> Form | Risk | Formulation:
    """Return a problem in the solver's form; Unsupported if it refuses."""
    form = reduce(problem, bench.solver.form).form
    if refusal := bench.solver.refuses(form):
        raise Unsupported(refusal)
    return form


def _objection_to(point: Any, form: Form | Risk | Formulation) -> str:
    """Return what is wrong with a point that the solver yielded, or an empty string."""
    try:
        plain = validated(point)
    except (TypeError, ValueError) as error:
        return str(error)
    shapes: dict[str, tuple[int, ...]]  # of the arrays that it may have
    if isinstance(form, Chains):
        shapes = {"x": (form.size,), "beta": (form.y.size, form.K**2)}
    elif isinstance(form, ERM):
        shapes = {"x": (form.gram.X.shape[1],), "beta": (form.n,)}
    elif isinstance(form, Risk):
        shapes = {"x": (form.samples.d,)}
    else:
        shapes = {"x": (form.n,)}
    arrays = {name: value for name in shapes if (value := getattr(point, name)) is not None}
    if not arrays and plain.inequality is None and plain.claim in ("optimal", "none"):
        return f"it yields a point without {' or '.join(shapes)}"
    for name, value in arrays.items():
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
    """Return every array of a problem or form, or the values of a sparse one, by display name."""
    arrays: dict[str, Any] = {}
    for field in fields(owner):
        value = getattr(owner, field.name)
        value = value.data if sp.issparse(value) else value
        if isinstance(value, np.ndarray):
            arrays[f"the {whose}'s {field.name}"] = value
    return arrays


def _equal(first: Any, second: Any) -> bool:
    return np.array_equal(first, second, equal_nan=True)


def _process_state() -> dict[str, Any]:
    """Return the state of the whole process, by display name."""
    pools = {f"the number of threads of {p['prefix']}": p["num_threads"] for p in threadpool_info()}
    return {
        "NumPy's error handling": np.geterr(),
        "NumPy's print options": str(np.get_printoptions()),
        "the working directory": os.getcwd(),
        "its output": [os.fstat(stream)[:3] for stream in (1, 2)],
        "the recursion limit": sys.getrecursionlimit(),
        "garbage collection": (gc.isenabled(), gc.get_threshold()),
        "tracing": (sys.gettrace(), sys.getprofile()),
        **_posix_state(),
        **pools,
        **{f"the environment variable {name}": value for name, value in os.environ.items()},
    }


def _posix_state() -> dict[str, Any]:
    """Return the state that Windows does not have, by display name."""
    if (resource := resource_module()) is None:
        return {}
    return {
        "signal handlers": [signal.getsignal(s) for s in (signal.SIGTERM, signal.SIGALRM)],
        "a timer": signal.getitimer(signal.ITIMER_REAL)[0] > 0,
        "limits": [resource.getrlimit(r) for r in (resource.RLIMIT_NOFILE, resource.RLIMIT_AS)],
    }


def _functions() -> dict[str, Any]:
    """Return the functions, and the methods of classes, of the protected modules."""
    modules = {n: m for n, m in list(sys.modules.items()) if n.partition(".")[0] in _PROTECTED}
    members = {f"{name}.{key}": v for name, m in modules.items() for key, v in vars(m).items()}
    classes = {name: value for name, value in members.items() if isinstance(value, type)}
    methods = {f"{name}.{key}": v for name, c in classes.items() for key, v in vars(c).items()}
    return {name: value for name, value in (members | methods).items() if callable(value)}


def _after_imports() -> dict[str, Any]:
    return {
        "NumPy's random state": pickle.dumps(np.random.get_state(legacy=False)),  # noqa: NPY002
        "Python's random state": random.getstate(),
        "the warnings filter": list(warnings.filters),
        "running threads": threading.enumerate(),
        # importing a library built with -ffast-math makes the processor flush them to 0
        "subnormal numbers": sys.float_info.min / 2 > 0,
    }
