"""The cross-validation error at every C, with bounds on that of the optimum at each C.

    error(C) = Σₖ Σ_{i held out of fold k} error(yᵢ, fₖ(xᵢ)) / Σₖ |held out of fold k|
where fₖ is trained on all samples except those of fold k. Each fold has a certified path (`path`), and
along it bounds on the errors of all optima between two values (`selection`); the sums of these over the
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
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dualgap.problems import Formulation, Gram, Vector
from dualgap.problems.answers.parametric_bounds import Parameter
from dualgap.problems.arithmetic import Intervals
from dualgap.problems.arithmetic.intervals import ELEMENTARY, gamma, products
from dualgap.problems.dataset import Indices
from dualgap.problems.gram.products import gram_products
from dualgap.problems.gram.tuning import TUNING
from dualgap.problems.problem import replace_fields
from dualgap.problems.validation import check_integer, check_positive, short_repr
from dualgap.solvers.base import Solver
from dualgap.solvers.paths.interval import Ends, validate_interval
from dualgap.solvers.paths.path import NoPath, Path, solve_path
from dualgap.solvers.paths.selection import check_enclosed, held_out_errors, score_norms

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
    value : a value at which the answers of the folds have the smallest `error`: the fraction of wrong
        predictions among all held-out samples, or their mean squared error.
    lower_bound : lower bound on the error of the optima at any value; paths with a smaller gap raise it.
    table : from, to, the error of the answers in between, and bounds (least, most) for the optima.
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
            f"{'(mean squared) ' if squared else ''}of {self.error:.6g}, the smallest of all; no {name} "
            f"from {self.low:g} to {self.high:g} has optima with an error below {self.lower_bound:.6g}"
        )

    def at(self, value: float) -> pd.Series:
        """Return the row of the table for a value of the parameter.

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
    parameter, low, high = validate_interval(problem, intervals, gap)
    check_enclosed(problem)
    if time_limit is not None:
        check_positive(time_limit, "time_limit")
    full_gram = Gram(problem.X, problem.kernel, keep=True)
    if not problem.samples.is_linear and problem.n <= TUNING.max_dense_samples:
        full_gram.dense()
    shared = replace_fields(problem, samples=problem.samples.derived(problem.X, full_gram))
    _ = shared.samples.psd_shift  # holds for the samples of each fold too
    norms, finished, fold_errors = score_norms(problem, problem.X), list[Fold](), list[FoldErrors]()
    for train, held_out in _splits(problem, folds, seed):
        time_left = (
            None if time_limit is None else time_limit - sum(f.path.time_solve for f in finished)
        )
        if time_left is not None and time_left <= 0:
            raise NoPath(f"the time limit of {time_limit:g} s ended with {len(finished)} folds")
        part, rows = full_gram.part(train), np.append(train, held_out)
        values = {f.name: getattr(problem, f.name) for f in fields(problem)}
        weights = {name: v[train] for name, v in values.items() if np.shape(v) == (problem.n,)}
        samples = shared.samples.derived(part.X)
        fold = replace_fields(shared, **weights, X=part.X, samples=samples)
        # if weights differ, the parameter is the largest
        ratio = 1.0
        if parameter in weights:
            ratio = float(weights[parameter].max() / values[parameter].max())
        ends: dict[str, Any] = {parameter: (ratio * low, ratio * high)}
        path = solve_path(fold, gap=gap, solver=solver, time_limit=time_left, gram=part, **ends)
        bands = _bands(path, ratio, full_gram, rows, norms[rows], problem.y[held_out])
        bands.ends[[0, -1]] = low, high  # exactly, whatever the ratio
        fold_errors.append(bands)
        part.forget()
        finished.append(Fold(train, held_out, ratio, path))
    count = sum(fold.held_out.size for fold in finished)
    table = combine_folds(fold_errors, count, problem.risk.loss.is_regression)
    best = table.iloc[int(table["error"].to_numpy().argmin())]
    start, end = float(best["from"]), float(best["to"])
    value = 0.5 * (start + end) if parameter == "epsilon" else float(np.sqrt(start * end))
    lower_bound = float(table["least"].min())
    return CrossValidation(
        parameter, low, high, tuple(finished), value, float(best["error"]), lower_bound, table
    )


class FoldErrors(NamedTuple):
    """Sums of the errors of one fold (3, k): of its answers, and both bounds on those of the optima.

    Column j is for the values between ends[j] and ends[j + 1].
    """

    ends: Vector
    sums: Vector


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


def _bands(
    path: Path, ratio: float, gram: Gram, rows: Indices, norms: Vector, y: Vector
) -> FoldErrors:
    """Return the errors on the held-out samples, the last of `rows` in the full Gram matrix."""
    problem, columns = path.problem, list[tuple[float, float, float]]()
    ends = [path.low / ratio]
    for segment, interval in zip(path.segments, pairwise(path.breakpoints), strict=True):
        point = segment.along.certificate.point
        if point.w is None:
            beta = np.zeros(gram.n)
            beta[rows[: problem.n]] = problem.risk.beta(segment.alpha)
            scores = Intervals(*gram_products(gram, beta))[rows]
        else:
            scores = products(gram.X[rows], point.w)
        error, bands = held_out_errors(segment, interval, scores, norms, y)
        columns += [(error, band.lower, band.upper) for band in bands]
        ends += [band.high / ratio for band in bands]
    return FoldErrors(np.array(ends), np.array(columns).T)


def combine_folds(folds: list[FoldErrors], held_out: int, is_rounded: bool) -> pd.DataFrame:
    """Return the table of the mean errors over all folds, with a row wherever one changes."""
    import pandas as pd  # noqa: PLC0415 - slow to import

    ends = np.unique(np.concatenate([fold.ends for fold in folds]))
    middles, sums = 0.5 * (ends[1:] + ends[:-1]), np.zeros((3, ends.size - 1))
    for fold in folds:
        column = np.searchsorted(fold.ends, middles) - 1
        sums += fold.sums[:, np.clip(column, 0, fold.ends.size - 2)]
    rounding = gamma(ELEMENTARY + len(folds)) if is_rounded else 0.0
    sums *= np.array([[1.0], [1.0 - rounding], [1.0 + rounding]])
    begins = np.append(True, (sums[:, 1:] != sums[:, :-1]).any(axis=0))
    froms, rows = ends[:-1][begins], sums[:, begins] / held_out
    columns = dict(zip(("error", "least", "most"), rows, strict=True))
    return pd.DataFrame({"from": froms, "to": np.append(froms[1:], ends[-1]), **columns})
