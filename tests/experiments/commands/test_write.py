"""`dualgap init` and `dualgap schema`: what they write is right and describes itself."""

import json

import jsonschema
import pytest

from experiments import load_results
from experiments.files.experiment import read_experiment
from experiments.files.template import SCHEMA_FILE
from experiments.files.yamlfile import parse


@pytest.mark.usefixtures("in_process")
def test_the_file_that_init_writes_runs(command, tmp_path):
    assert command("init", "study.yaml").exit_code == 0
    path = tmp_path / "study.yaml"
    described = read_experiment(path)
    assert described.name == "study"
    assert len(described.problems) == 4
    shorter = path.read_text().replace("[0.01, 0.1]", "0.01").replace("[1, 10]", "1")
    path.write_text(shorter.replace("repetitions: 3", "repetitions: 1"))
    assert command("run", path, "--out", "runs/x").exit_code == 0
    assert set(load_results("runs/x")["verdict"]) == {"solved"}


def test_init_does_not_overwrite(command, tmp_path):
    (tmp_path / "experiment.yaml").write_text("mine")
    refused = command("init")
    assert refused.exit_code == 2
    assert "experiment.yaml: exists already" in refused.output
    assert (tmp_path / "experiment.yaml").read_text() == "mine"


def test_init_tells_editors_of_the_schema_that_it_wrote(command, tmp_path):
    assert command("init", "a.yaml", "--schema").exit_code == 0
    text = (tmp_path / "a.yaml").read_text()
    assert text.splitlines()[0] == f"# yaml-language-server: $schema={SCHEMA_FILE}"
    schema = json.loads((tmp_path / SCHEMA_FILE).read_text())
    jsonschema.validate(parse(text.encode()).plain, schema)
    assert json.loads(command("schema").stdout) == schema
