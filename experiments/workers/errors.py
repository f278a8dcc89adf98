"""An exception in one sentence: its type, the first line of its message, and its location."""

import sysconfig
import traceback
from pathlib import Path

from dualgap.problems.texts import one_line

_PACKAGE = Path(__file__).parents[2]


def error_text(error: BaseException, with_source: bool = False) -> str:
    """Return `ValueError: message (file.py:3)`, with the last location in user code, if any.

    Parameters
    ----------
    with_source : whether to append the line of code.
    """
    text, location = _first_line(error), _location(error)
    if location is None:
        return text
    source = f": `{location.line}`" if with_source and location.line else ""
    return f"{text} ({Path(location.filename).name}:{location.lineno}){source}"


def _first_line(error: BaseException) -> str:
    """Return the type of an exception and the first line of its message."""
    text = "".join(traceback.format_exception_only(error))
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    name = type(error).__name__
    # a SyntaxError begins with its file and line; a message may begin with a blank line
    start = next((i for i, line in enumerate(lines) if name in line.partition(":")[0]), 0)
    end = start + 1 + lines[start].endswith(f"{name}:")
    return one_line(" ".join(lines[start:end]))


def _location(error: BaseException) -> traceback.FrameSummary | None:
    """Return the location in code where an exception arose, if it is in a file."""
    if isinstance(error, SyntaxError):  # its last frame is that of the import
        return traceback.FrameSummary(error.filename or "", error.lineno, "", line=error.text)
    libraries = [Path(sysconfig.get_path(name)) for name in ("stdlib", "purelib", "platlib")]
    libraries.append(_PACKAGE)
    frames = [f for f in traceback.extract_tb(error.__traceback__) if Path(f.filename).is_file()]
    in_user_code = [f for f in frames if not any(map(Path(f.filename).is_relative_to, libraries))]
    return (in_user_code or frames or [None])[-1]
