"""L-BFGS and Newton-CG begin at a start that they are given."""

import pytest

from problems import RegularizedERM, datasets
from solvers import LBFGS, NewtonCG, solve

CANCER = datasets.load("breast_cancer", standardize=True, limit=200, seed=0)
LOGISTIC = RegularizedERM(CANCER.X, CANCER.y, 0.01, "logistic")


@pytest.mark.parametrize("solver", [LBFGS(), NewtonCG()])
def test_primal_methods_start_where_they_should(solver):
    first = solve(LOGISTIC, solver)
    again = solve(LOGISTIC, solver, initial=first)
    assert again.iterations < first.iterations
