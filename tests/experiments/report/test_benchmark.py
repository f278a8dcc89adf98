"""A benchmark that is run, and published."""

import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.experiments.functions import in_this_process, posing

from dualgap.experiments.analysis.labels import kind_of
from dualgap.experiments.cli import main
from dualgap.experiments.report.published.documents import benchmark_in
from dualgap.experiments.report.published.publish import publish
from dualgap.experiments.store.reading import load_results

FLOOR = Path(__file__).parents[3] / "experiments" / "floor.py"
EXPERIMENT = posing(
    "bench_tiny",
    dataset="{name: iris, positive: versicolor, standardize: true}",
    kernel="{name: rbf, gamma: 0.5}",
    solvers="[{name: 'floor.py:KernelFloor', values: 1e5}, {name: smo, tol: [1e-3, 1e-8]}, "
    "{name: libsvm, tol: 1e-3}]",
    **{"kind": "benchmark", "trace": False, "noise": True, "repetitions": 3},
)


@pytest.fixture(scope="module")
def tiny(tmp_path_factory, describer):
    """Return the folder of a finished run of a tiny benchmark."""
    folder = tmp_path_factory.mktemp("bench")
    shutil.copy(FLOOR, folder)
    path = folder / "bench_tiny.yaml"
    path.write_text(EXPERIMENT)
    with in_this_process(describer=describer):
        result = CliRunner().invoke(main, ["run", str(path), "--out", str(folder / "run")])
    assert result.exit_code == 0, result.output
    return folder / "run"


@pytest.mark.exhaustive
def test_a_benchmark_with_a_reference_time_is_published_reproducibly(tiny, tmp_path, readme):
    (target,) = publish(tiny, tmp_path)
    assert target == tmp_path / "results" / "bench_tiny"
    before = {path.name: path.read_bytes() for path in target.iterdir()}
    assert list(publish(None, tmp_path)) == [target]
    assert {path.name: path.read_bytes() for path in target.iterdir()} == before
    records = {"datapackage.json", "experiment.yaml", "manifest.json", "runs.csv"}
    assert set(before) == {"benchmark.md", "speedup.svg"} | records
    text = (target / "benchmark.md").read_text()
    assert "Noise (A/A): two runs of the same configuration" in text
    assert "× the dense reference" in text
    assert "KernelFloor" not in text
    table = benchmark_in(target).compared
    assert set(table["solver"]) == {"smo", "libsvm"}
    assert {"ratio", "low", "high", "within_noise"} < set(table.columns)
    assert (table["outcome"] == "reached").any()


def test_the_row_of_the_time_floor_is_not_an_answer(tiny):
    results = load_results(tiny)
    floor = results[results["solver"].map(kind_of) == "dense_reference"]
    assert (floor["n_kernel_evals"] >= 1e5).all()
    assert floor[["relative_gap", "n_support", "objective"]].isna().all(axis=None)
    assert (floor["verdict"] == "uncertified").all()
