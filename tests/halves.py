"""Which cases of a test run with `make test`; the others are left to `make test-all`."""

from collections.abc import Collection, Iterable
from typing import Any

import pytest


def quick(cases: Iterable[Any], kept: Collection[Any]) -> list[Any]:
    """Return cases for `parametrize`, those not kept marked exhaustive; a tuple has several values."""

    def exhaustive(case: Any) -> Any:
        values = case if isinstance(case, tuple) else (case,)
        return pytest.param(*values, marks=pytest.mark.exhaustive)

    return [case if case in kept else exhaustive(case) for case in cases]
