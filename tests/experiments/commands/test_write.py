"""What `dualgap init` and `table` write is right and describes itself."""

import json

import jsonschema
import pytest
from tests.experiments.rows import run, stored

from dualgap.experiments import load_results
from dualgap.experiments.files.experiment import read_experiment
from dualgap.experiments.files.template import SCHEMA_FILE
from dualgap.experiments.files.yaml import parse
from dualgap.experiments.tables.chosen import VALUES


@pytest.mark.usefixtures("in_process")
def test_the_file_that_init_writes_runs(command, tmp_path):
    command("init", "study.yaml")
    path = tmp_path / "study.yaml"
    description = read_experiment(path)
    assert description.name == "study"
    assert len(description.problems) == 4
    shorter = path.read_text().replace("[0.01, 0.1]", "0.01").replace("[1, 10]", "1")
    path.write_text(shorter.replace("repetitions: 3", "repetitions: 1"))
    command("run", path, "--out", "runs/x")
    assert set(load_results("runs/x")["verdict"]) == {"solved"}


def test_init_does_not_overwrite(command, tmp_path):
    (tmp_path / "experiment.yaml").write_text("mine")
    assert "experiment.yaml already exists" in command("init", code=2).output
    assert (tmp_path / "experiment.yaml").read_text() == "mine"


@pytest.mark.exhaustive
def test_init_writes_a_schema_and_refers_editors_to_it(command, tmp_path):
    command("init", "a.yaml", "--schema")
    text = (tmp_path / "a.yaml").read_text()
    assert text.splitlines()[0] == f"# yaml-language-server: $schema={SCHEMA_FILE}"
    schema = json.loads((tmp_path / SCHEMA_FILE).read_text())
    jsonschema.validate(parse(text.encode()).value, schema)


@pytest.fixture
def repeated(tmp_path):
    """Return a folder of two solvers' runs, three of each."""
    rows = [
        run(solver=solver, repetition=i, time_solve=time + i, objective=-10.0)
        for solver, time in (("smo", 1.0), ("sgd", 30.0))
        for i in range(3)
    ]
    return stored(tmp_path / "repeated", rows)


def test_table_prints_or_writes_each_format(command, repeated, tmp_path):
    assert "| problem" in command("table", repeated).stdout
    for kind, first_words in (("latex", "% needs"), ("csv", "problem,smo,sgd")):
        out = tmp_path / kind
        command("table", repeated, "--format", kind, "--out", out)
        assert out.read_text().startswith(first_words)
    command("table", repeated, "--values", ",".join(f"{name}:2" for name in VALUES))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--columns", "nosuch"],
            "no solver matches 'nosuch'; available, closest first: 'smo', 'sgd'",
        ),
        (["--values", "speed"], "values must be among time, ratio"),
        (["--values", "time:x"], "digits in 'time:x'"),
        (["--values", "margin", "--target", "1e-3"], "must be among time, ratio, gap, memory"),
    ],
)
def test_a_table_without_matching_values_is_refused(command, repeated, arguments, message):
    refused = command("table", repeated, *arguments, code=2)
    assert message in refused.output


@pytest.mark.parametrize("name", ["2026-11-26", "2024", "1e5", "true"])
def test_a_name_that_yaml_would_parse_as_another_type_stays_text(command, tmp_path, name):
    command("init", f"{name}.yaml")
    assert read_experiment(tmp_path / f"{name}.yaml").name == name
