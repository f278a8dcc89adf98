"""The selftest: our own solvers conform, and every solver of the zoo is caught for its fault."""

import os
import random
import tempfile
import time
import warnings
from dataclasses import replace
from itertools import count
from pathlib import Path

import numpy as np
import psutil
import pytest
from click.testing import CliRunner
from tests.halves import quick_cases
from tests.shown import right_solvers
from threadpoolctl import threadpool_limits

from dualgap import problems
from dualgap.experiments import selftest
from dualgap.experiments.cli import main
from dualgap.experiments.selftest import PROPERTIES, Limits, check_name, try_solver
from dualgap.experiments.selftest.bench import Bench, load
from dualgap.experiments.selftest.families import with_unsupported, without_families
from dualgap.experiments.selftest.limits import WAITS_PER_CPU_SECOND, WorkClock
from dualgap.experiments.selftest.outcome import PropertyOutcome, Report
from dualgap.experiments.selftest.problems import PROBLEMS
from dualgap.experiments.selftest.theory import disjoint
from dualgap.problems import Certificate
from dualgap.problems.registry import module_from
from dualgap.solvers.running import solution

ZOO = Path(__file__).parents[2] / "zoo"
BY_NAME = {item.name: item for item in PROPERTIES}
ONE = "two_gaussians linear C=1"
SHORT = Limits(loading=60.0, first=60.0, solving=0.3, grace=0.05)
CORE = ["dual_coordinate_descent", "pegasos", "projected_gradient"]
SLOW = {"large features", "mixed features", "large C", "imbalance"}  # as they go up to a time limit


def _members(*files: str) -> list[object]:
    """Return the solvers of files, each with the property that it breaks; every third is quick."""
    members = [
        (f"{ZOO / file}.py:{cls.__name__}", cls)
        for file in files
        for cls in vars(module_from(ZOO / f"{file}.py")).values()
        if getattr(cls, "expected", "") and not cls.__name__.startswith("_")
    ]
    return [
        pytest.param(
            name,
            cls.expected,
            cls.words,
            id=cls.__name__,
            marks=[pytest.mark.exhaustive] * (i % 3 > 0),
        )
        for i, (name, cls) in enumerate(members)
    ]


@pytest.fixture
def tidy(monkeypatch, tmp_path):
    """Undo what a careless solver does to the process."""
    states = np.random.get_state(), random.getstate(), os.getcwd()  # noqa: NPY002
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))  # where one of them leaves its answers
    for module, name in ((time, "perf_counter"), (problems, "certify"), (solution, "certify")):
        monkeypatch.setattr(module, name, getattr(module, name))  # and so put back
    with warnings.catch_warnings(), np.errstate(), threadpool_limits(2, user_api="blas"):
        yield
    np.random.set_state(states[0])  # noqa: NPY002
    random.setstate(states[1])
    os.chdir(states[2])


def _try(
    solver: str, *names: str, at_most: int | None = None, on: tuple[str, ...] = (), limits=SHORT
) -> list[PropertyOutcome]:
    """Try some properties in this process, on their first few problems or on those given."""
    bench, digests = Bench(load(solver), limits), dict[str, str]()
    outcomes = []
    for name in names:
        item = BY_NAME[name]
        outcome = bench.check(replace(item, problems=on or item.problems[:at_most]), digests, str)
        digests |= outcome.digests
        outcomes.append(outcome)
    return outcomes


@pytest.mark.usefixtures("tidy")
@pytest.mark.parametrize(
    ("solver", "expected", "words"),
    _members("answers", "wrong_problem", "side_effects"),
)
def test_each_faulty_solver_fails_the_property_that_it_violates(solver, expected, words):
    names = ["answers", expected] if expected == "deterministic" else [expected]
    outcome = _try(solver, *names, at_most=2)[-1]
    assert outcome.result == "failed"
    assert any(words in sentence for sentence in outcome.sentences), outcome.sentences
    assert all(sentence.startswith(f"{expected} on ") for sentence in outcome.sentences)


