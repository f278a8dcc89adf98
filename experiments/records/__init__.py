"""Rows of results, and the exception that all rooms raise for unusable input."""

from typing import ClassVar


class Refusal(Exception):
    """Unusable input; a command prints the text, which says what to do, and exits with status 2."""

    has_lines: ClassVar[bool] = False  # whether its text keeps its line breaks
