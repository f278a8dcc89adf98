"""An exception in one sentence: its type, the first line of its message, and where it arose."""

import sysconfig
import traceback
from pathlib import Path

from dualgap.problems.texts import one_line

_PACKAGE = Path(__file__).parents[2]


def error_text(error: BaseException, with_source: bool = False) -> str:
    """Return `ValueError: message (file.py:3)`: the last place in user code, if any was called.

    Parameters
    ----------
    with_source : whether the line of code follows.
    """
    text, place = _first_line(error), _place(error)
    if place is None:
        return text
    source = f": `{place.line}`" if with_source and place.line else ""
    return f"{text} ({Path(place.filename).name}:{place.lineno}){source}"


def _first_line(error: BaseException) -> str:
    """Return the type of an exception and the first line of its message."""
    text = "".join(traceback.format_exception_only(error))
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    name = type(error).__name__
    # before that of a SyntaxError stand its file and line; a message may begin with a blank line
    start = next((i for i, line in enumerate(lines) if name in line.partition(":")[0]), 0)
    end = start + 1 + lines[start].endswith(f"{name}:")
    return one_line(" ".join(lines[start:end]))


def _place(error: BaseException) -> traceback.FrameSummary | None:
    """Return the place in code where an exception arose, if it is in a file."""
    if isinstance(error, SyntaxError):  # the last frame is the import's
        return traceback.FrameSummary(error.filename or "", error.lineno, "", line=error.text)
    libraries = [Path(sysconfig.get_path(name)) for name in ("stdlib", "purelib", "platlib")]
    libraries.append(_PACKAGE)
    frames = [f for f in traceback.extract_tb(error.__traceback__) if Path(f.filename).is_file()]
    in_user_code = [f for f in frames if not any(map(Path(f.filename).is_relative_to, libraries))]
    return (in_user_code or frames or [None])[-1]
