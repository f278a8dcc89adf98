"""Names as tables print them, without the words that all share, and choosing by them.

A name can be pasted from a table, a figure or a report: names are compared word by word, regardless of
how they separate words and format numbers.
"""

import re
from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher
from functools import cache

# between the words of a name, in text and in Markdown
_SEPARATORS = re.compile(r"(?:<br>|[\s=(),/])+")
_MAX_CHOICES = 8  # names in a message: a terminal shows them in a few lines


def common_words(problems: Sequence[Sequence[str]]) -> list[str]:
    """Return the words after the data set's name that all problems share, in order."""
    first, *remaining = [words[1:] for words in problems]
    return [word for word in first if remaining and all(word in other for other in remaining)]


def distinct_names(problems: Sequence[Sequence[str]]) -> list[str]:
    """Return the problems' names without their shared words, except the data set's name."""
    common = common_words(problems)
    return [" ".join([w[0], *(word for word in w[1:] if word not in common)]) for w in problems]


def same_name(text: str, name: str) -> bool:
    """Whether a text equals a name word by word, for any separators and notation of numbers."""
    return _name_words(text) == _name_words(name)


@cache
def _name_words(name: str) -> tuple[str | float, ...]:
    """Return the words and numbers of a name."""
    words: list[str | float] = []
    for word in filter(None, _SEPARATORS.split(name)):
        try:
            words.append(float(word))
        except ValueError:
            words.append(word)
    return tuple(words)


def choices_text(text: str, names: Iterable[Sequence[str]]) -> str:
    """Return the names that can be chosen, closest to `text` first, up to `_MAX_CHOICES` of them.

    Parameters
    ----------
    names : the names of each case.
    """
    matcher = SequenceMatcher(None, b=text.lower())

    def likeness(name: str) -> float:
        matcher.set_seq1(name.lower())
        return matcher.ratio()

    unique = dict.fromkeys(name for each in names for name in each)
    ordered = sorted(unique, key=likeness, reverse=True)
    choices = [repr(name) for name in ordered[:_MAX_CHOICES]]
    more = len(ordered) - len(choices)
    return f"available, closest first: {', '.join(choices)}{f' and {more} more' if more else ''}"