@pytest.mark.exhaustive
@pytest.mark.usefixtures("tidy")
@pytest.mark.parametrize(("solver", "expected", "words"), _members("cheats", "off_the_clock"))
def test_a_cheating_solver_is_detected(solver, expected, words):
    (outcome,) = _try(solver, expected, on=("four_gaussians rbf C=1",))
    assert outcome.result == "failed"
    assert words in outcome.sentences[0]


@pytest.mark.exhaustive
@pytest.mark.parametrize(("solver", "expected", "words"), _members("processes"))
def test_a_solver_that_ends_or_holds_its_process_fails_only_that_property(solver, expected, words):
    limits = replace(SHORT, first=0.5) if words == "killed" else SHORT
    item = replace(BY_NAME[expected], problems=(ONE,))
    outcome = try_solver(solver, limits, [item]).outcomes[0]
    assert outcome.result == "failed"
    assert len(outcome.sentences) == 1
    assert words in outcome.sentences[0]
    assert ONE in outcome.sentences[0]
    child, end = ["sleep", f"4242.{os.getpid()}"], time.monotonic() + 10
    while child in [process.info["cmdline"] for process in psutil.process_iter(["cmdline"])]:
        assert time.monotonic() < end


@pytest.mark.exhaustive
def test_remaining_properties_are_skipped_after_2_hangs():
    limits = Limits(loading=60.0, first=0.2, each=0.2, hangs=2)
    chosen = [item for item in PROPERTIES if not item.basic][:4]
    report = try_solver(f"{ZOO / 'processes.py'}:HangsEverywhere", limits, chosen)
    assert [o.result for o in report.outcomes] == ["failed", "failed", "not run", "not run"]
    assert report.sentences[0].endswith(f"claims on {ONE}: killed after 0 s")
    assert (
        report.sentences[-1] == "2 were not tried, as the solver hung in claims, inputs unchanged"
    )
    assert not report.passed


def test_the_properties_are_explained():
    result = CliRunner().invoke(main, ["list", "properties"])
    assert result.exit_code == 0, result.output
    assert all(item.name in result.output for item in PROPERTIES)
    assert "All other properties depend on it." in " ".join(result.output.split())


def test_an_unsupported_family_is_one_fault_with_a_remedy():
    (claims,) = _try(f"{ZOO / 'student_smo.py'}:SoftMarginOnly", "claims", limits=Limits())
    assert set(claims.failures) == {"regression rbf C=1"}
    outcome = with_unsupported(claims, set(claims.attempted) - claims.failures.keys())
    (sentence,) = outcome.sentences
    assert outcome.result == "failed"
    assert sentence.startswith("It does not support regression. claims on regression rbf C=1: ")
    assert "State it in `refuses(self, form)`, as in `if (form.p != -1).any(): return " in sentence
    assert outcome.diagnoses == ()
    assert outcome.unsupported["regression rbf C=1"] == "it does not support regression"
    later = without_families(BY_NAME["sign"], outcome.families.keys())
    assert not any("regression" in problem for problem in later.problems)
    assert ONE in later.problems


def test_a_fault_on_the_simplest_problem_is_not_blamed_on_an_unsupported_family():
    failures = {ONE: "wrong", "regression rbf C=1": "wrong"}
    outcome = PropertyOutcome(
        "claims", "failed", (*failures, "sparse linear C=1"), failures=failures
    )
    assert with_unsupported(outcome, {"sparse linear C=1"}) == outcome


def test_a_problem_of_two_families_is_blamed_on_neither_if_both_are_supported():
    attempted = (
        "regression rbf C=1",
        f"{ONE}, no intercept",
        "regression linear C=1, no intercept",
    )
    outcome = PropertyOutcome("claims", "failed", attempted, failures={attempted[-1]: "wrong"})
    assert with_unsupported(outcome, set(attempted[:-1])) == outcome


def test_a_crash_names_the_line_of_the_solver_once():
    (outcome,) = _try(f"{ZOO / 'answers.py'}:ReadsTheEquality", "answers")
    (sentence,) = outcome.sentences
    lines = (ZOO / "answers.py").read_text().splitlines()
    number = next(i for i, line in enumerate(lines, start=1) if "form.a[0]" in line)
    line = lines[number - 1].strip()
    assert f"object is not subscriptable (answers.py:{number}): `{line}`" in sentence


