"""Blocks of samples that are no files: parts of Dask's collections, and samples that are generated."""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from dualgap.problems.blocks import Blocks, BlockSource
from dualgap.problems.datasets.block_files import ROWS
from dualgap.problems.datasets.readers.tables import feature_matrix
from dualgap.problems.datasets.source import DataInBlocks, Loadable, count, number
from dualgap.problems.validation import check_choice


@dataclass(frozen=True)
class DaskSource(BlockSource):
    """Parts of Dask's collections, each with what it takes to compute it.

    Attributes
    ----------
    parts : of each block a pickled delayed object: a data frame, or a tuple of arrays X, y and weights.
    target, weight : columns of a data frame.
    """

    parts: tuple[bytes, ...]
    target: str | None
    weight: str | None
    positive: float | str | None = None

    @property
    def names(self) -> tuple[str, ...]:  # type: ignore[override]
        """The number of each."""
        return tuple(f"partition {k}" for k in range(len(self.parts)))

    def load(self, k: int, original: bool) -> tuple[Any, Any, Any]:
        """Compute one part, in this process."""
        import cloudpickle  # noqa: PLC0415 - comes with Dask, which is optional

        found = cloudpickle.loads(self.parts[k]).compute(scheduler="synchronous")
        if self.target is None:
            return found
        frame = found.drop(columns=[name for name in (self.target, self.weight) if name])
        weight = None if self.weight is None else found[self.weight].to_numpy()
        return (
            feature_matrix(frame, f"X: {self.names[k]}: its columns"),
            found[self.target].to_numpy(),
            weight,
        )


def dask_blocks(
    X: Any,
    y: Any = None,
    weight: Any = None,
    *,
    target: str | None = None,
    positive: float | str | None = None,
) -> Blocks:
    """Return the samples of a Dask DataFrame or Array in blocks: its partitions or chunks.

    Each is computed whenever it is read, so it should come from storage that workers reach, not from an
    array in memory, which would be sent with every question.

    Parameters
    ----------
    X : a DataFrame, of which `target` is the column of labels or targets and `weight` may be that of
        weights; or an Array (n, d) beside Arrays `y` (n,) and perhaps `weight` (n,).
    positive : the label that becomes +1, all others becoming −1.

    Raises
    ------
    ValueError
        If they do not go together, or a value is not usable; the message names partition and row.
    """
    return Blocks.checked(dask_source(X, y, weight, target=target, positive=positive))


def dask_source(
    X: Any, y: Any, weight: Any, *, target: str | None = None, positive: float | str | None = None
) -> DaskSource:
    """Return the partitions of Dask's collections, see `dask_blocks`."""
    import cloudpickle  # noqa: PLC0415 - comes with Dask, which is optional
    import dask  # noqa: PLC0415 - optional

    if hasattr(X, "columns"):
        if target not in X.columns or y is not None:
            raise ValueError(
                f"target: name a column of the frame, which has y in it, got {target!r}"
            )
        parts, column = X.to_delayed(), weight
    else:
        if y is None or target is not None:
            raise ValueError("y: an array X needs the array y beside it, and no target")
        column, chunks = None, X.chunks[0]
        X = X.rechunk({1: -1})
        vectors = [v.rechunk((chunks,)).to_delayed() for v in (y, weight) if v is not None]
        triples = zip(X.to_delayed()[:, 0], *vectors, strict=True)
        parts = [dask.delayed(_triple)(*own) for own in triples]  # type: ignore[attr-defined]
    (parts,) = dask.optimize([*parts])  # type: ignore[attr-defined]
    packed = tuple(cloudpickle.dumps(part) for part in parts)
    return DaskSource(packed, target, column, positive)


def _triple(X: Any, y: Any, weight: Any = None) -> tuple[Any, Any, Any]:
    return X, y, weight


@dataclass(frozen=True)
class GeneratedSource(BlockSource):
    """Blocks that are drawn when they are read, each from a seed of its own; see `GeneratedBlocks`."""

    n: int
    d: int
    rows: int
    seed: int
    noise: float
    task: Literal["classification", "regression"]
    features: Literal["normal", "one_hot"] = "normal"

    @property
    def names(self) -> tuple[str, ...]:  # type: ignore[override]
        """The rows of each."""
        starts = range(0, self.n, self.rows)
        return tuple(f"rows {i} to {min(i + self.rows, self.n) - 1}" for i in starts)

    def load(self, k: int, original: bool) -> tuple[Any, Any, Any]:
        """Draw one block."""
        direction = np.random.default_rng(self.seed).standard_normal(self.d)
        rng = np.random.default_rng([self.seed, 1, k])
        m = min(self.rows, self.n - k * self.rows)
        if self.features == "one_hot":
            shares = 0.8 ** np.arange(self.d)
            X = np.eye(self.d)[rng.choice(self.d, m, p=shares / shares.sum())]
        else:
            X = rng.standard_normal((m, self.d))
        y = X @ (direction / np.linalg.norm(direction)) + self.noise * rng.standard_normal(m)
        return X, y if self.task == "regression" else np.where(y > 0, 1.0, -1.0), None


@dataclass(frozen=True, kw_only=True)
class GeneratedBlocks(Loadable):
    """Samples x with the target wᵀx + noise·e or its sign, e normal and ‖w‖ = 1, in blocks.

    Parameters
    ----------
    n, d : samples, features. rows : of a block.
    noise : standard deviation of what is added to wᵀx.
    task : whether y is the target or its sign.
    features : normal numbers, or "one_hot": one column of ones and zeros for each of d categories, each
        0.8 times as frequent as the one before.
    seed : of w, and with its number of each block.
    """

    size: ClassVar[str] = "n x d"
    origin: ClassVar[str] = "drawn in blocks of rows, of which one at a time is in memory"
    in_blocks: ClassVar[bool] = True

    n: int = count(200, low=1)
    d: int = count(10, low=1)
    rows: int = count(ROWS, low=1)
    noise: float = number(0.5)
    task: Literal["classification", "regression"] = "classification"  # pyright: ignore[reportIncompatibleVariableOverride]
    features: Literal["normal", "one_hot"] = "normal"
    seed: int = count(0, low=0)

    def __post_init__(self) -> None:
        check_choice(self.task, "task", ("classification", "regression"))
        check_choice(self.features, "features", ("normal", "one_hot"))
        super().__post_init__()

    def load(self) -> DataInBlocks:
        """Draw and check every block once."""
        drawn = self.n, self.d, self.rows, self.seed, self.noise, self.task, self.features
        return DataInBlocks(Blocks.checked(GeneratedSource(*drawn)))
