"""Checks of single settings: each error names the argument, the accepted values and the actual one."""

import inspect
import lzma
import tokenize
import zipfile
import zlib
from collections.abc import Iterable
from typing import Any

import numpy as np

# raised by Python and NumPy, along with ValueError, for a file that is corrupt or of another format
CORRUPT_FILE_ERRORS = (
    *(zipfile.BadZipFile, zlib.error, lzma.LZMAError, tokenize.TokenError, SyntaxError),
    *(EOFError, OSError, OverflowError, RuntimeError),
)


class NoSuchProblem(ValueError):
    """Settings and samples that are each valid, but together do not define a problem."""


def is_ours(definition: Any) -> bool:
    """Whether a class or function is built in; the toolkit relies on properties of its built-in code."""
    return getattr(definition, "__module__", "").startswith("dualgap.")


def short_repr(value: Any) -> str:
    """Return a short one-line description of a value for messages, without memory addresses."""
    if isinstance(value, type) or inspect.isroutine(value):
        return f"the {'class' if isinstance(value, type) else 'function'} {value.__name__}"[:80]
    if type(value).__repr__ is object.__repr__:
        return f"an instance of {type(value).__name__}"[:80]
    return " ".join(repr(value).split())[:80]


def decode_text(content: bytes) -> str:
    r"""Return UTF-8 text without byte order mark, with lines ended by \n; ValueError names the line."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise ValueError(f"line {line}: is not UTF-8 text; save the file as UTF-8") from None
    return text.replace("\r\n", "\n").replace("\r", "\n")


def check_positive(value: Any, name: str, *, zero: bool = False) -> float:
    """Return `value` as a finite float above 0, or with `zero` at least 0."""
    number = _number(value)
    if not (number > 0 or (zero and number == 0)):
        accepted = "a finite number, 0 or above" if zero else "a finite number above 0"
        raise ValueError(f"{name}: must be {accepted}, got {short_repr(value)}")
    return number


def check_fraction(value: Any, name: str) -> float:
    """Return `value` as a float above 0 and at most 1."""
    number = _number(value)
    if not 0 < number <= 1:
        raise ValueError(f"{name}: must be a number above 0 and at most 1, got {short_repr(value)}")
    return number


def check_finite(value: Any, name: str) -> float:
    """Return `value` as a finite float."""
    number = _number(value)
    if np.isnan(number):
        raise ValueError(f"{name}: must be a finite number, got {short_repr(value)}")
    return number


def check_integer(value: Any, name: str, minimum: int = 1) -> int:
    """Return `value` as an int of at least `minimum`."""
    number = _number(value)
    if not (minimum <= number < 2**63 and number.is_integer()):  # which fits into int64
        raise ValueError(
            f"{name}: must be a whole number of {minimum} or more, got {short_repr(value)}"
        )
    return int(value)


def check_bool(value: Any, name: str) -> bool:
    """Return `value` as a bool."""
    if not isinstance(value, (bool, np.bool_)):
        raise ValueError(f"{name}: must be True or False, got {short_repr(value)}")
    return bool(value)


def check_choice(value: Any, name: str, choices: Iterable[Any]) -> None:
    """Raise ValueError if `value` is not one of `choices`."""
    if value not in choices:
        raise ValueError(
            f"{name}: must be one of {', '.join(map(str, choices))}, got {short_repr(value)}"
        )


def _number(value: Any) -> float:
    """Return a finite number as a float, and NaN for anything else, including numbers in text."""
    try:
        number = float("nan") if isinstance(value, (str, bytes)) else float(value)
    except (TypeError, ValueError, OverflowError):
        return float("nan")
    return number if np.isfinite(number) else float("nan")
