"""The spectrum kernel: the number of common substrings of length k.

    k(s, t) = Σ_u (occurrences of u in s)·(occurrences of u in t),   over all strings u of k letters

φ(s) counts the substrings of length k. A string is a row of letter numbers 1, 2, ..., padded with zeros.

Source: Leslie, Eskin & Noble 2002, "The spectrum kernel: a string kernel for SVM protein
classification".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from dualgap.problems.dataset import Matrix
from dualgap.problems.kernels.features import CountingKernel
from dualgap.problems.kernels.samples import as_dense, entries
from dualgap.problems.validation import check_bool, check_integer


@dataclass(frozen=True)
class Spectrum(CountingKernel):
    """Inner product of the counts of substrings of length k, as unit vectors with `normalize`."""

    k: int
    normalize: bool = False

    source: ClassVar[str] = "Leslie, Eskin & Noble 2002"

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", check_integer(self.k, "k", 1))
        object.__setattr__(self, "normalize", check_bool(self.normalize, "normalize"))

    def features(self, X: Matrix) -> scipy.sparse.csr_array:
        """Return the counts of the substrings of length k that occur in `X`."""
        letters = as_dense(X).astype(np.int64)
        n, longest = letters.shape
        if longest < self.k:
            return scipy.sparse.csr_array((n, 1))
        windows = sliding_window_view(letters, self.k, axis=1)
        string, position = np.nonzero(windows[:, :, -1])  # windows within the string
        substrings, column = np.unique(windows[string, position], axis=0, return_inverse=True)
        return scipy.sparse.csr_array(
            (np.ones(string.size), (string, column.ravel())), shape=(n, max(1, len(substrings)))
        )

    def check(self, X: Matrix) -> None:
        """Raise ValueError unless rows are letter numbers followed by zeros."""
        values = entries(X)
        wrong = values[(values < 0) | (values != np.floor(values))]
        if wrong.size:
            raise ValueError(
                "X: a string kernel needs rows of letter numbers 1, 2, ... (see encode_strings), "
                f"got {wrong[0]:g}; leave standardize out"
            )
        present = as_dense(X) != 0
        if (present[:, 1:] & ~present[:, :-1]).any():
            raise ValueError("X: a string has a letter after its end (0); number letters from 1")


def encode_strings(
    strings: Sequence[str], alphabet: str | None = None, width: int | None = None
) -> NDArray[np.float64]:
    """Return `strings` as rows of letter numbers from 1, shape (n, width), padded with zeros.

    Parameters
    ----------
    strings : the samples.
    alphabet : the letters, numbered from 1; None takes the letters that occur, sorted.
    width : number of columns; None takes the length of the longest string.

    Raises
    ------
    ValueError
        If a letter is not in `alphabet`, or a string is longer than `width`.
    """
    letters = "".join(sorted(set("".join(strings)))) if alphabet is None else alphabet
    longest = max(1, *map(len, strings), 1)
    if width is not None and width < longest:
        raise ValueError(
            f"width: must be at least {longest}, the length of the longest string, got {width}"
        )
    number = {letter: i + 1 for i, letter in enumerate(letters)}
    rows = np.zeros((len(strings), width or longest))
    for row, string in zip(rows, strings, strict=True):
        unknown = set(string) - number.keys()
        if unknown:
            raise ValueError(f"alphabet: {min(unknown)!r} is not in {letters!r}")
        row[: len(string)] = [number[letter] for letter in string]
    return rows
