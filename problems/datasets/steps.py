"""The steps from a source's rows to a `Dataset`: pure functions of matrices and labels.

Limit, split and data are drawn from separate streams of one seed, so that holding out a
part changes neither which rows are selected nor how they are generated.
"""

from contextlib import suppress
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from dualgap.problems.dataset import Indices, Matrix, Vector
from dualgap.problems.labels import as_numbers, exact_numbers, positive_word


def pad_features(X: Matrix, n_features: int | None) -> Matrix:
    """Append zero columns until `X` has shape (n, n_features).

    Raises
    ------
    ValueError
        If `X` has more than `n_features` columns.
    """
    n, d = X.shape
    if n_features is None or n_features == d:
        return X
    if n_features < d:
        raise ValueError(f"n_features: is {n_features}, but the data have {d} features")
    if isinstance(X, np.ndarray):
        return np.hstack([X, np.zeros((n, n_features - d))])
    return scipy.sparse.csr_array((X.data, X.indices, X.indptr), shape=(n, n_features))


def by_density(X: Matrix) -> Matrix:
    """Return `X` dense if more than half of its entries are nonzero, as CSR otherwise."""
    n, d = X.shape
    stored = scipy.sparse.csr_array(X)
    if stored.count_nonzero() > 0.5 * n * d:
        return stored.toarray()
    return stored


def words_or_numbers(y: Any, n: int) -> NDArray[Any]:
    """Return labels or targets as text, also if they are objects, or as n finite numbers."""
    labels: NDArray[Any] = np.asarray(y)
    if labels.dtype.kind == "O" and all(isinstance(label, str) for label in labels.flat):
        return labels.astype(np.str_)
    return labels if labels.dtype.kind == "U" else exact_numbers(labels, n)


def to_signs(
    y: NDArray[Any], positive: float | str | None = None, class_names: tuple[str, ...] = ()
) -> Vector:
    """Map labels (n,), numbers or text, to −1 and +1.

    Parameters
    ----------
    y : labels as stored in the source.
    positive : the label that becomes +1, by value or by its name in `class_names`; all others
        become −1. None: labels −1/+1 stay, of two other numbers the larger becomes +1, and of two
        words the one that is in `POSITIVE_WORDS`.
    class_names : name of label i at position i, if the source has names.

    Raises
    ------
    ValueError
        If `positive` is not a label; or if it is None and there are not exactly two classes, or they
        are two words of which not exactly one is in `POSITIVE_WORDS`.
    """
    labels = np.unique(y)
    if labels.dtype.kind == "U" and as_numbers(labels) is not None:
        y = np.asarray(as_numbers(y))
        labels = np.unique(y)
    listed, is_text = show_labels(labels, class_names), labels.dtype.kind == "U"
    chosen: Any = positive
    if positive is not None:
        if is_text:
            chosen = str(positive)
        elif positive in class_names:
            chosen = class_names.index(str(positive))
        else:
            with suppress(ValueError):
                chosen = int(positive) if labels.dtype.kind in "iu" else float(positive)
        if chosen not in labels.tolist():
            raise ValueError(f"positive: {positive!r} is not a label; the labels are {listed}")
    elif not is_text and np.isin(labels, (-1, 1)).all():
        chosen = 1
    elif labels.size == 2:
        chosen = positive_word(labels.tolist()) if is_text else labels[1]
    elif labels.size == 1:
        raise ValueError(f"positive: every label is {listed}; say with 'positive' which one is +1")
    else:
        raise ValueError(describe_classes(labels.size, f" ({listed})"))
    return np.where(y == chosen, 1.0, -1.0)


def name_classes(
    labels: NDArray[Any], y: Vector, class_names: tuple[str, ...] = ()
) -> tuple[str, ...]:
    """Return the names of the classes in `y`, in order; none if labels are numbers without names.

    If several labels became −1, its name is that of +1 with "not".
    """
    if labels.dtype.kind != "U" and not class_names:
        return ()
    by_class = [np.unique(labels[y == value]) for value in np.unique(y)]
    names = [
        str(same[0]) if labels.dtype.kind == "U" else class_names[int(same[0])] for same in by_class
    ]
    return (f"not {names[-1]}" if by_class[0].size > 1 else names[0], *names[1:])


def describe_classes(count: int, listed: str = "") -> str:
    """Return the error message for data of several classes whose labels must become -1 and +1."""
    return (
        f"positive: the data have {count} classes{listed}; say with 'positive' which one becomes +1, "
        "all others become -1, or keep all with 'multiclass' for a formulation of several classes"
    )


