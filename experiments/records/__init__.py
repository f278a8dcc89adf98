"""Rows of results, and the exception that all rooms raise for unusable input."""

from collections.abc import Sequence


class Refusal(Exception):
    """Unusable input; a command prints the text, which says what to do, and exits with status 2."""

    @property
    def lines(self) -> Sequence[str]:
        """The text as a terminal shows it, line by line."""
        return [str(self)]
