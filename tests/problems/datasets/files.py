"""A data file in LIBSVM's format, its samples, and what compresses it."""

import bz2
import gzip
import lzma
from pathlib import Path
from typing import Any

import numpy as np

from dualgap.problems import Dataset, datasets

TEXT = "+1 1:0.5 3:-2 # first\n\n-1 2:1e-3\n-1 1:1\n"
SAMPLES = np.array([[0.5, 0, -2], [0, 1e-3, 0], [1, 0, 0]])
WRITERS = {"": lambda b: b, ".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}


def load(path: str | Path, **options: Any) -> Dataset:
    return datasets.load("libsvm_file", path=path, **options)
