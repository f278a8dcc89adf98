"""The map between ν and C: both machines, solved here, are on one curve."""

import json

import numpy as np
import pandas as pd
import pytest

from experiments.plots.figures.nu_against_c import NuAgainstC, mapped
from experiments.plots.runs import gather
from problems import RBF, NuSVC, SoftMarginDual
from solvers import SMO, solve
from tests.experiments.rows import posed


@pytest.fixture(scope="module")
def table(row_of):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (80, 2))
    y = np.where(X[:, 0] + 0.4 * rng.standard_normal(80) > 0, 1.0, -1.0)
    soft = {C: SoftMarginDual(X, y, C, RBF(1.0)) for C in (0.3, 3.0)}
    shares = {nu: NuSVC(X, y, nu, RBF(1.0)) for nu in (0.4, 0.7)}
    rows = []
    for value, problem in (soft | shares).items():
        solution = solve(problem, SMO(tol=1e-10))
        kinds = solution.geometry.kinds
        known = {
            "formulation": problem.name,
            "dataset": "drawn",
            "kernel": "rbf(gamma=1)",
            "margin": solution.geometry.margin,
            "n_bounded": float((kinds == "bounded").sum()),
            "n_support": float((kinds != "zero").sum()),
            "test_accuracy": np.nan,
            "primal_objective": solution.certificate.primal_objective,
            "dual_objective": solution.certificate.dual_objective,
        }
        name = "nu" if isinstance(problem, NuSVC) else "C"
        rows.append(
            row_of(solution)
            | known
            | {
                "problem_id": f"{problem.name} {name}={value}",
                "problem": json.dumps(posed("drawn", problem.name, params={name: value})),
            }
        )
    return pd.DataFrame(rows)


def test_each_machine_has_the_parameter_of_the_other(table):
    points = mapped(table)
    assert len(points) == 4
    for point in points.itertuples():  # what is found with C has that nu, and the other way round
        assert point.n_bounded <= point.nu * 80 + 1e-6
        assert point.nu * 80 - 1e-6 <= point.n_support
    soft = points[points["formulation"] == "soft_margin_dual"].set_index("C")
    assert list(soft.index) == [0.3, 3.0]
    assert (points.sort_values("C")["nu"].diff().dropna() < 0).all()


def test_the_answer_with_the_mapped_parameter_is_the_same(table):
    points = mapped(table).set_index("problem_id")
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (80, 2))
    y = np.where(X[:, 0] + 0.4 * rng.standard_normal(80) > 0, 1.0, -1.0)
    again = solve(NuSVC(X, y, points.loc["soft_margin_dual C=0.3", "nu"], RBF(1.0)), SMO(tol=1e-10))
    rho = again.geometry.problem.decision_scale(again.certificate.offsets)
    assert 1 / rho == pytest.approx(0.3, rel=1e-6)


def test_it_is_drawn_where_both_machines_are_there_and_only_there(table):
    drawn = list(NuAgainstC().draw(gather(table, pd.DataFrame())))
    assert [name for name, _ in drawn] == ["nu_against_c", "nu_against_c"]
    assert "| nu_svc " in drawn[1][1]
    alone = table[table["formulation"] == "nu_svc"]
    assert not list(NuAgainstC().draw(gather(alone, pd.DataFrame())))
