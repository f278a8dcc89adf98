"""What packages and citations say is what the project says."""

import json
import re
import tomllib
from pathlib import Path

import pytest
from ruamel.yaml import YAML

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
RECIPE = ROOT / ".packaging" / "conda" / "recipe.yaml"
CONTAINER = ROOT / ".packaging" / "Containerfile"


def read_yaml(path):
    return YAML(typ="safe").load(path.read_text())


def test_the_version_is_the_same_everywhere():
    citation, recipe = read_yaml(ROOT / "CITATION.cff"), read_yaml(RECIPE)
    zenodo = json.loads((ROOT / ".zenodo.json").read_text())
    versions = {citation["version"], recipe["context"]["version"], zenodo["version"]}
    assert versions == {PROJECT["version"]}
    assert citation["title"] == zenodo["title"]
    assert citation["keywords"] == zenodo["keywords"]
    assert {citation["license"], zenodo["license"]} == {PROJECT["license"]}


def test_the_conda_package_has_the_requirements_of_the_wheel():
    requirements = set(read_yaml(RECIPE)["requirements"]["run"])
    wheel = [f"python{PROJECT['requires-python']}", *PROJECT["dependencies"]]
    conda = {"matplotlib": "matplotlib-base"}
    parts = [re.fullmatch(r"([\w.-]+)(>=.*)", requirement).groups() for requirement in wheel]
    assert requirements == {f"{conda.get(name, name)} {version}" for name, version in parts}


def test_the_container_copies_existing_files():
    copied = re.findall(r"^COPY (.*) /source\S*$", CONTAINER.read_text(), re.MULTILINE)
    files = [name for line in copied for name in line.split()]
    assert {"problems", "solvers", "experiments", "requirements.lock"} <= set(files)
    assert [name for name in files if not (ROOT / name).exists()] == []


@pytest.mark.parametrize("path", sorted((ROOT / ".github").rglob("*.yml")), ids=lambda p: p.name)
def test_files_named_by_workflows_and_forms_exist(path):
    content = read_yaml(path)
    for job in content.get("jobs", {}).values():
        commands = [step.get("run", "") for step in job["steps"]]
        for file in re.findall(r"\.ci/\w+|requirements\.lock", "\n".join(commands)):
            assert (ROOT / file).is_file()
    for field in content.get("body", ()):
        assert field["type"] in ("markdown", "textarea", "dropdown")
        assert field["type"] == "markdown" or field["attributes"]["label"]
