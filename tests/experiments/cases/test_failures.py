"""The reason of a crash: the type, the first line of the message, and the place in the user's code."""

import importlib.util
import sys

import pytest

from dualgap.experiments.cases.messages import Failure

SOURCE = """
import json
from dualgap.problems import SoftMarginDual

def several_lines():
    raise RuntimeError("out of memory\\nreported later\\nCompile with DSA to see them.")

def blank_first_line():
    raise ValueError("\\n\\n  2 errors:\\n a: missing")

def with_note():
    error = ValueError("is not definite")
    error.add_note("see the log")
    raise error

def group():
    raise ExceptionGroup("several", [ValueError("a"), TypeError("b")])

def in_the_library():
    json.loads("{")

def in_ours():
    SoftMarginDual([[1.0]], [2.0])

class Own(Exception):
    pass

def without_message():
    raise Own

def that_does_not_parse():
    compile("x = = 1", "theirs.py", "exec")
"""
REASONS = {
    "several_lines": "RuntimeError: out of memory (mine.py:6)",
    "blank_first_line": "ValueError: 2 errors: (mine.py:9)",
    "with_note": "ValueError: is not definite (mine.py:14)",
    "group": "ExceptionGroup: several (2 sub-exceptions) (mine.py:17)",
    "in_the_library": "json.decoder.JSONDecodeError: Expecting property name enclosed in double quotes: "
    "line 1 column 2 (char 1) (mine.py:20)",
    "in_ours": "ValueError: y: labels must be -1 and +1, got {2}; map them first, for example "
    "np.where(y == positive, 1, -1) (mine.py:23)",
    "without_message": "mine.Own (mine.py:29)",
    "that_does_not_parse": "SyntaxError: invalid syntax (theirs.py:1)",
}


@pytest.fixture
def user_code(tmp_path, monkeypatch):
    (tmp_path / "mine.py").write_text(SOURCE)
    spec = importlib.util.spec_from_file_location("mine", tmp_path / "mine.py")
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "mine", module)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", REASONS)
def test_the_reason_of_a_crash_has_type_message_and_location(user_code, name):
    try:
        getattr(user_code, name)()
    except Exception as error:
        failure = Failure.of(error)
    assert failure.reason == REASONS[name]
    assert failure.status == "crashed"
