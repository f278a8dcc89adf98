"""The cross-validation error at every C, with bounds on that of the optimum at each C.

    error(C) = Σₖ Σ_{i held out of fold k} error(yᵢ, fₖ(xᵢ)) / Σₖ |held out of fold k|
where fₖ is trained on all samples except those of fold k. Each fold has a certified path (`path`), and
on each range of values bounds on the errors of all optima (`selection`); the sums of these over the
folds are a band around the cross-validation error of the optimum at each C.

Up to a few thousand samples the Gram matrix of all samples is computed once: the paths of all folds,
their certificates and the scores of held-out samples use its kernel values. Above that, certificates and
scores use the columns of all support vectors so far, and the solver keeps rows of each fold.

Shibagaki, Suzuki, Karasuyama & Takeuchi 2015, "Regularization path of cross-validation error lower
bounds"; Stone 1974 for cross-validation itself.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dualgap.problems import Formulation, Gram
from dualgap.problems.answers.interpolation import Parameter
from dualgap.problems.arithmetic.intervals import ELEMENTARY, gamma
from dualgap.problems.dataset import Indices
from dualgap.problems.gram.tuning import TUNING
from dualgap.problems.problem import replace_fields
from dualgap.problems.validation import check_integer, short_repr
from dualgap.solvers.base import Solver
from dualgap.solvers.paths.following import solve_path
from dualgap.solvers.paths.interval import Ends, validate_interval
from dualgap.solvers.paths.path import NoPath, Path
from dualgap.solvers.paths.selection import (
    answer_scores,
    check_enclosed,
    error_table,
    ranges,
    score_norms,
    sums_of_errors,
)

if TYPE_CHECKING:
    import pandas as pd

Splits = Iterable[tuple[Any, Any]]


class Fold(NamedTuple):
    """Training and held-out samples, and the path of the former.

    If weights differ, C of the path is `ratio` times that of all samples, for the largest in the fold.
    """

    train: Indices
    held_out: Indices
    ratio: float
    path: Path


@dataclass(frozen=True, eq=False)
class CrossValidation:
    """The cross-validation error at every value of a parameter, with bounds on that of the optima.

    Attributes
    ----------
    parameter : "C", "lam" or "epsilon", from `low` to `high`. folds : each with a certified path.
    value : the value of the table at which the answers of the folds have the smallest `error`: the
        fraction of wrong predictions among all held-out samples, or their mean squared error.
    lower_bound : lower bound on the error of the optima at any value; paths with a smaller gap raise it.
    table : one row per range of values, see `selection.error_table`.
    """

    parameter: Parameter
    low: float
    high: float
    folds: tuple[Fold, ...]
    value: float
    error: float
    lower_bound: float
    table: pd.DataFrame

    @property
    def statement(self) -> str:
        """The result in one sentence."""
        name, squared = self.parameter, self.folds[0].path.problem.risk.loss.is_regression
        return (
            f"at {name} = {self.value:.6g} the answers have a cross-validation error "
            f"{'(mean squared) ' if squared else ''}of {self.error:.6g}, the smallest of "
            f"{len(self.table)}; no {name} from {self.low:g} to {self.high:g} has optima with an error "
            f"below {self.lower_bound:.6g}"
        )

    def at(self, value: float) -> pd.Series:
        """Return the row of the table whose range has a value of the parameter.

        Raises
        ------
        ValueError
            If the value is outside the interval.
        """
        if not self.low <= value <= self.high:
            raise ValueError(
                f"{self.parameter}: must be within [{self.low:g}, {self.high:g}], got {value!r}; "
                "call cross_validate with another interval"
            )
        return self.table.iloc[int((self.table["from"] <= value).sum()) - 1]

    def __repr__(self) -> str:
        return f"CrossValidation: {self.statement}"


def cross_validate(
    problem: Formulation,
    C: Ends | None = None,
    folds: int | Splits = 10,
    gap: float = 1e-3,
    solver: Solver | None = None,
    *,
    lam: Ends | None = None,
    epsilon: Ends | None = None,
    seed: int = 0,
    time_limit: float | None = None,
) -> CrossValidation:
    """Return the cross-validation error at every value of C, with a band that contains the optima.

    Parameters
    ----------
    problem : a soft margin, a support vector regression or a hinge risk (without an intercept any
        risk) on all samples. All folds use its kernel, with parameters fitted to all samples.
    C, lam, epsilon : the interval (low, high) of the one parameter to follow, as for `solve_path`.
    folds : number of random parts, stratified by the labels; or pairs of index arrays, the training and
        the held-out samples of each fold, as scikit-learn's splitters return.
    gap : largest relative gap of a path at any value, below 1. The band is about √gap wide.
    solver : any solver for the problem; None means the default.
    seed : for the random parts, which equal those of a data set's `folds` and `seed` in an experiment.
    time_limit : total seconds of solving.

    Raises
    ------
    ValueError
        If an argument is invalid, or the problem has no such path.
    NoPath
        If an answer is not good enough or has no bounds, or time ran out.
    """
    intervals: dict[Parameter, Ends | None] = {"C": C, "lam": lam, "epsilon": epsilon}
    parameter, low, high = validate_interval(problem, intervals, gap, time_limit)
    check_enclosed(problem)
    full_gram = Gram(problem.X, problem.kernel, keep=True)
    if not problem.samples.is_linear and problem.n <= TUNING.max_dense_samples:
        full_gram.dense()
    shared = replace_fields(problem, samples=problem.samples.derived(problem.X, full_gram))
    _ = shared.samples.psd_shift  # holds for the samples of each fold too
    norms, finished = score_norms(problem, problem.X), list[Fold]()
    ends, values = ranges(parameter, low, high, gap)
    sums = np.zeros((3, values.size))
    for train, held_out in _splits(problem, folds, seed):
        time_left = (
            None if time_limit is None else time_limit - sum(f.path.time_solve for f in finished)
        )
        if time_left is not None and time_left <= 0:
            raise NoPath(f"the time limit of {time_limit:g} s ended with {len(finished)} folds")
        part, rows = full_gram.part(train), np.append(train, held_out)
        arguments = {f.name: getattr(problem, f.name) for f in fields(problem)}
        weights = {name: v[train] for name, v in arguments.items() if np.shape(v) == (problem.n,)}
        samples = shared.samples.derived(part.X)
        fold = replace_fields(shared, **weights, X=part.X, samples=samples)
        # if weights differ, the parameter is the largest
        ratio = 1.0
        if parameter in weights:
            ratio = float(weights[parameter].max() / arguments[parameter].max())
        interval: dict[str, Any] = {parameter: (ratio * low, ratio * high)}
        path = solve_path(fold, gap=gap, solver=solver, time_limit=time_left, gram=part, **interval)
        scores = answer_scores(path, full_gram, rows)
        of_fold = ratio * ends, ratio * values
        sums += sums_of_errors(path, scores, norms[rows], problem.y[held_out], of_fold)
        part.forget()
        finished.append(Fold(train, held_out, ratio, path))
    count = sum(fold.held_out.size for fold in finished)
    rounding = gamma(ELEMENTARY + len(finished)) if problem.risk.loss.is_regression else 0.0
    sums *= np.array([[1.0], [1.0 - rounding], [1.0 + rounding]])
    table = error_table(ends, values, sums / count)
    best = table.iloc[int(table["error"].to_numpy().argmin())]
    lower_bound, error = float(table["least"].min()), float(best["error"])
    return CrossValidation(
        parameter, low, high, tuple(finished), float(best["value"]), error, lower_bound, table
    )


def _splits(problem: Formulation, folds: int | Splits, seed: int) -> list[tuple[Indices, Indices]]:
    """Return the training and the held-out samples of each fold."""
    from dualgap.problems.datasets.steps import fold_rows  # noqa: PLC0415 - slow to import

    n = problem.n
    if not isinstance(folds, Iterable):
        count = check_integer(folds, "folds", 2)
        labels = None if problem.risk.loss.is_regression else problem.y
        return [fold_rows(np.arange(n), labels, count, k, seed) for k in range(count)]
    splits = list[tuple[Indices, Indices]]()
    for split in folds:
        parts = [np.atleast_1d(part) for part in (split if isinstance(split, Iterable) else ())]
        rows = np.concatenate(parts) if parts else np.empty(0)
        valid = rows.dtype.kind in "iu" and all(part.size for part in parts) and len(parts) == 2
        if not (valid and 0 <= rows.min() <= rows.max() < n and np.unique(rows).size == rows.size):
            raise ValueError(
                f"folds: each must be a pair of arrays of distinct whole numbers from 0 to {n - 1}, "
                f"the training and the held-out samples, got {short_repr(split)}"
            )
        splits.append((parts[0], parts[1]))
    if not splits:
        raise ValueError("folds: must be 2 or more, or pairs of arrays; got none")
    return splits