@pytest.mark.exhaustive
@pytest.mark.parametrize(("name", "times"), [("answers", 0), ("claims", 1)])
def test_reference_solvers_are_compiled_before_the_clock_starts(name, times, monkeypatch):
    compiled = []
    monkeypatch.setattr(selftest, "compile_references", lambda: compiled.append(name))
    item = replace(BY_NAME[name], problems=(ONE,))
    assert try_solver("smo", SHORT, [item]).passed
    assert len(compiled) == times


SHOWN = right_solvers()
DEGENERATE = {
    "few samples": "one sample",
    "equal samples": "all equal",
    "empty features": "all zero",
}


@pytest.fixture(params=quick_cases(SHOWN, ["README-FixedStep"]))
def documented_solver(request, tmp_path):
    """Return a solver that the documentation shows as right, in a file of its own."""
    code, class_name = SHOWN[request.param]
    file = tmp_path / f"{class_name}.py"
    file.write_text(code, encoding="utf-8")
    return f"{file}:{class_name}"


@pytest.mark.usefixtures("tidy")
def test_every_documented_solver_handles_degenerate_data(documented_solver):
    outcomes = _try(
        documented_solver, "answers", "claims", "C per sample", at_most=1, limits=Limits()
    )
    for name, data in DEGENERATE.items():
        outcomes += _try(
            documented_solver, name, on=(f"{data}: linear", f"{data}: rbf"), limits=Limits()
        )
    assert [outcome.sentences for outcome in outcomes] == [()] * 6
    assert all(outcome.attempted for outcome in outcomes)


@pytest.mark.exhaustive
@pytest.mark.usefixtures("tidy")
def test_every_documented_solver_conforms(documented_solver):
    outcomes = _try(documented_solver, *BY_NAME, limits=Limits())
    assert [text for outcome in outcomes for text in outcome.sentences] == []


def test_the_solvers_of_the_documentation_are_collected():
    assert {"README-FixedStep", "CONTRIBUTING-FixedStep", "teach_a_class-StudentSMO"} < {*SHOWN}
    assert "verify_smo-Forgetful" not in SHOWN


def test_a_solver_that_refuses_everything_does_not_conform():
    report = Report("solver", tuple(_try(f"{ZOO / 'answers.py'}:RefusesAll", "answers")))
    assert not report.passed
    assert report.sentences == (
        "solved nothing: it refuses every problem (the stars are not right for this problem)",
    )


@pytest.mark.exhaustive
@pytest.mark.usefixtures("tidy")
@pytest.mark.parametrize("name", CORE)
def test_built_in_solvers_conform(name):
    names = [item.name for item in PROPERTIES if item.name not in SLOW]
    outcomes = _try(name, *names, limits=Limits())
    assert any(outcome.attempted for outcome in outcomes)
    assert [text for outcome in outcomes for text in outcome.sentences] == []


@pytest.mark.parametrize("count", [3, pytest.param(len(PROPERTIES), marks=pytest.mark.exhaustive)])
def test_the_command_passes_a_built_in_solver_and_prints_a_table(count):
    chosen = [item.name for item in PROPERTIES[:count]]
    options = [word for name in chosen for word in ("--property", name)]
    result = CliRunner().invoke(main, ["selftest", "smo", *options])
    assert result.exit_code == 0, result.output
    assert "smo conforms" in result.output
    for name in chosen:
        assert name in result.output


def test_the_command_fails_a_solver_with_a_sentence_and_stops_at_the_basics():
    result = CliRunner().invoke(main, ["selftest", f"{ZOO / 'answers.py'}:TooShort"])
    output = " ".join(result.output.split())
    assert result.exit_code == 1
    assert "✗ answers on two_gaussians linear C=1: x must have shape (60,), got (59,)" in output
    remaining = len(PROPERTIES) - 1
    failed, why = (
        f"1 of {remaining + 1} properties failed",
        "nothing can be judged without 'answers'",
    )
    assert f"does not conform: {failed}, and {remaining} were not tried, as {why}" in output
    assert output.count("✗") == output.count(why) == 1
    assert "not run" not in result.stdout


