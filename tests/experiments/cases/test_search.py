"""A searched tolerance is tightened until the target is reached or nothing is gained any more."""

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.experiments.functions import log_of, posing, run_case

from dualgap.experiments.cases.plan import RunKey
from dualgap.experiments.cases.schedule import Round, Schedule
from dualgap.experiments.cases.search import case_at_step, is_over
from dualgap.experiments.files.experiment import ConfigError
from dualgap.experiments.files.schema import experiment_schema
from dualgap.experiments.operations.conclusion import is_followed
from dualgap.experiments.store.reading import RunFolder, load_results

NAN = float("nan")


def records(gaps, primals=None, status="finished"):
    """Return the records of a search with these gaps, of which the last run ended so."""
    recorded = {"target_gap": 1e-6, "status": "finished", "params": "{}"}
    recorded["bound_source"] = "x recovered from w" if primals else "alpha"
    pairs = zip(gaps, primals or [1.0] * len(gaps), strict=True)
    rows = [recorded | {"relative_gap": gap, "primal_objective": primal} for gap, primal in pairs]
    rows[-1]["status"] = status
    return rows


def record(gap, time=1.0, source="alpha", **params):
    recorded = records([gap])[0]
    return recorded | {"time_solve": time, "bound_source": source, "params": json.dumps(params)}


def next_run(run_id, records):
    """Return the id of the run that a round asks for after these records; None if it is over."""
    key = Round(RunKey.parse(run_id), records).next_run()
    return None if key is None else str(key)


def in_order(*steps):
    """Return the records of a search whose runs took these steps, with the gap of each."""
    return {f"a-{step:02}": recorded for step, recorded in steps}


def searched_by(smo="auto", pegasos="auto", C=1, **head):
    """Return an experiment in whose place of a tolerance or of epochs a search may stand."""
    solvers = [f"{{name: smo, tol: {smo}}}", f"{{name: pegasos, epochs: {pegasos}}}"]
    return posing(C=C, solvers=solvers, target_gap="1e-6", repetitions=2, **head)


@pytest.mark.parametrize(
    ("recorded_rows", "over"),
    [
        (records([1e-1]), False),
        (records([1e-1, 1e-6]), True),
        (records([1e-1, NAN], status="crashed"), True),
        (records([1e-1, 1e-2], status="time_limit"), True),
        (records([1e-3] * 4), False),
        (records([1e-3] * 5), True),
        (records([1e-3, *[1e-4] * 4]), False),
        (records([1e-2] * 6, [2.0, 1.9, 1.8, 1.7, 1.6, 1.5]), False),
        (records([1e-2] * 6, [1.0 + 1e-9] * 2 + [1.0] * 4), True),
        (records([NAN] * 5), True),
    ],
)
def test_a_search_ends_at_the_target_on_a_stall_or_at_an_unfinished_run(recorded_rows, over):
    assert is_over(recorded_rows) == over


def searched(gap_of, tightest=1e-9, time_of=lambda number: 1.0):
    """Return the numbers that a search takes, in its order, where `gap_of` tells the gap of each."""
    recorded, order = {}, []
    current = Round(RunKey("a", step=0), recorded)
    while (key := current.next_run()) is not None:
        assert Round(key, recorded).next_run() == key, "it follows from the records alone"
        gap = gap_of(key.step)
        status = "finished" if gap is not None else "time_limit"
        recorded[str(key)] = record(gap or NAN, time_of(key.step)) | {
            "target_gap": tightest,
            "status": status,
        }
        order.append(key.step)
        assert len(order) == len(recorded), "each number is run once"
    return order


def at(*stairs):
    """Return a gap for each number: that of the last stair at or before it."""
    return lambda number: [gap for start, gap in stairs if start <= number][-1]


@pytest.mark.parametrize(
    ("gap_of", "order"),
    [
        # as tolerances do
        (lambda number: 0.02 * 10 ** (-number / 2), [0, 3, 2, 7, 9, 8, 13, 15, 14]),
        (lambda number: max(0.02 * 10 ** (-number / 2), 2e-6), [0, 3, 2, 7, 9, 10, 13]),  # stalls
        # more than was asked for again and again, until it is less
        (at((0, 0.05), (3, 6e-6), (10, 1e-7)), [0, 4, 1, 2, 3, 8, 12, 9, 10, 16]),
        (at((0, 7e-4), (5, 3e-4)), [0, 4, 8, 12]),
        (at((0, 1e-7)), [0, 4, 8, 12, 16]),
        (at((0, 1e-10)), [0]),
        (at((0, 0.5)), [0, 4]),
        (at((0, 0.5), (1, 0.49)), [0, 4]),
        (at((0, NAN), (3, 1e-4), (6, 1e-12)), [0, 1, 4, 2, 3, 8, 5, 6]),  # an interior point
        (lambda number: 0.02 * 10 ** (-number / 4) if number < 5 else None, [0, 3, 5]),
        (at((0, 0.01), (1, None)), [0, 2]),
        (at((0, None)), [0]),
    ],
)
def test_a_search_takes_both_neighbours_of_each_target(gap_of, order):
    assert searched(gap_of) == order


