"""Functions that tests ask for by name, as they do for fixtures, and cases run in the tests' process."""

from contextlib import contextmanager

import pytest

from experiments.cases.case import run_case
from experiments.executors.local import LocalExecutor


def given(function):
    """Return a fixture of the function's name that gives the function itself."""
    return pytest.fixture(name=function.__name__, scope="session")(lambda: function)


@contextmanager
def in_this_process():
    """Let commands run their cases here, without the seconds that a worker takes to start."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(LocalExecutor, "run", lambda self, cases: (run_case(c) for c in cases))
        yield
