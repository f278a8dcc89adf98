"""Options of a data source: defaults that carry their range, checked in one place.

A field declared as ``n: int = count(200, low=2)`` is an ordinary dataclass field whose
metadata hold the range; `check_options` refuses a value outside it with the argument's name.
No ``from __future__ import annotations`` in the modules of sources: `dataclasses.Field.type`
is then a type and not text, which is what a reader of experiment files needs.
"""

import math
import numbers
from dataclasses import dataclass, field, fields
from typing import Any


@dataclass(frozen=True)
class Range:
    """What an option accepts: an interval of integers or finite numbers, perhaps None."""

    low: float
    high: float = math.inf
    integer: bool = False
    optional: bool = False
    above: bool = False  # the lower end itself is refused
    below: bool = False  # the upper end itself is refused

    def __contains__(self, value: object) -> bool:
        if value is None:
            return self.optional
        wanted = numbers.Integral if self.integer else numbers.Real
        if isinstance(value, bool) or not isinstance(value, wanted):
            return False
        try:
            number = float(value)
        except OverflowError:  # of an integer beyond floats
            return False
        too_low = number <= self.low if self.above else number < self.low
        too_high = number >= self.high if self.below else number > self.high
        return math.isfinite(number) and not (too_low or too_high)

    def __str__(self) -> str:
        what = "an integer" if self.integer else "a finite number"
        where = f"above {self.low:g}" if self.above else f"{self.low:g} or above"
        if self.high < math.inf:
            where += f" and below {self.high:g}" if self.below else f" and at most {self.high:g}"
        return f"{what}, {where}" + (", or None" if self.optional else "")


def count(default: int | None, *, low: int) -> Any:
    """Field for an integer that is `low` or above; None is accepted if it is the default."""
    accepted = Range(low=low, integer=True, optional=default is None)
    return field(default=default, metadata={"range": accepted})


def number(
    default: float,
    *,
    low: float = 0.0,
    high: float = math.inf,
    above: bool = False,
    below: bool = False,
) -> Any:
    """Field for a finite number between `low` and `high`; `above`, `below` leave out an end."""
    return field(default=default, metadata={"range": Range(low, high, above=above, below=below)})


def check_options(source: Any) -> None:
    """Refuse a value outside the range of its field, and a switch that is not a bool.

    Raises
    ------
    ValueError
        ``<argument>: must be <range>, got <value>``.
    """
    for option in fields(source):
        value = getattr(source, option.name)
        accepted = option.metadata.get("range")
        if accepted is not None and value not in accepted:
            raise ValueError(f"{option.name}: must be {accepted}, got {value!r}")
        if option.type is bool and not isinstance(value, bool):
            raise ValueError(f"{option.name}: must be true or false, got {value!r}")
