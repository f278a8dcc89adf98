"""Compilation and loading before the clock starts, by solving a small problem of the same kind.

Baselines are warmed up like our own solvers: what a library does once a process is not timed either.
"""

from __future__ import annotations

import os
from dataclasses import replace
from functools import cache
from itertools import islice
from typing import Any

import numpy as np
import scipy

from problems.dual_problem.reduction import reduce
from problems.forms import ERM, BoxQP, Form
from problems.formulations.svm import SoftMarginDual
from problems.kernels import RBF, Kernel, Linear
from problems.projection import project
from solvers.base import Solver

_MOST_POINTS = 30


class WarmedUpSolver(Solver):
    """Base of the solvers that are warmed up: with compiled loops, or a library that loads late."""

    def prepare(self, form: Any) -> Any:
        """Import what it needs, run it on a small problem, and convert the samples."""
        form = super().prepare(form)
        warm_up(self, form)
        return self.converted(form)

    def converted(self, form: Any) -> Any:
        """Return what `iterates` starts from: the form, or its samples as a library has them."""
        return form


def warm_up(solver: Solver, form: Form, samples: int = 32) -> None:
    """Run a solver on a small problem like `form`, so that compiling or loading it is not timed.

    Once for each solver and kind of form in a process: again and again it takes 10 ms, ten times a small
    fit. In a copy of a process, whose pages of memory are first touched then, it is done again.
    """
    gram, intercept = _gram_and_intercept(form)
    grouped = isinstance(form, BoxQP) and form.groups is not None
    sparse = scipy.sparse.issparse(gram.X)
    _run_small(os.getpid(), solver, samples, gram.is_linear, sparse, intercept, grouped)


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
    tiny = reduce(_small_problem(samples, linear, sparse, intercept), solver.form).form
    if grouped:  # of a library that refuses this one, the solver of C-SVC is that of the others too
        two = replace(tiny, groups=np.arange(samples) % 2, delta=np.zeros(2))
        tiny = tiny if solver.refuses(two) else two
    project(np.arange(4.0), np.zeros(4), np.ones(4), np.ones(4), 1.0)
    state = solver.converted(tiny) if isinstance(solver, WarmedUpSolver) else tiny
    for _ in islice(solver.iterates(state), _MOST_POINTS):
        pass


def _small_problem(samples: int, linear: bool, sparse: bool, intercept: bool) -> SoftMarginDual:
    """Return a problem with eight features, of which each sample has two."""
    X = np.zeros((samples, 8))
    place = np.arange(samples)
    X[place, place % 8] = (place + 1) / samples
    X[place, (3 * place + 1) % 8] = 0.5
    y = np.where(place % 3 == 0, 1.0, -1.0)
    kernel: Kernel = Linear() if linear else RBF(1.0)
    like = scipy.sparse.csr_array(X) if sparse else X
    return SoftMarginDual(like, y, 1.0, kernel, intercept)


def _gram_and_intercept(form: Form) -> tuple[Any, bool]:
    if isinstance(form, BoxQP):
        return form.gram, form.a is not None
    if isinstance(form, ERM):
        return form.gram, form.intercept
    raise TypeError("only solvers of BoxQP and ERM forms are compiled")
