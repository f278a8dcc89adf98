"""Claims are counted beside what is verified of them, and refuted by what any run has shown."""

from tests.experiments.rows import results_from, run

from dualgap.experiments.tables.claims import claims


def rows(results):
    table = claims(results)
    heads = [column.head for column in table.columns]
    return [
        dict(zip(heads, (cell.text for cell in row), strict=True)) | {"solver": row[0].text}
        for row in table.rows
    ]


def test_answers_are_verified_for_any_claim():
    row = rows(
        results_from(
            run("a", target_gap=1e-9, relative_gap=1e-7),
            run("b", target_gap=1e-9, relative_gap=1e-4, claimed="stopped", verdict="inaccurate"),
        )
    )[0]
    assert (row["runs"], row["claimed optimal"]) == ("2", "1")
    assert [row[f"verified to 1e-0{n}"] for n in (3, 6, 9)] == ["2", "1", "0"]
    assert row["claims refuted"] == "0"


def test_a_feasible_point_of_another_run_refutes_claims_of_none_and_of_a_worse_optimum():
    columns = {"family_hash": "f", "primal_objective": 1.0}
    table = rows(
        results_from(
            run("a", "one", **columns),
            run("a", "two", **columns | {"primal_objective": 1.1}),
            run("a", "three", claimed="infeasible", family_hash="f", primal_objective=float("nan")),
            run("b", "three", claimed="infeasible", family_hash="g", primal_objective=float("nan")),
        )
    )
    assert [(row["solver"], row["claims refuted"]) for row in table] == [
        ("one", "0"),
        ("three", "1"),
        ("two", "1"),
    ]
