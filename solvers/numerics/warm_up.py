"""Compilation and loading before the clock starts, by solving small problems of the same kind.

Baselines that state a size are warmed up like our own solvers: what LIBSVM, LIBLINEAR and their like do
once a process is not timed either. Packages for quadratic and cone programs are imported, and no more:
what else their first call does is timed.
"""

from __future__ import annotations

import os
from dataclasses import fields
from functools import cache
from inspect import isabstract
from itertools import islice
from typing import Any

import numpy as np
import scipy

from problems.forms import ERM, QP, BoxQP, reduce
from problems.formulations.formulation import Formulation
from problems.formulations.nu.nu_svc import NuSVC
from problems.formulations.svm import SoftMarginDual
from problems.kernels import RBF, Linear
from problems.projection import project
from solvers.base import Solver

_LEAST_SAMPLES = 32
_MOST_POINTS = 30


def warm_up(solver: Solver, form: Any) -> None:
    """Run a solver on a small problem like `form`, so that compiling or loading it is not timed.

    It has the size of the form, up to the solver's `warm_up_size`: a process touches its memory for the
    first time here. What a class from outside has changed of one of ours is not run, unless it states a
    size itself: it might do its work here.
    Once for each solver and kind of form in a process: again and again it takes 10 ms, ten times a small
    fit. In a copy of a process, whose pages of memory are first touched then, it is done again.
    """
    ours = [c for c in type(solver).__mro__ if c.__module__.partition(".")[0] == "solvers"]
    cls = next(c for c in type(solver).__mro__ if c in ours or "warm_up_size" in vars(c))
    if not cls.warm_up_size or isabstract(cls):
        return
    match form:
        case BoxQP():
            gram, intercept, grouped = form.gram, form.a is not None, form.groups is not None
        case ERM():
            gram, intercept, grouped = form.gram, form.intercept, False
        case QP():
            gram, intercept, grouped = form.gram, form.A is not None, False
        case Formulation():
            gram, intercept, grouped = form.gram(), form.intercept, form.costs.size > 1
        case _:  # of other forms there are no small problems
            return
    settings = {field.name: getattr(solver, field.name) for field in fields(cls) if field.init}
    like = cls(**settings | dict(cls.warm_up_settings))
    linear = gram is None or gram.is_linear
    kind = linear, gram is not None and scipy.sparse.issparse(gram.X), intercept, grouped
    samples = min(max(form.n, _LEAST_SAMPLES), cls.warm_up_size)
    _run_small(os.getpid(), like, samples, *kind)


@cache
def _run_small(
    _process: int,
    solver: Solver,
    samples: int,
    linear: bool,
    sparse: bool,
    intercept: bool,
    grouped: bool,
) -> None:
    """Solve a problem with eight features, of which each sample has two."""
    X, place = np.zeros((samples, 8)), np.arange(samples)
    X[place, place % 8] = (place + 1) / samples
    X[place, (3 * place + 1) % 8] = 0.5
    y = np.where(place % 3 == 0, 1.0, -1.0)
    kernel = Linear() if linear else RBF(1.0)
    like: Any = scipy.sparse.csr_array(X) if sparse else X
    problem = (
        NuSVC(like, y, 0.5, kernel) if grouped else SoftMarginDual(like, y, 1.0, kernel, intercept)
    )
    project(np.arange(4.0), np.zeros(4), np.ones(4), np.ones(4), 1.0)
    form = reduce(problem, solver.form).form
    if solver.refuses(form) is None:
        for _ in islice(solver.iterates(solver.prepare(form)), _MOST_POINTS):
            pass
