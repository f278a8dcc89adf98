"""Base classes of data sets: frozen dataclasses whose fields are options and that load a `Dataset`.

A field declared as ``n: int = count(200, low=2)`` is an ordinary dataclass field whose metadata hold
the range; a value outside it is refused with the argument's name. Modules of data sets must not use
``from __future__ import annotations``: the reader of experiment files needs `dataclasses.Field.type`
as a type, not as text.
"""

import math
import numbers
from abc import ABC, abstractmethod
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dualgap.problems.blocks import Blocks
from dualgap.problems.dataset import Dataset, Matrix, Names, check_targets
from dualgap.problems.datasets.steps import (
    describe_classes,
    fold_rows,
    limit_rows,
    name_classes,
    pad_features,
    split_rows,
    standardized,
    to_signs,
    words_or_numbers,
)
from dualgap.problems.quadratic.convex_qp import ConvexQP
from dualgap.problems.registry import snake_case

Task = Literal["classification", "regression"]


@dataclass(frozen=True)
class Range:
    """Values accepted by an option: an interval of integers or finite numbers, and optionally None."""

    low: float
    high: float = math.inf
    integer: bool = False
    optional: bool = False
    above: bool = False  # exclude the lower end
    below: bool = False  # exclude the upper end

    def __contains__(self, value: object) -> bool:
        if value is None:
            return self.optional
        type_ = numbers.Integral if self.integer else numbers.Real
        if isinstance(value, bool) or not isinstance(value, type_):
            return False
        try:
            number = float(value)
        except OverflowError:  # an integer too large for a float
            return False
        too_low = number <= self.low if self.above else number < self.low
        too_high = number >= self.high if self.below else number > self.high
        return math.isfinite(number) and not (too_low or too_high)

    def __str__(self) -> str:
        kind = "an integer" if self.integer else "a finite number"
        bounds = f"above {self.low:g}" if self.above else f"{self.low:g} or above"
        if self.high < math.inf:
            bounds += f" and below {self.high:g}" if self.below else f" and at most {self.high:g}"
        return f"{kind}, {bounds}" + (", or None" if self.optional else "")


def count(default: int | None, *, low: int) -> Any:
    """Return a field for an integer of at least `low`; None is accepted if it is the default."""
    accepted = Range(low=low, integer=True, optional=default is None)
    return field(default=default, metadata={"range": accepted})


def number(
    default: float,
    *,
    low: float = 0.0,
    high: float = math.inf,
    above: bool = False,
    below: bool = False,
) -> Any:
    """Return a field for a finite number from `low` to `high`; `above`, `below` exclude an end."""
    return field(default=default, metadata={"range": Range(low, high, above=above, below=below)})


class Raw(NamedTuple):
    """Rows (n, d) and labels or targets (n,) as stored in a source, before any common step.

    Label i has the name at index i of `class_names`, if the source has names.
    """

    X: Matrix
    y: NDArray[Any]
    class_names: tuple[str, ...] = ()
    feature_names: tuple[str, ...] = ()


class DataInBlocks(NamedTuple):
    """Samples in blocks, which carry their labels or targets, with the fields of a `Dataset`."""

    X: Blocks
    y: None = None
    X_test: None = None
    y_test: None = None


class WholeProblem(NamedTuple):
    """A complete problem given by its data, with the fields of a `Dataset`."""

    X: ConvexQP
    y: None = None
    X_test: None = None
    y_test: None = None


@dataclass(frozen=True, kw_only=True)
class Loadable(ABC):
    """A data set that can be loaded.

    Raises
    ------
    ValueError
        For an invalid value; the message begins with the argument's name.
    """

    task: ClassVar[Literal["classification", "regression", "auto", "program"]] = "classification"
    size: ClassVar[str] = "n x d"
    origin: ClassVar[str] = ""
    kind: ClassVar[str] = "generator"
    in_blocks: ClassVar[bool] = False

    def __post_init__(self) -> None:
        for option in fields(self):
            value, accepted = getattr(self, option.name), option.metadata.get("range")
            if accepted is not None and value not in accepted:
                raise ValueError(f"{option.name}: must be {accepted}, got {value!r}")
            if option.type is bool and not isinstance(value, bool):
                raise ValueError(f"{option.name}: must be true or false, got {value!r}")

    def check(self) -> None:
        """Check in at most a few seconds whether `load` can succeed.

        Raises
        ------
        OSError
            If a file is missing or cannot be read.
        ValueError
            If its content is invalid, or several classes are not reduced to two.
        """
        return

    @abstractmethod
    def load(self) -> Dataset | DataInBlocks | WholeProblem:
        """Read or generate the samples."""