@given(st.lists(st.floats(-1.0, 3.0), min_size=30, max_size=30), st.integers(0, 60))
def test_a_search_reaches_each_target_next_to_a_looser_step(falls, ends):
    """The gap falls by any factor from number to number, and runs do not end from some number on."""
    gaps = np.cumprod(10.0 ** -np.maximum(falls, 0.1))
    order = searched(lambda number: gaps[number] if number < ends else None)
    for target in (1e-3, 1e-6, 1e-9):
        reached = [number for number in order if number < ends and gaps[number] <= target]
        if reached and min(reached):
            assert min(reached) - 1 in order
        elif not reached:
            assert max(order) >= min(ends, 29)
    assert sum(number >= ends for number in order) <= 1, "one run meets the time limit"


@given(
    st.lists(st.floats(-1.0, 3.0), min_size=30, max_size=30),
    st.integers(1, 20),
    st.floats(1.0, 1e3),
)
def test_a_search_stops_at_an_accuracy_floor_of_exploding_time(falls, floor, slower):
    """From some number on the gap is the same, and each run takes so many times as long as the last."""
    gaps = np.cumprod(10.0 ** -np.maximum(falls, 0.1))
    times = [0.1 * slower ** max(number - floor, 0) for number in range(30)]
    order = searched(
        lambda number: gaps[min(number, floor)] if times[number] < 60 else None,
        time_of=times.__getitem__,
    )
    below = [number for number in order if number > floor]
    unasked = 2 * np.log10(0.1 / gaps[floor]) - floor  # numbers whose tolerance is above the gap
    assert len(below) <= 4 + max(unasked, 0) / 4
    assert sum(times[number] >= 60 for number in below) <= 1


def test_a_slower_run_without_improvement_ends_the_search():
    """Gaps as those of oneDAL in single precision."""
    gaps = at((0, 2e-2), (2, 2e-3), (3, 6e-4), (7, 1e-5))
    assert searched(gaps) == [0, 3, 2, 7, 9, 11]
    assert searched(gaps, time_of=lambda number: 0.2 if number < 9 else 30.0) == [0, 3, 2, 7, 9]


def test_a_search_without_its_first_run_starts_with_it():
    assert next_run("a-00", in_order((4, record(1e-2)))) == "a-00"


def test_a_search_continues_from_steps_of_another_rule():
    recorded = in_order((0, record(1e-1)), (4, record(1e-3)), (3, record(2e-3)))
    assert next_run("a-00", recorded) == "a-08"
    recorded |= in_order((9, record(1e-7)))
    assert next_run("a-00", recorded) == "a-07"
    assert next_run("a-00", recorded | in_order((8, record(2e-6)))) is None


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("a", RunKey("a")),
        ("a-00", RunKey("a", step=0)),
        ("a-29", RunKey("a", step=29)),
        ("a.0a-03", RunKey("a", 0, 3, True)),
        ("a.12-03", RunKey("a", 12, 3)),
        ("a.1a", RunKey("a", 1, None, True)),
        *(
            (text, RunKey(text))
            for text in ("", "a-3", "a.0", "a.01", "a.-03", "1.5-0", "a-00/../b")
        ),
    ],
)
def test_a_key_is_read_back_unchanged(text, key):
    assert RunKey.parse(text) == key
    assert str(key) == text


def test_each_step_is_a_half_decade_tighter_and_of_one_search(planned):
    cases = {case.solver.name: case for case in planned(searched_by())}
    first, epochs = cases["smo"], cases["pegasos"]
    steps = [case_at_step(first, i) for i in range(5)]
    assert [case.solver.settings["tol"] for case in steps] == [1.0, 0.32, 0.1, 0.032, 0.01]
    assert steps[0] == first
    assert len({case.run_id for case in steps}) == 5
    assert {case.key.round for case in steps} == {first.key.round}
    assert [case_at_step(epochs, i).solver.settings["epochs"] for i in range(4)] == [1, 3, 10, 32]


