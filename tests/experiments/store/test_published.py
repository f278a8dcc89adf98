"""Records that are published are read back as they were."""

import json
import shutil
from functools import partial
from pathlib import Path

import pandas as pd
import pytest
from tests.experiments.functions import posing

from dualgap.experiments import load_results
from dualgap.experiments.records.columns import COLUMNS, FILES, RESULTS
from dualgap.experiments.report.published.documents import ROOT, folders_in
from dualgap.experiments.store.manifest import SCHEMA, StoreError, read_manifest
from dualgap.experiments.store.plan import ResumePolicy
from dualgap.experiments.store.reading import RunFolder
from dualgap.experiments.store.session import Session

OLD_PLAN = {
    "name": "old",
    "kind": "",
    "time_limit": None,
    "run_ids": [],
    "problems": {},
    "solvers": {},
    "code": {},
    "host": "h",
    "platform": "",
    "date": "",
    "machine": {"processor": "", "cores": 1, "memory": 1},
}


@pytest.fixture
def run(command, write, in_process, tmp_path):
    """Return the folder of a run of two solvers, one of which does not support the problem."""
    file = write(posing(C=[1, 2], solvers=["smo", "pegasos"], repetitions=2))
    command("run", file, "--out", "run")
    return tmp_path / "run"


def test_published_records_are_those_of_the_run(run, tmp_path):
    published = tmp_path / "published"
    published.mkdir()
    for name in ("runs.csv", "manifest.json", "experiment.yaml"):
        shutil.copy(run / name, published)
    assert RunFolder(published).missing == 0
    again, before = load_results(published), load_results(run)
    assert list(again) == list(before)
    numbers = before.select_dtypes("float").columns
    exact = [c.name for c in RESULTS if c.name in numbers and c.kind != "measure"]
    assert again[exact].equals(before[exact])
    pd.testing.assert_frame_equal(again[numbers], before[numbers], rtol=1e-11, atol=0.0)
    texts = before.columns.difference(numbers)
    assert again[texts].fillna("").equals(before[texts].fillna(""))


def test_a_column_that_is_newer_than_a_published_folder_is_empty(tmp_path):
    spec = {"formulation": "x", "dataset": {"name": "y"}, "parameters": {"C": 1.0}, "path": {}}
    manifest = OLD_PLAN | {
        "schema": SCHEMA,
        "problems": {"p": spec},
        "versions": {"python": "3.12"},
    }
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    (tmp_path / "experiment.yaml").write_text("name: old")
    runs = {
        "run_id": ["a", "b"],
        "problem_id": ["p", "q"],
        "time_solve": [0.5, 1],
        "versions": ["", "{}"],
    }
    pd.DataFrame(runs).to_csv(tmp_path / "runs.csv", index=False)
    table = load_results(tmp_path)
    assert list(table) == COLUMNS
    assert table["time_solve"].tolist() == [0.5, 1.0]
    assert table["margin"].isna().all()
    assert table["versions"].tolist() == ['{"python": "3.12"}', "{}"]  # one run had others
    assert table["problem"].fillna("").tolist() == [json.dumps(spec), ""]
    pd.DataFrame({"no": ["runs"]}).to_csv(tmp_path / "runs.csv", index=False)
    with pytest.raises(StoreError, match="has no column run_id"):
        load_results(tmp_path)


def test_published_tables_have_declared_columns_and_the_labels_of_their_manifests():
    for folder in folders_in(ROOT / "results"):
        for file in filter(Path.is_file, map(folder.joinpath, FILES)):
            declared = {column.name for column in FILES[file.name]}
            assert {*pd.read_csv(file, nrows=0)} <= declared, file
        labels = pd.read_csv(folder / "runs.csv", usecols=["label", "series"]).drop_duplicates()
        solvers = read_manifest(folder)["solvers"]
        assert {*labels.itertuples(index=False, name=None)} == {
            (label, solver["series"]) for label, solver in solvers.items()
        }, folder


def test_a_folder_of_an_older_schema_is_not_modified_and_names_its_version(tmp_path):
    manifest = {"schema": 2, "experiment": "name: old", "versions": {"dualgap": "0.0.9"}}
    (tmp_path / "manifest.json").write_text(json.dumps(manifest | {"code": {"solvers": "1a2b"}}))
    (tmp_path / "runs.jsonl").write_text("kept")
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    message = r"schema 2, .* dualgap 0.0.9 \(code of solvers 1a2b\): nothing in it was changed"
    opened = partial(
        Session.begin, text="name: old", run_ids=[], resume=True, policy=ResumePolicy(force=True)
    )
    for use in (load_results, opened):
        with pytest.raises(StoreError, match=message):
            use(tmp_path)
    (tmp_path / "manifest.json").write_text(json.dumps(manifest | OLD_PLAN | {"schema": SCHEMA}))
    before["manifest.json"] = (tmp_path / "manifest.json").read_bytes()
    for use in (load_results, opened):
        with pytest.raises(StoreError, match=r"results of an earlier layout, .* dualgap 0\.0\.9"):
            use(tmp_path)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_integers_are_written_without_a_point_and_columns_are_described(run):
    table = pd.read_csv(run / "runs.csv", dtype=str)
    assert set(table["n"]) == {"24"}
    assert set(table["repetition"]) == {"0", "1"}
    assert not {"versions", "problem"} & set(table)
    results = load_results(run)
    assert results["n"].dtype == float
    assert results["aa_repeat"].dtype == bool
    assert {json.loads(text)["formulation"] for text in results["problem"]} == {"soft_margin_dual"}
    package = json.loads((run / "datapackage.json").read_text())
    (runs,) = package["resources"]
    fields = {field["name"]: field["type"] for field in runs["schema"]["fields"]}
    assert list(fields) == list(table)
    assert (fields["n"], fields["gap"], fields["params"]) == ("integer", "number", "object")


def test_a_published_folder_is_not_resumed_or_modified(command, run, tmp_path):
    published = tmp_path / "published"
    published.mkdir()
    for name in ("runs.csv", "manifest.json", "experiment.yaml"):
        shutil.copy(run / name, published)
    before = {path.name: path.read_bytes() for path in published.iterdir()}
    assert "is published" in command("run", published, "--resume", code=2).output
    assert {path.name: path.read_bytes() for path in published.iterdir()} == before
    assert len(load_results(published)) == 8
