"""Labels as stored in files: which text is a number, and which of two words is the positive class."""

import re
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dualgap.problems.dataset import check_targets

POSITIVE_WORDS = ("+", "yes", "true", "positive", "pos")  # in lower case
_NUMBER = re.compile(r"[-+−]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+−]?[0-9]+)?")


def as_numbers(words: Any) -> NDArray[Any] | None:
    """Return words as numbers, or None if any is not a number; U+2212 is accepted as minus sign.

    They are float64, except for integers some of which float64 rounds, which remain integers.
    """
    texts: list[str] = np.asarray(words).tolist()
    if not all(map(_NUMBER.fullmatch, texts)):
        return None
    texts = [text.replace("−", "-") for text in texts]
    numbers = np.array([float(text) for text in texts])
    if are_rounded(numbers):
        with suppress(ValueError, OverflowError):  # not all are integers, or one has 20 digits
            return np.array([int(text) for text in texts], np.int64)
    return numbers


def are_rounded(numbers: NDArray[np.float64]) -> bool:
    """Whether float64 numbers may be rounded integers: from 2⁵³ on different ones become equal."""
    return bool((np.abs(numbers) >= 2.0**53).any())


def exact_numbers(y: Any, n: int, name: str = "y") -> NDArray[Any]:
    """Return n finite labels or targets as float64, or as the integers they are if that rounds some.

    Different classes would become one.
    """
    numbers = check_targets(y, n, name)
    integers = np.asarray(y)
    return integers if integers.dtype.kind in "iu" and are_rounded(numbers) else numbers


def is_word_missing(labels: NDArray[Any]) -> NDArray[np.bool_]:
    """Return which distinct labels mean "missing": blank or ?, among numbers also NA, None, - etc."""
    words: list[str] = labels.tolist()
    missing = ("", "?")  # a blank cell; ? in UCI and ARFF files; "NA" and "None" may name a class
    missing_numbers = ("na", "n/a", "#n/a", "<na>", "nan", "null", "none", "missing", "-", ".")
    texts = [word for word in words if word not in missing and not _NUMBER.fullmatch(word)]
    numeric = any(map(_NUMBER.fullmatch, words))
    numeric = numeric and all(text.lower() in missing_numbers for text in texts)
    return np.array([word in missing or (numeric and word in texts) for word in words], bool)


def positive_word(labels: Iterable[str]) -> str:
    """Return which of two labels becomes +1.

    Raises
    ------
    ValueError
        If not exactly one of them is in `POSITIVE_WORDS`.
    """
    words = sorted(labels)
    chosen = [word for word in words if word.lower() in POSITIVE_WORDS]
    if len(words) != 2 or len(chosen) != 1:
        raise ValueError(
            f"positive: the labels are text, such as {', '.join(map(repr, words[:12]))}; say with "
            f"'positive' which becomes +1 (by default: of two labels the one among "
            f"{' '.join(POSITIVE_WORDS)})"
        )
    return chosen[0]