def test_remaining_runs_follow_from_the_records_alone(planned):
    cases = planned(searched_by())
    first = [case for case in cases if case.repetition == 0]
    assert list(Schedule(cases, {})) == first, "repetitions wait until the first search is over"
    recorded = {case.run_id: record(1e-1) for case in first}
    second = list(Schedule(cases, recorded))
    assert [case.run_id[-3:] for case in second] == ["-04"] * len(first)
    recorded |= {second[0].run_id: record(1e-9)}
    for step in (1, 2, 3):
        third = next(Schedule(cases, recorded))
        assert third.key == second[0].key.at(step)
        recorded |= {third.run_id: record(1e-2 if step < 3 else 1e-9)}
    assert [case.run_id[-5:] for case in Schedule(cases, recorded)][-1] == ".1-03"


def test_the_successor_of_a_run_is_scheduled_next(planned):
    cases = planned(searched_by())
    schedule = Schedule(cases, {})
    first = next(schedule)
    assert len(schedule) == len(cases) - 1
    assert schedule.follow(record(1e-1) | {"run_id": first.run_id})
    assert next(schedule).key == first.key.at(4)
    assert not schedule.follow(record(1e-1) | {"run_id": "of another plan"})


def test_a_record_of_another_process_schedules_no_run_twice(planned):
    cases = planned(searched_by())
    schedule = Schedule(cases, {})
    assert schedule.follow(record(1e-1) | {"run_id": cases[0].run_id})
    assert len(schedule) == len(cases)
    assert [case.key.round for case in schedule].count(cases[0].key.round) == 1


def test_only_the_last_run_of_a_search_has_its_outcome():
    runs = {"search": ["a", "", "a", "c", "a"], "step": [0, None, 2, 0, 1]}
    assert is_followed(pd.DataFrame(runs)).tolist() == [True, False, False, False, True]


def test_later_repetitions_repeat_the_cheapest_runs_that_reached_a_target():
    gaps_and_times = [(1.0, 1.0), (1e-3, 3.0), (1e-4, 2.0), (1e-5, 4.0), (1e-6, 5.0)]
    rows = [record(gap, time) for gap, time in gaps_and_times]
    recorded = in_order(*((step, rows[step]) for step in (0, 4, 1, 2, 3)))
    assert next_run("a.1-00", in_order((0, record(1.0)))) == "a-04", "the search is not over"
    assert next_run("a-00", recorded) is None
    assert next_run("a.1-00", recorded) == "a.1-02"
    assert next_run("a.1a-00", recorded) == "a.1a-02"
    recorded |= {"a.1-02": record(1e-4), "a.1a-02": record(1e-4)}
    assert next_run("a.1a-00", recorded) is None, "an A/A pair is of one run"
    assert next_run("a.1-00", recorded) == "a.1-04"
    assert next_run("a.1-00", recorded | {"a.1-04": record(1e-6)}) is None
    missed = recorded | {"a.1-04": record(2e-6)}
    assert next_run("a.1-00", missed) == "a.1-05", "chance let it miss the target"


def test_later_repetitions_of_a_failed_search_repeat_its_best_run():
    steps = searched(at((0, 1e-3), (1, 9.5e-4)))
    recorded = in_order(*((step, record(9.5e-4 if step else 1e-3)) for step in steps))
    assert next_run("a-00", recorded) is None
    assert next_run("a.0a-00", recorded) == "a.0a-00"
    assert next_run("a.0a-00", recorded | {"a.0a-00": record(1e-3)}) is None
    assert next_run("a.0a-00", in_order((0, record(1.0)), (4, record(1.0)))) is None


@pytest.mark.parametrize("other", [{"source": "x recovered from w"}, {"epochs": 3}])
def test_runs_that_are_compared_by_another_bound_are_chosen_by_their_primal_objectives(other):
    primals = [2.0, 1.0 + 8e-4, 1.0 + 4e-4, 1.0 + 8e-7, 1.0]
    recorded_rows = [record(1e-2, **other) | {"primal_objective": primal} for primal in primals]
    recorded = in_order(*enumerate([*recorded_rows, record(1e-6, **other)]))
    repeated = []
    while (run_id := next_run("a.1-00", recorded)) is not None:
        repeated.append(run_id)
        recorded[run_id] = record(1e-2, **other)
    assert repeated == ["a.1-01", "a.1-02", "a.1-03", "a.1-04"]


