"""Blocks of samples that are not in files: partitions of Dask's collections, and generated samples."""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from dualgap.problems.blocks import Blocks, BlockSource
from dualgap.problems.datasets.block_files import DEFAULT_BLOCK_ROWS
from dualgap.problems.datasets.readers.tables import feature_matrix
from dualgap.problems.datasets.source import DataInBlocks, Loadable, count, number
from dualgap.problems.validation import check_choice


@dataclass(frozen=True)
class DaskSource(BlockSource):
    """Partitions of Dask's collections, each as a task graph that computes it.

    Attributes
    ----------
    parts : one pickled delayed object per block: a data frame, or a tuple of arrays X, y and weights.
    target, weight : columns of a data frame.
    """

    parts: tuple[bytes, ...]
    target: str | None
    weight: str | None
    positive: float | str | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """Number of each partition."""
        return tuple(f"partition {k}" for k in range(len(self.parts)))

    def load(self, k: int, original: bool) -> tuple[Any, Any, Any]:
        """Compute one partition, in this process."""
        import cloudpickle  # noqa: PLC0415 - comes with Dask, which is optional

        value = cloudpickle.loads(self.parts[k]).compute(scheduler="synchronous")
        if self.target is None:
            return value
        frame = value.drop(columns=[name for name in (self.target, self.weight) if name])
        weight = None if self.weight is None else value[self.weight].to_numpy()
        return (
            feature_matrix(frame, f"X: {self.names[k]}: its columns"),
            value[self.target].to_numpy(),
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

    Each is computed whenever it is read, so it should come from storage that the workers can access, not
    from an array in memory, which would be sent with every request.

    Parameters
    ----------
    X : a DataFrame with the labels or targets in column `target` and optionally weights in column
        `weight`; or an Array (n, d) along with Arrays `y` (n,) and optionally `weight` (n,).
    positive : the label that becomes +1, all others becoming −1.

    Raises
    ------
    ValueError
        If the arguments do not match, or a value is invalid; the message names partition and row.
    """
    return Blocks.checked(dask_source(X, y, weight, target=target, positive=positive))


def dask_source(
    X: Any, y: Any, weight: Any, *, target: str | None = None, positive: float | str | None = None
) -> DaskSource:
    """Return the source of the partitions of Dask's collections, see `dask_blocks`."""
    import cloudpickle  # noqa: PLC0415 - comes with Dask, which is optional
    from dask.base import optimize  # noqa: PLC0415 - optional
    from dask.delayed import delayed  # noqa: PLC0415

    if hasattr(X, "columns"):
        if target not in X.columns or y is not None:
            raise ValueError(
                f"target: must be a column of the DataFrame, which contains y, got {target!r}"
            )
        parts, column = X.to_delayed(), weight
    else:
        if y is None or target is not None:
            raise ValueError("y: must be an array if X is an array, and target must be None")
        column, chunks = None, X.chunks[0]
        X = X.rechunk({1: -1})
        vectors = [v.rechunk((chunks,)).to_delayed() for v in (y, weight) if v is not None]
        triples = zip(X.to_delayed()[:, 0], *vectors, strict=True)
        parts = [delayed(_triple)(*arrays) for arrays in triples]
    (parts,) = optimize([*parts])
    pickled = tuple(cloudpickle.dumps(part) for part in parts)
    return DaskSource(pickled, target, column, positive)


def _triple(X: Any, y: Any, weight: Any = None) -> tuple[Any, Any, Any]:
    return X, y, weight


@dataclass(frozen=True)
class GeneratedSource(BlockSource):
    """Blocks that are generated when read, each from its own seed; see `GeneratedBlocks`."""

    n: int
    d: int
    rows: int
    seed: int
    noise: float
    task: Literal["classification", "regression"]
    features: Literal["normal", "one_hot"] = "normal"

    @property
    def names(self) -> tuple[str, ...]:
        """Range of rows of each block."""
        starts = range(0, self.n, self.rows)
        return tuple(f"rows {i} to {min(i + self.rows, self.n) - 1}" for i in starts)

    def load(self, k: int, original: bool) -> tuple[Any, Any, Any]:
        """Generate one block."""
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
    """Samples x in blocks, with target wᵀx + noise·e or its sign, e ~ N(0, 1) and ‖w‖ = 1.

    Parameters
    ----------
    n, d : number of samples and of features. rows : number of rows per block.
    noise : standard deviation of the noise.
    task : "regression" for the target, "classification" for its sign.
    features : normal numbers, or "one_hot": one indicator column for each of d categories, each 0.8
        times as frequent as the one before.
    seed : seed of w and, together with the block's number, of each block.
    """

    size: ClassVar[str] = "n x d"
    origin: ClassVar[str] = "generated in blocks of rows, one in memory at a time"
    in_blocks: ClassVar[bool] = True

    n: int = count(200, low=1)
    d: int = count(10, low=1)
    rows: int = count(DEFAULT_BLOCK_ROWS, low=1)
    noise: float = number(0.5)
    task: Literal["classification", "regression"] = "classification"
    features: Literal["normal", "one_hot"] = "normal"
    seed: int = count(0, low=0)

    def __post_init__(self) -> None:
        check_choice(self.task, "task", ("classification", "regression"))
        check_choice(self.features, "features", ("normal", "one_hot"))
        super().__post_init__()

    def load(self) -> DataInBlocks:
        """Generate and check every block once."""
        drawn = self.n, self.d, self.rows, self.seed, self.noise, self.task, self.features
        return DataInBlocks(Blocks.checked(GeneratedSource(*drawn)))
