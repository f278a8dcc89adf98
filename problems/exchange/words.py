"""Words of files written by other programs: parsing numbers, and quoting words in messages."""

import re
from math import isfinite, nan
from typing import Any


def parse_finite(word: str, location: str) -> float:
    """Parse a word as a finite number; ValueError with its location if it is not one."""
    try:
        number = float(word.encode())  # as bytes, which exclude digits beyond ASCII
    except ValueError:
        number = nan
    if not isfinite(number) or "_" in word:  # Python ignores underscores
        raise ValueError(f"{location}: must be a finite number, got {quote(word)}")
    return number


def parse_index(word: str, n: int, location: str) -> int:
    """Parse a word as an integer from 1 to n; ValueError with its location if it is not one."""
    number = int(word) if re.fullmatch("[0-9]{1,18}", word) else 0
    if not 1 <= number <= n:
        raise ValueError(f"{location}: must be a whole number from 1 to {n}, got {quote(word)}")
    return number


def quote(word: Any) -> str:
    """Return a quoted word for a message, on one line and truncated if it is long."""
    text = str(word)
    return repr(text if len(text) <= 60 else f"{text[:60]}…")
