"""The numbers that a table of a paper can show."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Value:
    """A number that a table can show.

    Attributes
    ----------
    words : its name in the caption. column : where it is among the records.
    digits : significant ones, unless given; 0 for whole numbers. scale : units of one.
    is_time : only solved answers have it, and the fastest of them are bold. small : shown as 4e-07.
    """

    words: str
    column: str
    digits: int
    scale: float = 1.0
    is_time: bool = False
    small: bool = False


VALUES: dict[str, Value] = {
    "time": Value("solving time in seconds", "time_solve", 3, is_time=True),
    "ratio": Value("time over that of the fastest", "time_solve", 3, is_time=True),
    "gap": Value("certified relative gap", "relative_gap", 2, small=True),
    "suboptimality": Value(
        "relative distance to the best bound", "relative_suboptimality", 2, small=True
    ),
    "objective": Value("objective", "objective", 8),
    "kkt": Value("natural residual", "kkt_violation", 2, small=True),
    "setup": Value("setup time in seconds", "time_setup", 3),
    "iterations": Value("iterations", "iterations", 0),
    "evaluations": Value("kernel evaluations", "n_kernel_evals", 3),
    "support": Value("support vectors", "n_support", 0),
    "memory": Value("peak memory in MiB", "peak_rss", 3, scale=2.0**20),
    "margin": Value("margin", "margin", 4),
    "train_accuracy": Value("training accuracy", "train_accuracy", 3),
    "test_accuracy": Value("test accuracy", "test_accuracy", 3),
}
_AT_TARGET = ("time", "ratio", "gap", "memory")


def parse_value(text: str, digits: int | None, target: float | None) -> tuple[str, int]:
    """Return a value's name and its digits.

    Raises
    ------
    ValueError
        If there is no such value, or none where only what reached a `target` is known.
    """
    name, _, own = text.partition(":")
    known = VALUES if target is None else _AT_TARGET
    if name not in known:
        where = "" if target is None else " with a target"
        raise ValueError(f"values: must be of {', '.join(known)}{where}, got {name!r}")
    if own and not re.fullmatch("[0-9]{1,2}", own):
        raise ValueError(f"values: the digits in {text!r} must be a whole number")
    default = VALUES[name].digits
    return name, int(own) if own else default if digits is None or default == 0 else digits
