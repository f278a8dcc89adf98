"""What counts as a solver's time: clocks that pause while functions are compiled, and the warm-up.

Before the clock starts a solver solves a few samples of its problem. These have the types, storage,
kernel and loss of all samples, and are numerous enough for the solver to take the same code paths, so
the same functions are compiled or loaded. Functions that depend on the values of the data, and may not
be called on a few samples, are compiled in `prepare`.

Baselines that state a warm-up size are treated like our own solvers: work that LIBSVM, LIBLINEAR and
similar packages do once per process is not timed either. Packages for quadratic and cone programs are
only imported; the rest of their first call is timed.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from dataclasses import fields, is_dataclass
from functools import cache, partial
from inspect import isabstract
from itertools import islice
from threading import Lock
from time import process_time
from typing import Any

import numpy as np
import psutil
import scipy
from numba.core.event import Event, Listener, install_listener

from dualgap.problems.box import members_of, project
from dualgap.problems.dataset import Indices
from dualgap.problems.forms import ERM, QP, BoxQP, KernelQP, Point
from dualgap.problems.formulations.formulation import Formulation
from dualgap.problems.gram.gram import Gram
from dualgap.problems.kernels.samples import is_wide
from dualgap.problems.problem import reduce, replace_fields
from dualgap.solvers.base import Solver

_warm: set[Any] = set()  # process, solver and kind of the problems already warmed up


def cpu_seconds() -> float:
    """Return the CPU seconds of this process and, but on Windows, of its children that ended."""
    if (resource := resource_module()) is None:
        return process_time()
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return process_time() + children.ru_utime + children.ru_stime


def peak_memory() -> int:
    """Return the largest resident memory in bytes of this process or of a child that ended.

    On Windows that of children is unknown.
    """
    if (resource := resource_module()) is None:
        memory = psutil.Process().memory_info()
        return getattr(memory, "peak_wset", memory.rss)
    whose = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    largest = max(resource.getrusage(which).ru_maxrss for which in whose)
    return largest if sys.platform == "darwin" else 1024 * largest  # macOS counts bytes, others KiB


@cache
def resource_module() -> Any:
    """Return the module `resource`; None on Windows."""
    try:
        import resource  # noqa: PLC0415 - missing on Windows
    except ImportError:
        return None
    return resource


class Pauses(Listener):
    """Clocks that pause while any thread compiles a function or loads one from disk.

    Attributes
    ----------
    clocks : the original clocks, minus `lost`.
    lost : how far each original clock advanced during the pauses.
    """

    def __init__(self, *clocks: Callable[[], float]) -> None:
        self.lost, self._originals = [0.0] * len(clocks), clocks
        self.clocks = [partial(self._read, k) for k in range(len(clocks))]
        self._started, self._depth, self._lock = list[float](), 0, Lock()

    def _read(self, k: int) -> float:
        return self._originals[k]() - self.lost[k]

    def on_start(self, event: Event) -> None:
        """Record the times when the first thread starts."""
        with self._lock:
            if self._depth == 0:
                self._started = [clock() for clock in self._originals]
            self._depth += 1

    def on_end(self, event: Event) -> None:
        """Add the elapsed times once the last thread whose start was seen has finished."""
        with self._lock:
            if self._depth == 1:
                for k, (clock, started) in enumerate(
                    zip(self._originals, self._started, strict=True)
                ):
                    self.lost[k] += clock() - started
            self._depth = max(0, self._depth - 1)


@contextmanager
def pausing(*clocks: Callable[[], float]) -> Generator[Pauses]:
    """Return clocks that pause during compilation inside the context."""
    with install_listener("numba:compiler_lock", pauses := Pauses(*clocks)):
        yield pauses


def warm_up(
    solver: Solver, problem: Any, start: Point | None = None, gram: Gram | None = None
) -> None:
    """Compile or load the functions that a solver calls for a problem, by solving a few of its samples.

    Their number is the solver's `warm_up_size`, if there are as many: a process first touches its memory
    here. Overrides by a user's subclass of our solvers are not run unless it states a size itself, as it
    might do its work here. This happens once per solver, kind of problem and process, as each time takes
    10 ms, ten times a small fit; and again in a fork, whose memory pages are touched for the first time.

    Parameters
    ----------
    solver, problem : as for `solve`, but a single part of the problem.
    start, gram : the start and the Gram matrix, as for `reduce`.
    """
    if not isinstance(problem, Formulation) or problem.in_blocks:
        return
    is_risk = solver.form in (KernelQP, BoxQP, QP, ERM)
    if (is_risk or problem.may_be_infeasible) and problem.risk.costs.size:
        project(np.arange(4.0), np.zeros(4), np.ones(4), np.ones(4), 1.0)
    ours = [c for c in type(solver).__mro__ if c.__module__.startswith("dualgap.solvers.")]
    cls = next(c for c in type(solver).__mro__ if c in ours or "warm_up_size" in vars(c))
    # with a linear kernel the trial below computes the values that the solver needs, if any
    if is_risk and not (problem.samples.is_linear and cls.warm_up_size):
        _compute_values(problem, gram)
    if not cls.warm_up_size or isabstract(cls):
        return
    settings = {field.name: getattr(solver, field.name) for field in fields(cls) if field.init}
    trial = cls(**settings | dict(cls.warm_up_settings))
    count = min(problem.n, max(cls.warm_up_size, 32))
    gram_known = gram is not None and gram.is_stored
    key = os.getpid(), trial, count, _kind(problem), _kind(start), gram_known
    if key not in _warm:
        _warm.add(key)
        # errors will occur again in the timed run, unless only these few samples cause them
        with suppress(Exception), np.errstate(all="ignore"):
            _solve_part(trial, problem, _balanced_sample(problem, count), start, gram)


def _compute_values(problem: Formulation, gram: Gram | None) -> None:
    """Compute a few kernel values, by the method that is chosen for all samples."""
    gram = gram or problem.samples.gram()
    if not gram.is_stored:
        rows = np.arange(min(problem.n, 2))
        gram.bound.block(rows, rows)


def _kind(value: Any) -> Any:
    """Return everything compiled code can depend on: classes and types, not numerical values."""
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.ndim, value.flags.c_contiguous, value.flags.writeable
    if scipy.sparse.issparse(value):
        of_arrays: Any = value
        return value.format, value.dtype.str, of_arrays.indices.dtype.str, is_wide(of_arrays)
    if is_dataclass(value):
        return type(value), *(_kind(getattr(value, field.name)) for field in fields(value))
    return value if isinstance(value, bool | str) else type(value)


def _balanced_sample(problem: Formulation, count: int) -> Indices:
    """Return the first samples of each class, in equal numbers if possible."""
    labels = np.zeros(problem.n) if problem.risk.loss.is_regression else problem.y
    rank = np.empty(problem.n, np.intp)
    for members in members_of(np.unique(labels, return_inverse=True)[1]):
        rank[members] = np.arange(members.size)
    return np.sort(np.argsort(rank, kind="stable")[:count])


def _solve_part(
    solver: Solver, problem: Formulation, rows: Indices, start: Point | None, gram: Gram | None
) -> None:
    """Let a solver yield its first points for the problem restricted to `rows`."""
    part = (gram or problem.samples.gram()).part(rows)
    _protect(part.X, problem.X)
    names = {"y", *(field.name for field in fields(problem))}
    values = {name: getattr(problem, name) for name in names}
    arrays = {name: v for name, v in values.items() if np.shape(v) == (problem.n,)}
    selected = {name: _protect(v[rows], v) for name, v in arrays.items()}
    samples = problem.samples.derived(part.X, part)
    reduced = replace_fields(problem, **selected, X=part.X, samples=samples)
    part_start = None if start is None or start.alpha is None else Point(start.alpha[rows])
    form = reduce(reduced, solver.form, part_start, gram=part).form
    if solver.refuses(form) is None:
        for _ in islice(solver.iterates(solver.prepare(form)), 30):  # points
            pass


def _protect(sample: Any, original: Any) -> Any:
    """Return `sample` with the writeable flags of `original`, which are part of compiled types."""
    names = ("data", "indices", "indptr") if scipy.sparse.issparse(original) else ()
    for part, source in [(getattr(sample, n), getattr(original, n)) for n in names] or [
        (sample, original)
    ]:
        part.flags.writeable = source.flags.writeable
    return sample
