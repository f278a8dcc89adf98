"""What a row of results is; and what refuses bad input, in whichever room it is found."""


class Refusal(Exception):
    """What was given cannot be used; a command prints the text, which says what to do, with exit 2."""

    @property
    def lines(self) -> list[str]:
        """The text, which is one line unless a subclass says otherwise."""
        return [str(self)]
