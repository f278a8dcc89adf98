"""Two folders side by side: what changed is told, what did not is not, and noise is no change."""

import json

import pandas as pd
import pytest
from rich.console import Console
from tests.experiments.rows import labelled, repeated, stored

from dualgap.experiments.analysis.compare import compare_results, regressed
from dualgap.experiments.cases.records import COLUMNS
from dualgap.experiments.tables.comparison import to_terminal

QUIET = (1.0, 1.01, 0.99, 1.0)
SLOW = (2.0, 2.02, 1.98, 2.0)


def runs(problem="p", solver="smo", times=QUIET, **changes):
    """Return the repetitions of a solver on a problem, solved in these times."""
    record = {"tol": 1e-6, "target_gap": 1e-6, "relative_gap": 1e-8} | changes
    return repeated(solver, times, problem, **record)


def changes(first, second):
    """Return the changes between two lists of rows."""
    return compare_results(
        *(pd.DataFrame(labelled(rows), columns=COLUMNS) for rows in (first, second))
    )


def only(first, second):
    """Return the one change between two lists of rows."""
    (change,) = changes(first, second)
    return change


CRASHED = {"status": "crashed", "verdict": "uncertified", "relative_gap": float("nan")}
INACCURATE = {"verdict": "inaccurate", "relative_gap": 1e-4}
MANIFEST = {"host": "here", "run_ids": [], "versions": {}, "code": {}}


def test_a_folder_compared_with_itself_has_no_changes():
    both = runs() + runs("q", times=(1.0, 2.0, 3.0)) + runs("r", **INACCURATE)
    comparison = changes(both, both)
    assert [change.change for change in comparison] == ["same"] * 3
    assert not regressed(comparison)


@pytest.mark.parametrize(
    ("before", "after", "word"),
    [
        ({}, {"verdict": "wrong", "relative_gap": 0.5}, "wrong"),
        ({}, INACCURATE, "unsolved"),
        ({}, CRASHED, "unsolved"),
        (INACCURATE, CRASHED, "broken"),
        (INACCURATE, {}, "solved"),
        (CRASHED, INACCURATE, "mended"),
        (INACCURATE, {**INACCURATE, "relative_gap": 1e-2}, "less accurate"),
        ({}, {"relative_gap": 9e-7}, "same"),
        (CRASHED, CRASHED, "same"),
    ],
)
def test_each_change_of_verdict_has_a_name(before, after, word):
    change = only(runs(**before), runs(**after))
    assert change.change == word
    assert regressed([change]) == (word in ("wrong", "unsolved", "broken"))


@pytest.mark.parametrize("step", [-1.0, 1.0])
def test_bounds_that_exclude_each_other_are_worse_than_any_outcome(step):
    first, second = (
        {"dual_objective": at, "primal_objective": at + 0.5} for at in (2.0, 2.0 + step)
    )
    change = only(runs(**first), runs(**second | {"verdict": "wrong", "relative_gap": 0.2}))
    assert change.change == "contradictory"
    assert regressed([change])
    assert only(runs(**first), runs(**first | {"dual_objective": 2.4})).change == "same"


@pytest.mark.parametrize("folder", [0, 1])
@pytest.mark.parametrize(
    ("bound", "contradictory"),
    [
        ({"dual_objective": 10.1}, True),
        ({"primal_objective": 9.9}, True),
        ({"dual_objective": 10 + 1e-12}, False),  # rounding
        ({"primal_objective": 10 + 1e-3}, False),
        (dict.fromkeys(("dual_objective", "primal_objective"), float("inf")), True),
    ],
)
def test_bounds_of_two_solvers_on_one_optimum_must_agree(folder, bound, contradictory):
    """Also in one folder, if a primal and a dual were solved, and for runs of one folder alone."""
    primal = runs("p primal", "lbfgs", family_hash="family of p")
    other = runs("p primal", "libsvm", family_hash="family of p", **bound)
    folders = [runs() + primal, runs() + primal]
    folders[folder] = folders[folder] + other
    found = {change.solver: change.change for change in changes(*folders)}
    same = {"smo": "same", "lbfgs": "same", "libsvm": ("missing", "new")[folder]}
    assert found == (dict.fromkeys(same, "contradictory") if contradictory else same)
    assert regressed(changes(*folders)) == contradictory


def test_bounds_on_other_data_of_the_same_name_do_not_contradict():
    other = {"problem_hash": "another", "family_hash": "another", "dual_objective": 11.0}
    assert only(runs(), runs(**other, primal_objective=12.0)).change == "other data"


def test_a_failure_of_one_repetition_is_a_failure():
    after = runs()
    after[2] |= CRASHED
    assert only(runs(), after).change == "unsolved"