def show_labels(labels: NDArray[Any], class_names: tuple[str, ...] = ()) -> str:
    """Return the first twelve labels as text for a message."""
    if labels.dtype.kind == "U":
        words = [repr(str(label)) for label in labels[:12]]
    else:
        words = [f"{v:g}" if abs(v) < 2**53 else str(v) for v in labels[:12].tolist()]
        if class_names:
            words = [f"{w} = {class_names[int(w)]}" for w in words]
    return ", ".join(words) + (", ..." if labels.size > 12 else "")


def limit_rows(n: int, limit: int | None, seed: int | None) -> Indices:
    """Return the rows selected by `limit`, in order: the first ones, or a random draw with a seed."""
    if limit is None or limit >= n:
        return np.arange(n, dtype=np.int64)
    if seed is None:
        return np.arange(limit, dtype=np.int64)
    # substream 1 of the seed; another one would change every limited data set
    draw = np.random.default_rng([seed, 1]).permutation(n)[:limit]
    return np.sort(draw).astype(np.int64)


def split_rows(rows: Indices, test_size: float, seed: int | None) -> tuple[Indices, Indices]:
    """Split `rows` at random into a training and a held-out part, each in the original order.

    The held-out part has ``round(test_size · n)`` rows, and at least one if `test_size` > 0.
    No seed means seed 0, so that the split is reproducible.

    Raises
    ------
    ValueError
        If no row remains for training.
    """
    if test_size == 0:
        return rows, rows[:0]
    held_out = max(1, round(test_size * rows.size))
    if held_out >= rows.size:
        raise ValueError(
            f"test_size: {test_size:g} of {rows.size} row(s) leaves none to train on; lower it"
        )
    # substream 2 of the seed; another one would change every split
    order = np.random.default_rng([seed or 0, 2]).permutation(rows.size)
    return rows[np.sort(order[held_out:])], rows[np.sort(order[:held_out])]


def fold_rows(
    rows: Indices, labels: Vector | None, folds: int, fold: int, seed: int | None
) -> tuple[Indices, Indices]:
    """Split `rows` into `folds` random parts; return all others together, and part number `fold`.

    scikit-learn's KFold draws the parts, or StratifiedKFold if there are labels (n,).

    Raises
    ------
    ValueError
        If there are fewer rows, or fewer of the rarest class, than folds.
    """
    from sklearn.model_selection import KFold, StratifiedKFold  # noqa: PLC0415 - slow to import

    rarest = rows.size if labels is None else int(np.unique(labels, return_counts=True)[1].min())
    if rarest < folds:
        raise ValueError(f"folds: {folds} parts need as many rows of each class, got {rarest}")
    kind = KFold if labels is None else StratifiedKFold
    parts = kind(folds, shuffle=True, random_state=seed or 0).split(rows, labels)
    train, test = list(parts)[fold]
    return rows[train], rows[test]


def standardized(train: Matrix, test: Matrix) -> tuple[Matrix, Matrix]:
    """Return both as (x − shift)/scale for each feature, with the shift and scale of `train`.

    The scale is the standard deviation (1/n), the shift the mean, or 0 for CSR. A feature is constant,
    with scale 1, if all its values are equal, not if its computed deviation is 0: the computed mean of
    n values 0.1 need not be 0.1. Deviations are taken relative to the largest one, so that features of
    size 1e±200 neither overflow nor underflow.
    """
    n, d = train.shape
    if isinstance(train, np.ndarray):
        constant = train.min(axis=0) == train.max(axis=0)
        shift = np.where(constant, train[0], train.mean(axis=0))
        peak = np.where(constant, 1.0, np.abs(train - shift).max(axis=0))
        scale = peak * np.sqrt(np.mean(((train - shift) / peak) ** 2, axis=0))
        scale[constant] = 1.0
        return (train - shift) / scale, (test - shift) / scale
    low, high = train.min(axis=0).toarray().ravel(), train.max(axis=0).toarray().ravel()
    constant = low == high
    peak = np.where(constant, 1.0, np.maximum(np.abs(low), np.abs(high)))
    data = train.data / peak[train.indices]
    mean = np.bincount(train.indices, data, minlength=d) / n
    zeros = n - np.bincount(train.indices, minlength=d)
    squares = np.bincount(train.indices, (data - mean[train.indices]) ** 2, minlength=d)
    scale = np.where(constant, 1.0, peak * np.sqrt((squares + zeros * mean**2) / n))
    sparse: list[Any] = [train, test]
    parts = ((X, (X.data / scale[X.indices], X.indices, X.indptr)) for X in sparse)
    first, second = (scipy.sparse.csr_array(csr, shape=X.shape) for X, csr in parts)
    return first, second
