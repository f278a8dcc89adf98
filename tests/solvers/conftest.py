"""Every small problem in turn: one of each kind in `make test`, fewer of the slowest solvers."""

import pytest
from tests.halves import quick_cases
from tests.small_problems import KINDS, PROBLEMS

from dualgap.problems import Formulation

BLACK_BOXES = ("mystic",)  # slow, and each problem is a box QP to it
OF_BLACK_BOXES = ("hard_dual_rbf", "soft_primal_sparse", "soft_dual_rbf", "svr_dual_rbf", "softmax")


@pytest.fixture(params=quick_cases(PROBLEMS, KINDS))
def problem(request: pytest.FixtureRequest) -> Formulation:
    """Each of the small problems in turn."""
    return PROBLEMS[request.param]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave most problems of the slowest solvers to `make test-all`."""
    for item in items:
        chosen = item.callspec.params if hasattr(item, "callspec") else {}
        if chosen.get("solver") in BLACK_BOXES and chosen["problem"] not in OF_BLACK_BOXES:
            item.add_marker("exhaustive")
