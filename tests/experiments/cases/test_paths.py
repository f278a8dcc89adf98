"""One run follows a path: a row for all of it, and one for each of its answers."""

import re
from dataclasses import replace

import pytest
from tests.experiments.functions import posing, run_case
from tests.experiments.rows import recorded

from dualgap.experiments.cases import paths
from dualgap.experiments.cases.records import failed
from dualgap.experiments.records.columns import COLUMNS, PATHS
from dualgap.experiments.store.reading import load_paths


@pytest.fixture
def outcome_of(case_of):
    def _outcome(solver="smo", **keys):
        keys = {"path": "{C: [0.1, 10], gap: 1e-2}"} | keys
        return run_case(case_of(text=posing(solvers=f"[{{name: {solver}}}]", **keys)))

    return _outcome


def test_a_path_is_one_row(outcome_of, case_of):
    outcome = outcome_of()
    record, rows = outcome.record, outcome.path
    assert list(record) == COLUMNS
    assert (record["status"], record["verdict"], record["reason"]) == ("finished", "solved", "")
    assert (record["path"], record["C"], record["n_answers"]) == ("C=0.1..10", None, len(rows))
    assert record["relative_gap"] == max(row["worst_gap"] for row in rows) <= 1e-2
    assert record["time_solve"] == pytest.approx(sum(row["time_solve"] for row in rows))
    assert all(list(row) == [column.name for column in PATHS] for row in rows)
    assert [row["from"] for row in rows] == [0.1, *(row["to"] for row in rows[:-1])]
    assert rows[-1]["to"] == 10
    at_its_end = run_case(case_of(text=posing(C=10)))
    assert record["family_hash"] != at_its_end.record["family_hash"]


def test_answers_that_do_not_cover_the_interval_are_refused(outcome_of, monkeypatch):
    follow_path = paths.follow_path

    def without_the_first(*arguments):
        answer, solutions = follow_path(*arguments)
        return replace(answer, reports=answer.reports[1:], values=answer.values[1:]), solutions[1:]

    monkeypatch.setattr(paths, "follow_path", without_the_first)
    outcome = outcome_of()
    assert outcome.record["verdict"] == "uncertified"
    assert "do not cover C from 0.1 to 10" in outcome.record["reason"]
    assert outcome.path == []


@pytest.mark.parametrize(
    ("solver", "head", "status", "verdict", "reason"),
    [
        (
            "pegasos",
            {},
            "unsupported",
            "uncertified",
            "requires a problem without an unregularised intercept",
        ),
        (
            "smo, tol: 1",
            {},
            "finished",
            "inaccurate",
            "smo at C = .* needs 0.005 at the values solved",
        ),
        ("smo", {"time_limit": 1e-9}, "time_limit", "uncertified", "ended with 1 answers"),
    ],
)
def test_a_solver_that_cannot_follow_the_path_is_a_row(
    outcome_of, solver, head, status, verdict, reason
):
    record = outcome_of(solver, **head).record
    assert (record["status"], record["verdict"]) == (status, verdict)
    assert re.search(reason, record["reason"])


def test_the_answers_of_a_folder_are_read_back(outcome_of, case_of, tmp_path):
    outcome = outcome_of()
    other = failed(case_of(), "crashed", "for a test")
    table = load_paths(recorded(tmp_path / "runs", [outcome, other]))
    assert list(table.columns) == [column.name for column in PATHS]
    assert set(table["run_id"]) == {outcome.run_id}
    assert len(table) == outcome.record["n_answers"]