@pytest.mark.parametrize(
    ("before", "after", "word", "ratio"),
    [
        (QUIET, SLOW, "slower", 2.0),
        (SLOW, QUIET, "faster", 0.5),
        ((1, 2, 3, 4), (1.2, 2.4, 3.6, 4.8), "same", 1.2),
        ((1.0,), (5.0,), "unclear", 5.0),  # too few to tell
    ],
)
def test_only_differences_beyond_the_noise_are_faster_or_slower(before, after, word, ratio):
    change = only(runs(times=before), runs(times=after))
    assert (change.change, change.comparison.ratio) == (word, pytest.approx(ratio))


def test_times_of_different_hosts_are_not_compared():
    change = only(runs(), runs(times=[9 * t for t in QUIET], host="there"))
    assert (change.change, change.samples) == ("unclear", ((), ()))


def test_a_difference_no_larger_than_that_of_aa_repeats_is_noise():
    twins = runs(times=[1.5 * t for t in QUIET], aa_repeat=True)
    change = only(runs() + twins, runs(times=[1.3 * t for t in QUIET]))
    assert change.change == "same"
    assert change.comparison.within_noise


def test_runs_of_one_folder_alone_are_missing_or_new():
    comparison = changes(runs() + runs("q"), runs() + runs("r", "libsvm"))
    assert [(c.change, c.problem) for c in comparison] == [
        ("missing", "q"),
        ("new", "r"),
        ("same", "p"),
    ]
    assert not regressed(comparison)


def test_problems_are_matched_by_name_then_by_data():
    change = only(runs(), runs("another name", problem_hash="hash of p"))
    assert (change.change, change.problem) == ("same", "p")
    assert only(runs(), runs(problem_hash="another", **CRASHED)).change == "other data"


def test_new_settings_keep_a_solver_matched_but_variants_stay_separate():
    old_settings, new_settings = (
        {"tol": 1e-6, "seed": 1},
        {"shrinking": True, "tol": 1e-6, "seed": 2},
    )
    comparison = changes(
        runs(params=json.dumps(old_settings)), runs(params=json.dumps(new_settings))
    )
    assert [change.change for change in comparison] == ["same"]
    variants = [
        row
        for on in (True, False)
        for row in runs(params=json.dumps(new_settings | {"shrinking": on}))
    ]
    assert sorted(c.change for c in changes(runs(), variants)) == ["missing", "new", "new"]


def test_the_command_prints_the_changes_and_exits_with_1_on_a_regression(
    command, tmp_path, monkeypatch
):
    monkeypatch.setenv("COLUMNS", "200")  # the folders' names are long
    good = stored(tmp_path / "good", runs() + runs("q"))
    bad = stored(tmp_path / "bad", runs(times=SLOW) + runs("q", **CRASHED))
    same, worse = command("compare", good, good), command("compare", good, bad, code=1)
    assert "nothing became wrong, unsolved or broken: 2 same" in same.output
    assert "WORSE: 1 unsolved, 1 slower" in worse.output
    assert "solved → crashed" in worse.output


def report(first, second, width=120):
    """Return what is printed of the changes between two lists of rows."""
    console = Console(width=width)
    with console.capture() as captured:
        console.print(to_terminal(changes(first, second), MANIFEST, MANIFEST))
    return captured.get()


def test_ratios_leave_out_times_of_regressions():
    short_times, wrong = (0.1, 0.1, 0.1, 0.1), {"verdict": "wrong", "relative_gap": 0.5}
    first = [row for p in "pqr" for row in runs(p)]
    second = [
        *runs("p"),
        *runs("q", times=short_times, **wrong),
        *runs("r", times=short_times, **INACCURATE),
    ]
    pairs = [(change.change, change.samples) for change in changes(first, second)[:2]]
    assert pairs == [("wrong", ((), ())), ("unsolved", ((), ()))]
    text = report(first, second)
    assert "Ratios of times exclude the 2 that became wrong or unsolved, however fast." in text
    (line,) = (line.split() for line in text.splitlines() if line.startswith(" smo"))
    assert line[:2] == ["smo", "1.00×"]


@pytest.mark.parametrize(
    ("before", "status", "word"),
    [
        (CRASHED, "not_installed", "not run"),
        (INACCURATE, "unsupported", "not run"),
        (INACCURATE, "finished", "less accurate"),
    ],
)
def test_a_lost_certificate_is_neither_an_improvement_nor_unchanged(before, status, word):
    uncertified = {"verdict": "uncertified", "relative_gap": float("nan")}
    assert only(runs(**before), runs(status=status, **uncertified)).change == word
