"""Functions that tests ask for by name, as they do for fixtures."""

import pytest


def given(function):
    """Return a fixture of the function's name that gives the function itself."""
    return pytest.fixture(name=function.__name__, scope="session")(lambda: function)
