"""Compilation and loading before the clock starts: a solver first solves a few samples of its problem.

They have the types, the storage, the kernel and the loss of all samples, and are as many as decide how
the solver works, so the same functions are compiled or loaded. What depends on the values of the data,
and may not happen on a few samples, a solver compiles in `prepare`.

Baselines that state a size are warmed up like our own solvers: what LIBSVM, LIBLINEAR and their like do
once a process is not timed either. Packages for quadratic and cone programs are imported, and no more:
what else their first call does is timed.
"""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import fields, is_dataclass
from inspect import isabstract
from itertools import islice
from typing import Any

import numpy as np
import scipy

from dualgap.problems.dataset import Indices
from dualgap.problems.forms import ERM, QP, BoxQP, Point, reduce
from dualgap.problems.formulations.formulation import Formulation
from dualgap.problems.gram.gram import Gram
from dualgap.problems.projection import members_of, project
from dualgap.solvers.base import Solver

_LEAST_SAMPLES = 32
_MOST_POINTS = 30  # that a solver yields here, each after some milliseconds
_WARM: set[Any] = (
    set()
)  # the kinds of problems that were warmed up, with the process and the solver


def warm_up(
    solver: Solver, problem: Any, start: Point | None = None, gram: Gram | None = None
) -> None:
    """Compile or load what a solver calls for a problem, by solving a few of its samples.

    They are as many as there are, up to the solver's `warm_up_size`: a process touches its memory for
    the first time here. What a class from outside has changed of one of ours is not run, unless it
    states a size itself: it might do its work here.
    Once for each solver and kind of problem in a process: again and again it takes 10 ms, ten times a
    small fit. In a copy of a process, whose pages of memory are first touched then, it is done again.

    Parameters
    ----------
    solver, problem : as `solve` takes them, but one of its parts.
    start, gram : where it begins, and the Gram matrix that it goes by, as `reduce` takes them.
    """
    if not isinstance(problem, Formulation) or not problem.has_samples or problem.in_blocks:
        return
    if problem.costs.size and (solver.form in (BoxQP, QP, ERM) or problem.may_be_infeasible):
        project(np.arange(4.0), np.zeros(4), np.ones(4), np.ones(4), 1.0)
    if solver.form in (BoxQP, QP, ERM) and not problem.is_linear:
        _compute_values(problem, gram)
    ours = [c for c in type(solver).__mro__ if c.__module__.startswith("dualgap.solvers.")]
    cls = next(c for c in type(solver).__mro__ if c in ours or "warm_up_size" in vars(c))
    if not cls.warm_up_size or isabstract(cls):
        return
    settings = {field.name: getattr(solver, field.name) for field in fields(cls) if field.init}
    like = cls(**settings | dict(cls.warm_up_settings))
    count = min(problem.n, max(cls.warm_up_size, _LEAST_SAMPLES))
    known = gram is not None and gram.is_known
    key = os.getpid(), like, count, _kind(problem), _kind(start), known
    if key not in _WARM:
        _WARM.add(key)
        # what fails is met again where it is measured, unless it is of these few samples alone
        with suppress(Exception), np.errstate(all="ignore"):
            _solve_part(like, problem, _some_samples(problem, count), start, gram)


def _compute_values(problem: Formulation, gram: Gram | None) -> None:
    """Compute a few values of a kernel in the way that all samples decide."""
    if gram is None or not gram.is_known:
        few = np.arange(min(problem.n, 2))
        Gram(problem.X, problem.kernel).block(few, few)


def _kind(value: Any) -> Any:
    """Return all that compiled code can depend on: classes and types, but not the values of numbers."""
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.ndim, value.flags.c_contiguous, value.flags.writeable
    if scipy.sparse.issparse(value):
        of_arrays: Any = value
        return value.format, value.dtype.str, of_arrays.indices.dtype.str
    if is_dataclass(value):
        return type(value), *(_kind(getattr(value, field.name)) for field in fields(value))
    return value if isinstance(value, bool | str) else type(value)


def _some_samples(problem: Formulation, count: int) -> Indices:
    """Return the first samples of each class, as many of one as of another if there are."""
    labels = np.zeros(problem.n) if problem.is_regression else problem.y
    place = np.empty(problem.n, np.intp)
    for members in members_of(np.unique(labels, return_inverse=True)[1]):
        place[members] = np.arange(members.size)
    return np.sort(np.argsort(place, kind="stable")[:count])


def _solve_part(
    solver: Solver, problem: Formulation, rows: Indices, start: Point | None, gram: Gram | None
) -> None:
    """Let a solver yield its first points for the problem of some samples."""
    part = (gram or problem.gram()).part(rows)
    _protect(part.X, problem.X)
    names = {"y", *(field.name for field in fields(problem))}  # type: ignore[arg-type]
    values = {name: getattr(problem, name) for name in names}
    arrays = {name: v for name, v in values.items() if np.shape(v) == (problem.n,)}
    own = {name: _protect(v[rows], v) for name, v in arrays.items()}
    few = problem.changed(**own, X=part.X, shared_gram=part)
    begin = None if start is None or start.alpha is None else Point(start.alpha[rows])
    form = reduce(few, solver.form, begin, gram=part).form
    if solver.refuses(form) is None:
        for _ in islice(solver.iterates(solver.prepare(form)), _MOST_POINTS):
            pass


def _protect(some: Any, whole: Any) -> Any:
    """Return some samples, as read-only as all are: to compiled code that is another type."""
    names = ("data", "indices", "indptr") if scipy.sparse.issparse(whole) else ()
    for part, all_of_it in [(getattr(some, n), getattr(whole, n)) for n in names] or [
        (some, whole)
    ]:
        part.flags.writeable = all_of_it.flags.writeable
    return some
