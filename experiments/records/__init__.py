"""What a row of results is; and what refuses bad input, in whichever room it is found."""

from typing import ClassVar


class Refusal(Exception):
    """What was given cannot be used; a command prints the text, which says what to do, with exit 2."""

    has_lines: ClassVar[bool] = False  # whether line breaks of its text are its own
