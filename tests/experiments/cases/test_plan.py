from dataclasses import replace

import pytest

from dualgap.experiments.cases.plan import digest
from dualgap.experiments.cases.records import blank_record
from dualgap.experiments.files.experiment import ConfigError

TEXT = """\
name: plan
problems:
  - formulation: soft_margin_dual
    dataset: {name: four_gaussians, n: [24, 40]}
    kernel: {name: rbf, gamma: 0.05}
    C: [1, 10]
  - {formulation: hinge_erm, dataset: breast_cancer, lam: 0.1}
solvers:
  - {name: smo, tol: [1e-3, 1e-6]}
  - {name: platt_smo}
  - {name: platt_smo, seed: 7}
repetitions: 3
"""


@pytest.fixture
def cases(planned):
    return planned(TEXT)


def test_every_case_is_planned_once(cases):
    assert len(cases) == len({case.run_id for case in cases}) == 5 * 4 * 3


def test_problem_ids_are_readable_and_unique(cases):
    ids = list(dict.fromkeys(case.problem_id for case in cases))
    assert ids == [
        "four_gaussians(n=24) soft_margin_dual rbf(gamma=0.05) C=1",
        "four_gaussians(n=24) soft_margin_dual rbf(gamma=0.05) C=10",
        "four_gaussians(n=40) soft_margin_dual rbf(gamma=0.05) C=1",
        "four_gaussians(n=40) soft_margin_dual rbf(gamma=0.05) C=10",
        "breast_cancer hinge_erm lam=0.1",
    ]


def test_hashes_are_the_same_on_every_machine():
    # stored results are found again by these: a change here makes old folders unusable
    assert digest("case", 1, 0.1, {"b": [None, True], "a": 1e-6})[:16] == "68d3f79eb2f58a69"


def test_a_run_id_does_not_depend_on_the_folder_of_the_file(planned, tmp_path):
    (tmp_path / "other").mkdir()
    local, elsewhere = planned(TEXT), planned(TEXT, "other/plan.yaml")
    assert [case.run_id for case in local] == [case.run_id for case in elsewhere]


def test_a_label_is_recorded_but_not_part_of_a_run_id(planned, cases):
    labelled = planned(TEXT.replace("1e-6]}", "1e-6], label: Ours}"))
    assert [case.run_id for case in labelled] == [case.run_id for case in cases]
    recorded = {blank_record(case)["label"] for case in labelled if case.solver.name == "smo"}
    assert recorded == {"Ours (tol=0.001)", "Ours (tol=1e-06)"}
    assert not any("Ours" in blank_record(case)["label"] for case in cases)


def test_the_same_solver_under_two_labels_is_refused(planned):
    entries = "- {name: platt_smo, label: a}\n  - {name: platt_smo, label: b}"
    with pytest.raises(ConfigError, match="repeats the case of line"):
        planned(TEXT.replace("- {name: platt_smo}", entries))


LINES = ["time_limit: 3", "target_gap: 1e-3", "seed: 1", "trace: false", "target: proven"]


@pytest.mark.parametrize("line", LINES)
def test_a_run_id_depends_on_every_relevant_setting(planned, cases, line):
    changed = planned(TEXT + line + "\n")
    seeded = {case.run_id for case in changed if case.solver.seeded}
    assert seeded.isdisjoint(case.run_id for case in cases)


def test_repetitions_have_distinct_seeds_unless_the_file_sets_one(cases):
    platt = [case for case in cases if case.solver.name == "platt_smo"]
    free = [case.seed for case in platt if case.solver.seeded]
    assert {case.seed for case in platt if not case.solver.seeded} == {7}
    assert len(set(free)) == 3  # one a repetition: repetitions are compared on equal draws
    assert all(case.seed is None for case in cases if case.solver.name == "smo")


def test_repetitions_are_interleaved_in_a_seeded_order(planned, cases):
    rounds = [(case.problem_id, case.repetition) for case in cases]
    assert rounds == sorted(rounds, key=lambda r: (rounds.index((r[0], 0)), r[1]))
    orders = {tuple(str(c.solver) for c in cases[i : i + 4]) for i in range(0, len(cases), 4)}
    assert len(orders) > 1
    assert planned(TEXT) == [replace(case) for case in cases]


def test_noise_adds_an_aa_repeat_that_does_the_same_for_each_solver_to_every_round(planned, cases):
    noisy = planned(TEXT + "noise: true\n")
    repeats = [case for case in noisy if case.aa_repeat]
    by_run_id = {case.run_id: case for case in noisy}
    assert len(by_run_id) == len(noisy) == 5 * 3 * (4 + 2)
    assert {case.run_id for case in noisy if not case.aa_repeat} == {c.run_id for c in cases}
    assert {case.solver.name for case in repeats} == {"smo", "platt_smo"}
    assert {c.solver.settings["tol"] for c in repeats if c.solver.name == "smo"} == {1e-3}
    of = ("problem", "solver", "repetition", "seed", "time_limit")
    firsts = [[getattr(case, name) for name in of] for case in cases]
    assert all(firsts.count([getattr(case, name) for name in of]) == 1 for case in repeats)


def test_warm_runs_start_at_the_answer_to_the_previous_problem(planned):
    warm = planned(TEXT + "noise: true\nwarm_start: true\n")
    cold = planned(TEXT + "noise: true\n")
    by_id = {case.run_id: case for case in warm}
    assert len(by_id) == len(warm)
    assert set(by_id).isdisjoint(case.run_id for case in cold)
    warm_started = [(case, by_id[case.after]) for case in warm if case.after]
    assert len(warm_started) == sum(case.problem.parameters.get("C") == 10 for case in warm)
    for case, last in warm_started:
        same = ("solver", "repetition", "aa_repeat", "seed")
        assert all(getattr(case, name) == getattr(last, name) for name in same)
        assert case.before == last.problem
        assert case.problem.dataset == last.problem.dataset
        assert last.problem.parameters["C"] == 1
        assert warm.index(last) < warm.index(case)
