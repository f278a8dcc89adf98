"""Samples in blocks that are files, which workers of Dask can read too."""

from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np

from dualgap.problems.blocks import Blocks, BlockSource


@dataclass(frozen=True)
class FileSource(BlockSource):
    """Each block is one file with X, y and, where there are any, weights."""

    paths: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:  # type: ignore[override]
        """The files' names."""
        return tuple(Path(path).name for path in self.paths)

    def load(self, k, original):
        """Read one file."""
        with np.load(self.paths[k]) as stored:
            return tuple(stored.get(name) for name in ("X", "y", "weight"))


def written(folder, X, y, cuts, weight=None):
    """Return the source of samples that are cut before some rows, one file for each part."""
    edges, paths = [0, *cuts, len(y)], []
    for k, (start, end) in enumerate(pairwise(edges)):
        rows, path = slice(start, end), folder / f"block_{k}.npz"
        more = {} if weight is None else {"weight": weight[rows]}
        np.savez(path, X=X[rows], y=y[rows], **more)
        paths.append(str(path))
    return FileSource(tuple(paths))


def in_blocks(folder, X, y, cuts, weight=None):
    """Return these samples in blocks."""
    return Blocks.checked(written(folder, X, y, cuts, weight))
