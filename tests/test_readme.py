"""The README's examples run as printed; it is short, and names every room."""

import re
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.experiments.functions import in_this_process
from tests.shown import GUIDES_SOLVER, README, ROOT, in_readme, in_tutorial

from dualgap.experiments import load_results
from dualgap.experiments.cli import main
from dualgap.problems import SoftMarginDual, datasets
from dualgap.solvers import find_solver, solve


def test_the_readme_is_short():
    assert len(README.splitlines()) <= 200


def test_the_quickstart_ends_with_the_way_to_call_dualgap():
    dry = ["make", "-C", ROOT, "-n", "quickstart"]
    completed = subprocess.run(dry, capture_output=True, text=True, check=True)
    *_, last = (line for line in completed.stdout.splitlines() if "echo" in line)
    for call in (".venv/bin/dualgap", "source .venv/bin/activate"):
        assert call in last
        assert call in README.partition("## In Python")[0]


def test_tables_of_published_numbers_fit_the_page():
    for table in re.findall(r"<!-- \S+ table.*?-->(.*?)<!-- end", README, flags=re.DOTALL):
        heads, _, *rows = (line for line in table.splitlines() if line.startswith("|"))
        assert 5 <= len(rows) <= 12
        assert heads.count("|") - 1 <= 5


def test_links_of_the_readme_exist():
    for target in re.findall(r"\]\(([^)#]+)\)", README):
        assert target.startswith("https://") or (ROOT / target).exists(), target


def test_the_example_runs():
    names: dict = {}
    exec(in_readme("python"), names)
    assert names["solution"].verdict == "solved"
    assert abs(names["solution"].objective - names["reference"].objective) < 1e-4
    assert names["path"].at(3.21).certificate.relative_gap <= 1e-3


def test_the_experiment_of_the_readme_is_valid(tmp_path: Path):
    file = tmp_path / "smo-vs-qp.yaml"
    file.write_text(in_readme("experiment"))
    completed = CliRunner().invoke(main, ["run", str(file), "--dry-run"])
    assert completed.exit_code == 0, completed.output


@pytest.mark.parametrize("code", [in_readme("solver"), GUIDES_SOLVER], ids=["README", "guide"])
def test_the_solver_in_one_file_is_a_solver(code: str, tmp_path: Path):
    file = tmp_path / "fixed_step.py"
    file.write_text(code)
    solver = find_solver(f"{file}:FixedStep")(steps=5000)
    data = datasets.load("two_moons", n=40, noise=0.1)
    answer = solve(SoftMarginDual(data.X, data.y, 1.0), solver, target_gap=1e-4)
    assert answer.claimed == "stopped"
    assert answer.verdict == "solved"


@pytest.mark.exhaustive
def test_the_formulation_of_the_tutorial_is_certified_verified_and_drawn(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for file in ("quantile_svr.py", "quantiles.yaml"):
        Path(file).write_text(in_tutorial("add_a_problem", file))
    for command in ("verify quantiles.yaml --out runs", "plot runs"):
        with in_this_process():
            result = CliRunner().invoke(main, command.split())
        assert result.exit_code == 0, result.output
    results = load_results("runs")
    assert len(results) == 9
    assert (results["verdict"] == "solved").all()
    assert list(Path("runs").rglob("*.png"))


def test_the_architecture_section_names_every_package():
    part = README.partition("## Architecture")[2].partition("```\n\n")[0]
    rooms = {
        file.parent.name
        for package in ("problems", "experiments")  # an algorithm is no room of solvers
        for file in (ROOT / package).glob("*/__init__.py")
    }
    assert {name for name in rooms if f"{name}/" not in part} == set()