@dataclass(frozen=True, kw_only=True)
class Source(Loadable):
    """A data set that fits into memory, with the options common to all of them.

    `load` reads the source and then applies these steps, always in this order:

    1. `n_features`: append zero columns;
    2. `positive`: map labels to −1 and +1 (before the limit: which label becomes +1 must not
       depend on the selected rows);
    3. `limit`: select rows, keeping their order;
    4. `test_size`, or `folds` and `fold`: hold out a part;
    5. `standardize`: fitted on the training part, applied to both.

    Parameters
    ----------
    standardize : zero mean and unit variance for each feature of a dense `X`; unit variance without
        centring for CSR. Constant features keep scale 1.
    limit : maximum number of rows: the first ones without a seed, otherwise drawn without
        replacement.
    positive : the label (or its name) that becomes +1, all others becoming −1. Without it labels
        −1/+1 stay, of two other numbers the larger becomes +1, and of two words the one that is +, yes,
        true, positive or pos. Classification only.
    n_features : the published number of features, if the last ones may be zero in all rows.
    seed : seed of all random draws: the rows of a generator, the limit, the held-out part.
    test_size : the fraction, in [0, 1), that is held out into `X_test`, `y_test`.
    folds, fold : cross-validation: the rows are shuffled into `folds` parts by scikit-learn's KFold
        (for labels StratifiedKFold, so that each part has every class), and part number `fold`,
        counted from 0, is held out.
    multiclass : whether to keep all classes, numbered 0, 1, ... in the order of their labels,
        instead of mapping them to −1 and +1.

    Raises
    ------
    ValueError
        For an invalid value; the message begins with the argument's name.
    """

    standardize: bool = False
    limit: int | None = count(None, low=1)
    positive: float | str | None = None
    n_features: int | None = count(None, low=1)
    seed: int | None = count(None, low=0)
    test_size: float = number(0.0, high=1.0, below=True)
    folds: int | None = count(None, low=2)
    fold: int | None = count(None, low=0)
    multiclass: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.folds is None) != (self.fold is None):
            raise ValueError("fold: give both 'folds', how many, and 'fold', which one, or neither")
        if self.folds is not None and self.fold is not None:
            if self.fold >= self.folds:
                raise ValueError(f"fold: must be below folds = {self.folds}, got {self.fold}")
            if self.test_size > 0:
                raise ValueError("test_size: a fold is held out already; give one of the two")
        if self.multiclass and (self.positive is not None or self.task == "regression"):
            raise ValueError(
                "multiclass: keeps all classes of a classification data set; leave out 'positive'"
            )
        if self.positive is None:
            return
        is_number = isinstance(self.positive, numbers.Real) and not isinstance(self.positive, bool)
        if not isinstance(self.positive, str) and not (is_number and math.isfinite(self.positive)):
            raise ValueError(f"positive: must be a label, a number or text, got {self.positive!r}")
        if self.task == "regression":
            raise ValueError(
                f"positive: {self.title()} is a regression data set with targets, not labels; "
                "leave it out"
            )

    @abstractmethod
    def read(self) -> Raw:
        """Read or generate the rows, before the common steps are applied."""

    def check(self) -> None:
        """Raise ValueError if several classes are not reduced to two."""
        classes = getattr(self, "classes", 2)
        if classes > 2 and self.positive is None and not self.multiclass:
            raise ValueError(describe_classes(classes))

    def title(self) -> str:
        """Return the name of the data set in tables."""
        return snake_case(type(self).__name__)

    def task_of(self, y: NDArray[Any]) -> Task:
        """Return whether the values `y` (n,) are labels or targets."""
        return "regression" if self.task == "regression" else "classification"

    def load(self) -> Dataset:
        """Read the source and apply the common steps, in the order given above."""
        raw = self.read()
        X, labels = pad_features(raw.X, self.n_features), words_or_numbers(raw.y, raw.X.shape[0])
        is_regression = self.task_of(labels) == "regression"
        if is_regression:
            y = check_targets(labels, X.shape[0])
        elif self.multiclass:
            y = np.unique(labels, return_inverse=True)[1].astype(np.float64)
        else:
            y = to_signs(labels, self.positive, raw.class_names)
        rows = limit_rows(X.shape[0], self.limit, self.seed)
        if self.folds is None or self.fold is None:
            train, test = split_rows(rows, self.test_size, self.seed)
        else:
            classes = None if is_regression else y[rows]
            train, test = fold_rows(rows, classes, self.folds, self.fold, self.seed)
        X_train, X_test = X[train], X[test]
        if self.standardize:
            X_train, X_test = standardized(X_train, X_test)
        suffix = ", standardized" * self.standardize
        features = tuple(f"{name}{suffix}" for name in raw.feature_names)
        classes = () if is_regression else name_classes(labels, y, raw.class_names)
        held_out = (X_test, y[test]) if test.size else (None, None)
        return Dataset(X_train, y[train], self.title(), *held_out, Names(features, classes))


@dataclass(frozen=True, kw_only=True)
class Generator(Source):
    """A random data set, determined by its options and seed."""

    seed: int = count(0, low=0)

    def read(self) -> Raw:
        """Draw the samples."""
        return self._draw(np.random.default_rng(self.seed))

    @abstractmethod
    def _draw(self, rng: np.random.Generator) -> Raw: ...
