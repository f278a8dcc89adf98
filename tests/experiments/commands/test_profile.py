"""A profile of one run: its calls, among its artifacts, and nothing recorded."""

import importlib
from pathlib import Path

import pytest
from tests.experiments.functions import posing

from dualgap.experiments.operations.profile import profile_run  # noqa: F401 - loaded before it is patched
from dualgap.experiments.store.reading import RunFolder
from dualgap.solvers import base

SLOW = """
def costly(seconds):
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        sum(range(1000))

costly(0.3)
Path(os.environ["DUALGAP_ARTIFACTS"], "mine.txt").write_text("x")
yield FormPoint(x, claim="stopped")
"""


@pytest.fixture
def grid(strange, write):
    solver = strange(SLOW, before="from pathlib import Path")
    return write(posing(C=[1, 2], solvers=[solver, "smo"], repetitions=2, noise=True))


@pytest.fixture
def installed():
    pytest.importorskip("pyinstrument", reason="pyinstrument is not installed")


SELECTED = ("--solver", "strange.py:Strange", "--problem", "C=2")


@pytest.mark.usefixtures("installed", "in_process")
def test_the_calls_of_a_run_are_written_and_nothing_is_recorded(grid, command):
    result = command("run", grid, "--out", "x", *SELECTED, "--profile")
    file = Path(result.output.strip())
    assert file.is_relative_to(Path("x/artifacts").absolute())
    assert {path.name for path in file.parent.iterdir()} == {"profile.html", "mine.txt"}
    page = file.read_text(encoding="utf-8")
    assert "costly" in page
    assert "strange.py:Strange on" in page
    assert not Path("x/sessions").exists()


@pytest.mark.usefixtures("installed", "in_process")
def test_a_recorded_run_keeps_its_times_and_its_files_beside_the_profile(grid, command):
    command("run", grid, "--out", "x", *SELECTED)
    before = RunFolder("x").results
    command("run", "x", "--profile", *SELECTED, "--quiet")
    runs = RunFolder("x")
    assert runs.results.equals(before)
    (profile,) = Path("x").glob("artifacts/*/profile")
    assert profile.parent == runs.artifacts(profile.parent.name)
    assert (profile.parent / "mine.txt").is_file()
    command("run", grid, "--out", "x", *SELECTED, "--rerun", "solver:strange.py:Strange")
    assert not profile.exists()


@pytest.mark.usefixtures("installed", "in_process")
def test_a_profile_before_the_first_run_leaves_the_folder_free(grid, command):
    command("run", grid, "--out", "x", *SELECTED, "--profile")
    command("run", grid, "--out", "x", "--solver", "smo")
    assert RunFolder("x").missing == 0


@pytest.mark.usefixtures("installed", "in_process")
def test_several_runs_are_refused_with_the_options_that_select_one(grid, command):
    result = command("run", grid, "--out", "x", "--profile", code=2)
    assert "--profile takes one solver and one problem, but 2 and 2 are selected." in result.output
    assert not Path("x").exists()


@pytest.mark.usefixtures("installed")
@pytest.mark.usefixtures("short_grace")
def test_a_run_that_is_killed_has_no_profile(strange, write, command):
    solver = strange("while True: time.sleep(0.1)\nyield")
    result = command("run", write(posing(solvers=[solver], time_limit=0.1)), "--profile", code=2)
    assert "No profile was written. The run ended with time_limit: killed after" in result.output


@pytest.mark.usefixtures("in_process")
def test_a_missing_profiler_is_named(grid, command, monkeypatch):
    def missing(name):
        if name == "pyinstrument":
            raise ImportError(name)
        return importlib.import_module(name)

    class Importing:
        import_module = staticmethod(missing)

    monkeypatch.setattr(base, "importlib", Importing)
    result = command("run", grid, "--out", "x", *SELECTED, "--profile", code=2)
    assert "--profile needs pyinstrument: pip install pyinstrument" in result.output
