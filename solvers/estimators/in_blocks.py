"""Samples in blocks for the linear estimators: Dask collections, or `Blocks` of files."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import scipy

from dualgap.problems.blocks import Blocks, BlockSource
from dualgap.problems.dataset import Vector
from dualgap.problems.datasets.block_sources import dask_source
from dualgap.problems.validation import short_repr


def is_in_blocks(X: Any) -> bool:
    """Whether the samples are `Blocks`, or a Dask Array or DataFrame."""
    return isinstance(X, Blocks) or hasattr(X, "__dask_graph__")


def as_arrays(X: Any, y: Any, weight: Any) -> list[Any]:
    """Convert DataFrames and Series to Dask Arrays of known lengths; return the rest unchanged.

    Raises
    ------
    ValueError
        If `X` is a Dask collection, and `y` or `weight` is not.
    """
    companions = {"y": y} if weight is None else {"y": y, "sample_weight": weight}
    for name, value in companions.items():
        if not isinstance(X, Blocks) and not hasattr(value, "__dask_graph__"):
            raise ValueError(
                f"{name}: must be a Dask Array or Series, as X is a Dask collection, got "
                f"{short_repr(value)}"
            )
    return [_as_array(v) if hasattr(v, "to_dask_array") else v for v in (X, y, weight)]


def _as_array(frame: Any) -> Any:
    if not isinstance(getattr(frame, "dtype", np.dtype(float)), np.dtype):
        frame = frame.astype(object)  # pandas' text type
    # lengths=True is wrong if Dask reads several files as one partition for a few of their columns
    return frame.to_dask_array().compute_chunk_sizes()


def find_labels(X: Any, y: Any) -> Vector:
    """Return the sorted classes of samples in blocks; −1 and +1 for `Blocks`."""
    if isinstance(X, Blocks):
        if X.target != "labels":
            raise ValueError(
                "X: the labels of Blocks must be -1 and +1, but these have other values; set the one "
                "that is +1 with open_blocks(..., positive=...), or pass Dask arrays X and y"
            )
        return np.array([-1.0, 1.0])
    return np.unique(y.map_blocks(np.unique, chunks=((np.nan,) * y.numblocks[0],)).compute())


def as_blocks(X: Any, y: Any, weight: Any, positive: Any, constant: float | None) -> Blocks:
    """Return checked samples in blocks, with one more constant feature unless `constant` is None.

    Parameters
    ----------
    positive : the label of a Dask Array `y` that becomes +1; None for targets.

    Raises
    ------
    ValueError
        If they do not match, or a value is invalid; the message names block and row.
    """
    if isinstance(X, Blocks):
        if y is not None or weight is not None:
            name = "sample_weight" if y is None else "y"
            raise ValueError(
                f"{name}: must be None when X is Blocks, which have their own; leave it out"
            )
        if constant is None:
            return X
        return Blocks.checked(WithFeature(X.source, X.d, constant, X.source.positive))
    source = dask_source(X, y, weight, positive=positive)
    return Blocks.checked(
        source if constant is None else WithFeature(source, X.shape[1], constant, source.positive)
    )


def with_feature(X: Any, value: float) -> Any:
    """Return the samples with one more constant feature."""
    column = np.full((X.shape[0], 1), value)
    if scipy.sparse.issparse(X):
        return scipy.sparse.hstack([X, column], format="csr")
    return np.hstack([X, column])


def predict_in_blocks(predict: Callable[[Any], Vector], X: Any, dtype: Any) -> Any:
    """Return lazy predictions for a Dask collection, block by block."""
    if isinstance(X, Blocks):
        raise ValueError("X: predict one block after another: [model.predict(b.X) for b in blocks]")
    if not hasattr(X, "columns"):
        options = {"dtype": dtype, "meta": np.empty(0, dtype)}
        return X.rechunk({1: -1}).map_blocks(predict, drop_axis=1, **options)
    return X.map_partitions(_predict_frame, predict, meta=pd.Series(np.empty(0, dtype)))


def _predict_frame(frame: Any, predict: Callable[[Any], Vector]) -> Any:
    return pd.Series(predict(frame), index=frame.index)


@dataclass(frozen=True)
class WithFeature(BlockSource):
    """Samples of another source, with `d` features, and one more constant feature."""

    source: BlockSource
    d: int
    value: float
    positive: float | str | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """Those of the source."""
        return self.source.names

    def row_label(self, k: int, row: int) -> str:
        """Return the name of a row of the source in messages."""
        return self.source.row_label(k, row)

    def load(self, k: int, original: bool) -> tuple[Any, Any, Any]:
        """Read a block of the source; one from LIBSVM text may have fewer columns."""
        X, y, weight = self.source.load(k, original)
        if scipy.sparse.issparse(X) and X.shape[1] < self.d:
            X = scipy.sparse.csr_array((X.data, X.indices, X.indptr), shape=(X.shape[0], self.d))
        return with_feature(X, self.value), y, weight
