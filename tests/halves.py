"""Which cases of a test run with `make test`; the others are left to `make test-all`."""

from collections.abc import Collection, Iterable
from typing import Any

import pytest


def quick_cases(cases: Iterable[Any], chosen: Collection[Any]) -> list[Any]:
    """Return cases for `parametrize`, marked exhaustive unless `chosen`; a tuple has several values."""

    def exhaustive(case: Any) -> Any:
        values = case if isinstance(case, tuple) else (case,)
        return pytest.param(*values, marks=pytest.mark.exhaustive)

    return [case if case in chosen else exhaustive(case) for case in cases]
