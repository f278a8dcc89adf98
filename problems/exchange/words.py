"""Words of files that other programs wrote: numbers in them, and how messages quote them."""

import re
from math import isfinite, nan
from typing import Any

_LONGEST = 60  # characters of a word that a message quotes


def finite(word: str, place: str) -> float:
    """Return the finite number that a word is; ValueError with its place for any other word."""
    try:
        number = float(word.encode())  # as bytes, since there are digits beyond ASCII
    except ValueError:
        number = nan
    if not isfinite(number) or "_" in word:  # which Python leaves out
        raise ValueError(f"{place}: must be a finite number, got {quoted(word)}")
    return number


def whole(word: str, most: int, place: str) -> int:
    """Return the number from 1 to `most` that a word is; ValueError with its place for any other."""
    number = int(word) if re.fullmatch("[0-9]{1,18}", word) else 0
    if not 1 <= number <= most:
        raise ValueError(f"{place}: must be a whole number from 1 to {most}, got {quoted(word)}")
    return number


def quoted(word: Any) -> str:
    """Return a word as a message quotes it: in one line, and without the end of a long one."""
    text = str(word)
    return repr(text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…")
