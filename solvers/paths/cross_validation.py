"""The cross-validation error of every C, with what the optimum at each C could have.

    error(C) = Σₖ Σ_{i held out of fold k} error(yᵢ, fₖ(xᵢ)) / Σₖ |held out of fold k|
where fₖ is trained on all samples but those of fold k. Each fold has a certified path (`path`), and on
it the errors that all optima between two values are between (`selection`); sums of these over the folds
are a band around the cross-validation error of the optimum at each C.

The Gram matrix of all samples is computed once, up to some thousand of them: the paths of all folds,
what their answers are worth and the scores of held-out samples take their kernel values from it. Above,
each fold keeps its own rows.

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
from dualgap.problems.arithmetic.rounding import ELEMENTARY, gamma, products
from dualgap.problems.dataset import Indices
from dualgap.problems.gram.gram import MOST_KNOWN
from dualgap.problems.gram.products import gram_products
from dualgap.problems.validation import check_positive, check_whole, shown
from dualgap.solvers.base import Solver
from dualgap.solvers.paths.interval import Ends, interval_of
from dualgap.solvers.paths.path import NoPath, Path, solve_path
from dualgap.solvers.paths.selection import check_enclosed, held_out_errors, score_norms

if TYPE_CHECKING:
    import pandas as pd

Splits = Iterable[tuple[Any, Any]]


class Fold(NamedTuple):
    """The samples that a path is trained on, those held out, and the path, whose C is a multiple of
    `share` where weights differ: that of the largest weight in the fold.
    """

    train: Indices
    held_out: Indices
    share: float
    path: Path


@dataclass(frozen=True, eq=False)
class CrossValidation:
    """The cross-validation error at every value of a parameter, and what all optima could have.

    Attributes
    ----------
    parameter : "C", "lam" or "epsilon", from `low` to `high`. folds : with a certified path each.
    value : a value at which the answers of the folds have the least `error`: the share of wrong
        predictions among all held-out samples, or their mean squared error.
    least : at no value have the optima an error below this; paths within a smaller gap raise it.
    table : from, to, the error of the answers between, and the least and the most that the optima have.
    """

    parameter: Parameter
    low: float
    high: float
    folds: tuple[Fold, ...]
    value: float
    error: float
    least: float
    table: pd.DataFrame

    @property
    def statement(self) -> str:
        """The result in one sentence."""
        name, squared = self.parameter, self.folds[0].path.problem.is_regression
        return (
            f"at {name} = {self.value:.6g} the answers have a cross-validation error "
            f"{'(mean squared) ' if squared else ''}of {self.error:.6g}, the least of all; at no {name} "
            f"from {self.low:g} to {self.high:g} have the optima one below {self.least:.6g}"
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
                "cross_validate takes another interval"
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
    """Return the cross-validation error at every value of C, with a band that the optima are in.

    Parameters
    ----------
    problem : a soft margin, a support vector regression or a hinge risk (without an intercept any
        risk) on all samples. Its kernel is that of all folds, and so is what it took from the samples.
    C, lam, epsilon : the interval (low, high) of the one parameter to follow, as `solve_path` takes it.
    folds : into how many parts the samples are drawn, of labels such that each part has its share of
        both; or pairs of index arrays, the training and the held-out samples of each fold, such as
        scikit-learn's splitters give.
    gap : largest relative gap of a path at any value, below 1. The band is about as wide as its root.
    solver : any solver for the problem; None takes the default.
    seed : of the draw: parts are those of a data set's `folds` and `seed` in an experiment file.
    time_limit : seconds of solving, of all folds together.

    Raises
    ------
    ValueError
        If an argument is not usable, or the problem has no such path.
    NoPath
        If the solver's answer is not good enough somewhere, or has no bounds, or the time is over.
    """
    given: dict[Parameter, Ends | None] = {"C": C, "lam": lam, "epsilon": epsilon}
    parameter, low, high = interval_of(problem, given, gap)
    check_enclosed(problem)
    if time_limit is not None:
        check_positive(time_limit, "time_limit")
    whole = Gram(problem.X, problem.kernel, keep=True)
    if not problem.is_linear and problem.n <= MOST_KNOWN:
        whole.dense()
    shared = problem.changed(shared_gram=whole)
    _ = shared.is_psd and shared.psd_shift  # what is known of all samples holds of those of a fold
    norms, found, bands = score_norms(problem, problem.X), list[Fold](), list[Bands]()
    for train, held_out in _splits(problem, folds, seed):
        left = None if time_limit is None else time_limit - sum(f.path.time_solve for f in found)
        if left is not None and left <= 0:
            raise NoPath(f"the time limit of {time_limit:g} s ended with {len(found)} folds")
        part, rows = whole.part(train), np.append(train, held_out)
        values = {f.name: getattr(problem, f.name) for f in fields(problem)}  # type: ignore[arg-type]
        own = {name: v[train] for name, v in values.items() if np.shape(v) == (problem.n,)}
        known = part if part.is_known else None
        fold = shared.changed(**own, X=part.X, shared_gram=known)
        # of weights for each sample the parameter is the largest
        share = 1.0
        if parameter in own:
            share = float(own[parameter].max() / values[parameter].max())
        ends: dict[str, Any] = {parameter: (share * low, share * high)}
        path = solve_path(fold, gap=gap, solver=solver, time_limit=left, gram=part, **ends)
        bands.append(_bands(path, share, whole, rows, norms[rows], problem.y[held_out]))
        part.forget()
        found.append(Fold(train, held_out, share, path))
    table = summed(bands, sum(fold.held_out.size for fold in found), problem.is_regression)
    best = table.iloc[int(table["error"].to_numpy().argmin())]
    begin, end = float(best["from"]), float(best["to"])
    value = 0.5 * (begin + end) if parameter == "epsilon" else float(np.sqrt(begin * end))
    least = float(table["least"].min())
    return CrossValidation(
        parameter, low, high, tuple(found), value, float(best["error"]), least, table
    )


class Bands(NamedTuple):
    """The sums of errors of one fold (3, k): of its answers, the least and the most of all optima.

    Column j is of the values between ends[j] and ends[j + 1].
    """

    ends: Vector
    sums: Vector


def _splits(problem: Formulation, folds: int | Splits, seed: int) -> list[tuple[Indices, Indices]]:
    """Return the training and the held-out samples of each fold."""
    from dualgap.problems.datasets.steps import fold_rows  # noqa: PLC0415 - slow to import

    n = problem.n
    if not isinstance(folds, Iterable):
        count = check_whole(folds, "folds", 2)
        labels = None if problem.is_regression else problem.y
        return [fold_rows(np.arange(n), labels, count, k, seed) for k in range(count)]
    splits = list[tuple[Indices, Indices]]()
    for split in folds:
        parts = [np.atleast_1d(part) for part in (split if isinstance(split, Iterable) else ())]
        rows = np.concatenate(parts) if parts else np.empty(0)
        whole = rows.dtype.kind == "i" and all(part.size for part in parts) and len(parts) == 2
        if not (whole and 0 <= rows.min() <= rows.max() < n and np.unique(rows).size == rows.size):
            raise ValueError(
                f"folds: each must be a pair of arrays of different whole numbers from 0 to {n - 1}, "
                f"the samples to train on and those held out, got {shown(split)}"
            )
        splits.append((parts[0], parts[1]))
    if not splits:
        raise ValueError("folds: must be 2 or more, or pairs of arrays; got none")
    return splits


def _bands(path: Path, share: float, whole: Gram, rows: Indices, norms: Vector, y: Vector) -> Bands:
    """Return the sums of errors on the held-out samples, the last of `rows` among all."""
    problem, columns = path.problem, list[tuple[float, float, float]]()
    ends = [path.low / share]
    for piece, stands in zip(path.pieces, pairwise(path.breakpoints), strict=True):
        point = piece.along.certificate.point
        if point.w is None:
            beta = np.zeros(whole.n)
            beta[rows[: problem.n]] = problem.beta(piece.alpha)
            scores = Intervals(*gram_products(whole, beta))[rows]
        else:
            scores = products(whole.X[rows], point.w)
        error, found = held_out_errors(piece, stands, scores, norms, y)
        columns += [(error, band.least, band.most) for band in found]
        ends += [band.high / share for band in found]
    return Bands(np.array(ends), np.array(columns).T)


def summed(bands: list[Bands], held_out: int, rounded: bool) -> pd.DataFrame:
    """Return the table of the mean errors of all folds, of counts a row wherever one changes."""
    import pandas as pd  # noqa: PLC0415 - slow to import

    ends = np.unique(np.concatenate([fold.ends for fold in bands]))
    middles, sums = 0.5 * (ends[1:] + ends[:-1]), np.zeros((3, ends.size - 1))
    for fold in bands:
        at = np.searchsorted(fold.ends, middles) - 1
        sums += fold.sums[:, np.clip(at, 0, fold.ends.size - 2)]
    lost = gamma(ELEMENTARY + len(bands)) if rounded else 0.0
    sums *= np.array([[1.0], [1.0 - lost], [1.0 + lost]])
    begins = np.append(True, (sums[:, 1:] != sums[:, :-1]).any(axis=0))
    froms, rows = ends[:-1][begins], sums[:, begins] / held_out
    named = dict(zip(("error", "least", "most"), rows, strict=True))
    return pd.DataFrame({"from": froms, "to": np.append(froms[1:], ends[-1]), **named})
