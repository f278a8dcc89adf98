"""placeholder written by helper"""

from typing import Any


def prove_infeasible(problem: Any) -> Any:
    return None
