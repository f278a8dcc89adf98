"""Records that are published are read back as they were."""

import shutil

import pytest

from experiments import load_results
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
