"""Samples in blocks for the linear estimators: of Dask's collections, or `Blocks` of files."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import scipy

from dualgap.problems.blocks import Blocks, BlockSource
from dualgap.problems.dataset import Vector
from dualgap.problems.datasets.block_sources import dask_source
from dualgap.problems.validation import shown


def is_in_blocks(X: Any) -> bool:
    """Return whether samples are `Blocks`, or a Dask Array or DataFrame."""
    return isinstance(X, Blocks) or hasattr(X, "__dask_graph__")


def as_arrays(X: Any, y: Any, weight: Any) -> list[Any]:
    """Return Dask Arrays of known lengths in the place of DataFrames and Series; the rest as it is.

    Raises
    ------
    ValueError
        If what is beside a Dask collection is none.
    """
    beside = {"y": y} if weight is None else {"y": y, "sample_weight": weight}
    for name, own in beside.items():
        if not isinstance(X, Blocks) and not hasattr(own, "__dask_graph__"):
            raise ValueError(
                f"{name}: beside a Dask collection X it must be an Array or a Series of Dask, got "
                f"{shown(own)}"
            )
    return [_as_array(own) if hasattr(own, "to_dask_array") else own for own in (X, y, weight)]


def _as_array(frame: Any) -> Any:
    if not isinstance(getattr(frame, "dtype", np.dtype(float)), np.dtype):
        frame = frame.astype(object)  # text of pandas' own kind
    # lengths=True is wrong where Dask reads several files as one partition for a few of their columns
    return frame.to_dask_array().compute_chunk_sizes()


def labels_of(X: Any, y: Any) -> Vector:
    """Return the classes of samples in blocks, sorted; of `Blocks` −1 and +1."""
    if isinstance(X, Blocks):
        if X.target != "labels":
            raise ValueError(
                "X: the labels of Blocks must be -1 and +1, and these have other values; say which one "
                "is +1 with open_blocks(..., positive=...), or give Dask arrays X and y"
            )
        return np.array([-1.0, 1.0])
    return np.unique(y.map_blocks(np.unique, chunks=((np.nan,) * y.numblocks[0],)).compute())


def blocks_of(X: Any, y: Any, weight: Any, positive: Any, constant: float | None) -> Blocks:
    """Return samples in blocks, checked, with one more feature, which is constant, unless that is None.

    Parameters
    ----------
    positive : the label of a Dask Array `y` that becomes +1; None for targets.

    Raises
    ------
    ValueError
        If they do not go together, or a value is not usable; the message names block and row.
    """
    if isinstance(X, Blocks):
        if y is not None or weight is not None:
            name = "sample_weight" if y is None else "y"
            raise ValueError(f"{name}: samples in Blocks have theirs with them; leave it out")
        if constant is None:
            return X
        return Blocks.checked(WithFeature(X.source, X.d, constant))
    source = dask_source(X, y, weight, positive=positive)
    return Blocks.checked(source if constant is None else WithFeature(source, X.shape[1], constant))


def with_feature(X: Any, value: float) -> Any:
    """Return the samples with one more feature, which is constant."""
    column = np.full((X.shape[0], 1), value)
    if scipy.sparse.issparse(X):
        return scipy.sparse.hstack([X, column], format="csr")
    return np.hstack([X, column])


def in_each_block(predict: Callable[[Any], Vector], X: Any, dtype: Any) -> Any:
    """Return the predictions for a Dask collection, each block's computed when it is asked for."""
    if isinstance(X, Blocks):
        raise ValueError("X: predict one block after another: [model.predict(b.X) for b in blocks]")
    if not hasattr(X, "columns"):
        found = {"dtype": dtype, "meta": np.empty(0, dtype)}
        return X.rechunk({1: -1}).map_blocks(predict, drop_axis=1, **found)
    return X.map_partitions(_predicted, predict, meta=pd.Series(np.empty(0, dtype)))


def _predicted(frame: Any, predict: Callable[[Any], Vector]) -> Any:
    return pd.Series(predict(frame), index=frame.index)


@dataclass(frozen=True)
class WithFeature(BlockSource):
    """Samples of another source with one more feature, which is constant; `d` are before it."""

    source: BlockSource
    d: int
    value: float

    @property
    def names(self) -> tuple[str, ...]:  # type: ignore[override]
        """As there."""
        return self.source.names

    @property
    def positive(self) -> float | str | None:  # type: ignore[override]
        """As there."""
        return self.source.positive

    def place(self, k: int, row: int) -> str:
        """Return what messages call a row there."""
        return self.source.place(k, row)

    def load(self, k: int, original: bool) -> tuple[Any, Any, Any]:
        """Read a block there; one of LIBSVM text has as many columns as it needs."""
        X, y, weight = self.source.load(k, original)
        if scipy.sparse.issparse(X) and X.shape[1] < self.d:
            X = scipy.sparse.csr_array((X.data, X.indices, X.indptr), shape=(X.shape[0], self.d))
        return with_feature(X, self.value), y, weight
