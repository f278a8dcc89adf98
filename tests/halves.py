"""Which cases of a test run with `make test`; the others are left to `make test-all`."""

from collections.abc import Collection, Iterable
from typing import Any

import pytest


def quick(values: Iterable[Any], kept: Collection[Any]) -> list[Any]:
    """Return the values of a parameter, of which only those in `kept` run with `make test`."""
    return [
        value if value in kept else pytest.param(value, marks=pytest.mark.exhaustive)
        for value in values
    ]