def test_an_unknown_property_is_refused_with_the_available_ones():
    result = CliRunner().invoke(main, ["selftest", "smo", "--property", "beauty"])
    assert result.exit_code == 2
    assert "unknown property beauty; there are answers" in result.output


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("no_such_solver", "unknown solver"),
        ("nowhere.py:Solver", "there is no file"),
        (f"{ZOO / 'answers.py'}:Nobody", "has _Faulty, NaN, Infinite"),
        (f"{ZOO / 'cheats.py'}", f"the class is missing; write {ZOO / 'cheats.py'}:_Cheat or "),
    ],
)
def test_a_solver_that_does_not_exist_is_bad_input(name, message):
    with pytest.raises(ValueError, match=message):
        check_name(name)
    result = CliRunner().invoke(main, ["selftest", name])
    assert result.exit_code == 2
    assert message in result.output
    assert "Traceback" not in result.output


@pytest.mark.parametrize(
    ("before", "words"),
    [
        ("raise ValueError('no luck')", "raised ValueError: no luck"),
        pytest.param("os._exit(3)", "ended with exit code 3", marks=pytest.mark.exhaustive),
    ],
)
def test_a_file_that_cannot_be_imported_is_loaded_only_once(strange, before, words):
    report = try_solver(strange(before=before), SHORT, PROPERTIES[:2])
    assert [o.result for o in report.outcomes] == ["failed", "not run"]
    assert words in report.sentences[0]
    assert "could not be loaded" in report.sentences[1]


def test_the_plan_uses_every_problem_and_each_property_once():
    planned = {problem for item in PROPERTIES for problem in item.problems}
    assert planned == set(PROBLEMS)
    assert len({item.name for item in PROPERTIES}) == len(PROPERTIES)


def test_problems_are_rebuilt_with_separate_arrays():
    for build in PROBLEMS.values():
        first, second = build(), build()
        assert first.hash == second.hash
        assert first.y is not second.y


def test_certified_intervals_that_theory_joins_must_meet():
    first = Certificate(primal_objective=2.0, dual_objective=1.0)
    assert disjoint(first, Certificate(primal_objective=4.5, dual_objective=3.5), 2.0) == ""
    assert "do not overlap" in disjoint(first, Certificate(5.0, 4.5), 2.0)


def test_a_report_passes_only_without_failures_and_omissions():
    passed = PropertyOutcome("claims", "passed", attempted=("x",))
    assert Report("s", (passed,)).passed
    assert not Report("s", (passed, PropertyOutcome("sign", "not run", reason="no time"))).passed


def test_the_work_clock_counts_cpu_time_and_a_fraction_of_wall_time():
    cpu, wall = [0.0], [0.0]
    clock = WorkClock(lambda: cpu[0], lambda: wall[0])
    counted = []
    for worked, passed in (
        (1.0, 1.0),
        (2.0, 1.0),
        (0.5, 1.0),
        (0.0, WAITS_PER_CPU_SECOND),
        (-1.0, 0.0),
        (1.0, 0.0),
    ):
        cpu[0] += worked
        wall[0] += passed
        counted.append(clock())
    assert counted == [1.0, 3.0, 3.5, 4.5, 4.5, 4.5]


def test_a_solver_that_gets_no_processor_is_within_its_limits():
    ends, limited = (BY_NAME[name].check for name in ("terminates", "time limit"))
    starved = Bench(load("smo"), Limits(solving=1e-9, grace=1e-9), clock=lambda: 0.0)
    assert [check(starved, PROBLEMS[ONE]()) for check in (ends, limited)] == ["", ""]
    ticking = Bench(load("projected_gradient"), Limits(grace=5.0), clock=count().__next__)
    assert "did not stop on its own within 5 s" in ends(ticking, PROBLEMS[ONE]())
