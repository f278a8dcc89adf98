"""CVXOPT's method for convex QPs, where its default factors are not accurate enough."""

from typing import Any

import numpy as np
import pytest
from cvxopt import solvers

from dualgap.problems import ConvexQP
from dualgap.solvers import solve
from dualgap.solvers.cvxopt_qp import CvxoptQP


def test_cvxopt_is_called_with_other_factors_where_the_first_stop_early(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    original, factors = solvers.qp, list[str | None]()

    def stop_early(*arguments: Any, kktsolver: str | None, options: dict[str, Any]) -> Any:
        factors.append(kktsolver)
        limit = {"maxiters": 1} if kktsolver is None else {}
        return original(*arguments, kktsolver=kktsolver, options=options | limit)

    monkeypatch.setattr(solvers, "qp", stop_early)
    problem = ConvexQP(np.eye(2), [1.0, -1.0], [[1.0, 1.0]], [0.5], lb=0)
    answer = solve(problem, CvxoptQP())
    assert factors == [None, "ldl"]
    assert (answer.verdict, answer.claimed) == ("solved", "optimal")
