"""The README's code runs as printed."""

import re
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner

from experiments import load_results
from experiments.cli import main
from problems import SoftMarginDual, datasets
from solvers import find_solver, solve
from tests.experiments.functions import in_this_process

README = Path(__file__).parent.parent / "README.md"
BLOCKS = re.findall(r"```python\n(.*?)```", README.read_text(), flags=re.DOTALL)
EXPERIMENTS = re.findall(r"```yaml\n(.*?)```", README.read_text(), flags=re.DOTALL)


def test_the_quickstart_ends_with_how_to_call_the_command():
    dry = ["make", "-C", README.parent, "-n", "quickstart"]
    done = subprocess.run(dry, capture_output=True, text=True, check=True)
    *_, last = (line for line in done.stdout.splitlines() if "echo" in line)
    for call in (".venv/bin/dualgap", "source .venv/bin/activate"):
        assert call in last
        assert call in README.read_text().partition("## ")[0]


def test_tables_of_published_numbers_fit_the_page():
    tables = re.findall(r"<!-- \S+ table.*?-->(.*?)<!-- end", README.read_text(), flags=re.DOTALL)
    for table in tables:
        heads, _, *rows = (line for line in table.splitlines() if line.startswith("|"))
        assert len(rows) <= 6
        assert heads.count("|") - 1 <= 5


def test_the_example_runs():
    names: dict = {}
    exec(BLOCKS[0], names)
    assert names["solution"].verdict == "solved"
    assert abs(names["solution"].objective - names["reference"].objective) < 1e-4


def test_the_estimator_keeps_its_certificate():
    names: dict = {"data": datasets.load("breast_cancer", standardize=True)}
    exec(BLOCKS[1], names)
    assert names["model"].certificate_.relative_gap <= 1e-3


def test_the_solver_in_one_file_is_a_solver(tmp_path: Path):
    file = tmp_path / "fixed_step.py"
    file.write_text(BLOCKS[2])
    solver = find_solver(f"{file}:FixedStep")(steps=5000)
    data = datasets.load("two_moons", n=40, noise=0.1)
    answer = solve(SoftMarginDual(data.X, data.y, 1.0), solver, target_gap=1e-4)
    assert answer.claimed == "stopped"
    assert answer.verdict == "solved"


def test_the_formulation_in_one_file_is_certified_verified_and_drawn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    Path("quantile_svr.py").write_text(BLOCKS[3])
    Path("quantiles.yaml").write_text(EXPERIMENTS[1])
    for command in ("verify quantiles.yaml --out runs", "plot runs"):
        with in_this_process():
            result = CliRunner().invoke(main, command.split())
        assert result.exit_code == 0, result.output
    results = load_results("runs")
    assert len(results) == 9
    assert (results["verdict"] == "solved").all()
    assert list(Path("runs").rglob("*.png"))


def test_the_architecture_names_every_room():
    part = README.read_text().partition("## Architecture")[2].partition("```\n\n")[0]
    folders = {
        file.parent.name
        for package in ("problems", "experiments")  # an algorithm is no room of solvers
        for file in README.with_name(package).rglob("__init__.py")
    }
    assert {name for name in folders if f"{name}/" not in part} == {"dualgap"}  # in facade/


@pytest.mark.parametrize("kind", list(main.commands))
def test_every_command_is_in_the_readme(kind: str):
    assert f"`dualgap {kind}" in README.read_text()
