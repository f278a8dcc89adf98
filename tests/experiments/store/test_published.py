"""Records that are published are read back as they were."""

import json
import shutil

import pandas as pd
import pytest

from experiments import load_results
from experiments.cases.columns import COLUMNS
from experiments.store.manifest import StoreError
from experiments.store.published import read_records

PAIRS = """
name: pairs
problems:
  - {formulation: soft_margin_dual, dataset: {name: four_gaussians, n: 24}, C: [1, 2]}
solvers: [smo, pegasos]
repetitions: 2
"""


@pytest.mark.usefixtures("in_process")
def test_published_records_are_those_of_the_run(command, write, tmp_path):
    run, published = tmp_path / "run", tmp_path / "published"
    assert command("run", write(PAIRS), "--out", run).exit_code == 0
    published.mkdir()
    for name in ("runs.csv", "manifest.json"):
        shutil.copy(run / name, published)
    again, before = read_records(published), load_results(run)
    assert list(again) == list(before)
    numbers = before.select_dtypes("float").columns
    assert again[numbers].equals(before[numbers])
    texts = before.columns.difference(numbers)
    assert again[texts].fillna("").equals(before[texts].fillna(""))


def test_a_column_that_is_newer_than_a_published_folder_is_empty(tmp_path):
    (tmp_path / "manifest.json").write_text(json.dumps({"experiment": "name: old"}))
    pd.DataFrame({"run_id": ["a"], "time_solve": [0.5]}).to_csv(tmp_path / "runs.csv", index=False)
    table = read_records(tmp_path)
    assert list(table) == COLUMNS
    assert table["time_solve"].tolist() == [0.5]
    assert table["margin"].isna().all()
    pd.DataFrame({"no": ["runs"]}).to_csv(tmp_path / "runs.csv", index=False)
    with pytest.raises(StoreError, match="has no column run_id"):
        read_records(tmp_path)