def test_repetitions_and_aa_repeats_follow_the_first_search(planned):
    cases = planned(searched_by(noise=True))
    keys = [case.key for case in cases if case.solver.name == "smo"]
    ids, (first,) = list(map(str, keys)), {key.task for key in keys}
    assert sorted(ids) == sorted(f"{first}{of}-00" for of in ("", ".0a", ".1", ".1a"))


def test_listed_tolerances_are_planned_unchanged(planned):
    listed = [case for case in planned(searched_by("1e-3")) if case.solver.name == "smo"]
    assert all(case.key == RunKey(case.run_id) and not case.solver.searched for case in listed)
    assert len(Schedule(listed, {case.run_id: {} for case in listed})) == 0


def test_auto_is_accepted_for_accuracies_alone(planned):
    with pytest.raises(ConfigError, match="max_iter: must be a whole number"):
        planned(searched_by("1e-3, max_iter: auto"))
    smo = experiment_schema()["$defs"]["solver.smo"]["properties"]
    assert "auto" in json.dumps(smo["tol"])
    assert "auto" not in json.dumps(smo["max_iter"])


@pytest.mark.parametrize(("tol", "verdict"), [("auto", "inaccurate"), ("1", "wrong")])
def test_an_accuracy_that_the_search_chose_too_loose_is_not_called_wrong(planned, tol, verdict):
    kernel, data = "{name: rbf, gamma: 0.5}", "{name: two_moons, n: 60, noise: 0.2}"
    libsvm = f"{{name: libsvm, tol: {tol}}}"
    (case,) = planned(posing(dataset=data, kernel=kernel, C=1000, solvers=[libsvm]))
    record = run_case(case_at_step(case, 0) if case.solver.searched else case).record
    assert record["relative_gap"] > 1e-2
    assert (record["claimed"], record["verdict"], record["tol"]) == ("optimal", verdict, 1.0)
    chosen = "The search chose tol 1, above the target gap." in record["reason"]
    assert chosen == (tol == "auto")


@pytest.mark.usefixtures("in_process")
def test_a_false_claim_is_wrong_though_a_search_chose_the_accuracy(planned, strange):
    name = strange("yield FormPoint(x, claim='optimal')")
    (case,) = planned(posing(C=1, solvers=[f'{{name: "{name}", tol: auto}}']))
    assert run_case(case_at_step(case, 0)).record["verdict"] == "inaccurate"
    assert run_case(case_at_step(case, 12)).record["verdict"] == "wrong"  # tol 1e-6


@pytest.mark.usefixtures("in_process")
def test_a_run_searches_to_the_target_and_resumes_where_it_was_killed(write, tmp_path, command):
    path = write(searched_by())
    out = tmp_path / "out"
    command("run", path, "--out", out)
    results = load_results(out)
    smo = results[results["solver"] == "smo"]
    assert RunFolder(out).missing == 0
    assert smo.groupby("repetition")["relative_gap"].min().le(1e-6).all()
    solved = smo[smo["verdict"] == "solved"]
    assert (solved.groupby("repetition").size()[1:] == 1).all()
    loosest = RunKey.parse(min(solved["run_id"]))
    looser = loosest.at(loosest.step - 1)
    assert str(looser) in set(smo["run_id"]), "the looser one is not solved"
    log = log_of(out)
    lines = log.read_text().splitlines(keepends=True)
    log.write_text("".join(lines[: len(lines) // 2]))
    assert RunFolder(out).missing > 0
    command("run", path, "--out", out, "--resume")
    again = load_results(out)
    assert RunFolder(out).missing == 0
    assert _first_searches(again) == _first_searches(results)
    smo = again[again["solver"] == "smo"]
    assert smo.groupby("repetition")["relative_gap"].min().le(1e-6).all()


def _first_searches(results):
    return results["run_id"][results["repetition"] == 0].tolist()


def test_a_run_waits_for_the_one_at_whose_answer_it_begins(planned):
    cases = planned(searched_by("1e-3", 3, C=[1, 2], warm_start=True))
    schedule = Schedule(cases, {}, answer=lambda run_id: f"alpha of {run_id}")
    first = list(schedule)
    assert [case.after for case in first] == [""] * 4  # 2 solvers, 2 repetitions
    assert len(schedule) == 4
    schedule.follow({"run_id": first[2].run_id})
    (second,) = schedule
    assert (second.after, second.initial) == (first[2].run_id, f"alpha of {first[2].run_id}")
    resumed = Schedule(cases, {case.run_id: {} for case in [*first, second]})
    assert len(list(resumed)) == 3
