"""Claims of solvers, and which are refuted."""

from tests.experiments.rows import results_from, run

from dualgap.experiments.tables.claims import claims


def _refuted(*runs):
    table = claims(results_from(*runs))
    index = [column.head for column in table.columns].index("claims refuted")
    return {row[0].text: row[index].text for row in table.rows}


def test_a_claim_is_refuted_by_a_better_feasible_point_of_another_run():
    better = run("p", "a", primal_objective=1.0)
    worse = run("p", "b", primal_objective=1.1, gap=0.1, relative_gap=0.1)
    assert _refuted(better, worse) == {"a": "0", "b": "1"}


def test_at_an_optimum_of_0_values_are_compared_in_the_unit_of_the_gap():
    gaps = {"gap": 1e-13, "relative_gap": 1e-9}
    assert _refuted(
        run("p", "a", primal_objective=0.0, **gaps), run("p", "b", primal_objective=1e-13, **gaps)
    ) == {"a": "0", "b": "0"}


def test_without_a_gap_values_are_compared():
    nothing = dict.fromkeys(["gap", "relative_gap"])
    worse = run("p", "b", primal_objective=1.1, **nothing)
    assert _refuted(run("p", "a", primal_objective=1.0), worse) == {"a": "0", "b": "1"}
