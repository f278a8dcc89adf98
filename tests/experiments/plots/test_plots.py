"""All figures of a folder: from the folder alone, the same twice, none over another."""

import json

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
from PIL import Image
from tests.experiments.plots.conftest import drawn, row_of, runs_of, tables
from tests.experiments.rows import crashed, problem_spec, recorded, run

from dualgap.experiments.cases.records import Outcome
from dualgap.experiments.plots import plot_all, plot_runs
from dualgap.solvers import SMO, solve

NAN = float("nan")


@pytest.mark.exhaustive
def test_figures_never_overwrite_each_other(tmp_path):
    rows = [run(f"{id}(n={n})", n=n) for id in ("a/b", "A b") for n in (1, 2)]
    written = plot_runs(runs_of(rows), tmp_path)
    assert len({str(path).lower() for path in written}) == len(written)
    assert all(path.parent == tmp_path and path.stat().st_size for path in written)


@pytest.fixture
def folder(tmp_path, moons):
    """Return a folder of results as the runner leaves it: answers, failures and odd names."""
    evaluations = []
    solution = solve(moons, SMO(tol=1e-8), callback=evaluations.append)
    trace = [(f.time, f.iteration, f.certificate) for f in evaluations]
    first = solve(moons, SMO(), max_iter=1).certificate
    trace_rows = [
        {"run_id": "r0", "time": t, "iteration": i, "kkt_violation": 0.0, "n_support": 9}
        | {name: getattr(c, name) for name in ("primal_objective", "dual_objective", "gap")}
        for t, i, c in [(1e-6, 0, first), *trace]
    ]
    kernel = {"name": "rbf", "gamma": 1.0}
    spec = problem_spec("two_moons", params={"C": 2.0, "kernel": kernel})
    model = {"X": moons.X, "y": moons.y, "alpha": solution.alpha, "w": np.full(2, NAN)}
    model |= {"b": solution.b, "offsets": np.zeros(1), "problem": json.dumps([spec, ""])}
    rows = [
        row_of(solution, problem="moons(n=40) C=2"),
        crashed("moons(n=40) C=2", "qp"),
        crashed("../odd/$name", "qp", status="out_of_memory"),
        run("../odd/$name", "smo", relative_gap=0.0, status="time_limit"),
    ]
    plain = [
        {k: None if isinstance(v, float) and np.isnan(v) else v for k, v in row.items()}
        | {"run_id": f"r{i}"}
        for i, row in enumerate(rows)
    ]
    outcomes = [Outcome(plain[0], trace_rows, model), *map(Outcome, plain[1:])]
    return recorded(tmp_path / "results", outcomes, "name: test")


def settings_now():
    """Return matplotlib's settings; the backend's is only found when it is read."""
    return {name: mpl.rcParams[name] for name in mpl.rcParams if name != "backend"}


@pytest.mark.exhaustive
def test_figures_are_reproducible_from_the_folder_alone(folder, tmp_path):
    before, seed = settings_now(), np.random.get_state()[1].copy()  # noqa: NPY002
    written = plot_all(folder)
    again = {path: path.read_bytes() for path in written}
    assert plot_all(folder) == written
    assert all(path.read_bytes() == again[path] for path in written)
    assert settings_now() == before
    assert (np.random.get_state()[1] == seed).all()  # noqa: NPY002
    assert not plt.get_fignums()
    assert [path.relative_to(folder / "figures").as_posix() for path in written] == [
        "decision_regions-moons-n=40-C=2.png",
        *("gap_against_time.svg", "gap_against_time.png", "overview.svg", "overview.png"),
        "training-moons-n=40-C=2-smo.png",
    ]
    (region,) = (path for path in written if path.name.startswith("decision"))
    assert Image.open(region).getcolors(64)
    assert b"<text" in again[folder / "figures" / "overview.svg"]  # text stays text
    assert b"<dc:date>" not in again[folder / "figures" / "overview.svg"]
    pdfs = plot_all(folder, out=tmp_path / "pdf", formats=["pdf"])
    assert {path.stem for path in pdfs} == {path.stem for path in written}


def test_a_folder_in_which_everything_crashed_is_drawn(tmp_path):
    runs = runs_of([crashed("a"), crashed("b", status="unsupported")])
    names = [path.name for path in plot_runs(runs, tmp_path)]
    assert names[::2] == ["gap_against_time.svg", "overview.svg"]


def test_a_figure_is_written_in_each_format_and_the_same_twice(folder, tmp_path):
    formats = ["pdf", "svg", "png"]
    first, second = (
        {path.name: path.read_bytes() for path in plot_all(folder, ["overview"], out, formats)}
        for out in (tmp_path / "one", tmp_path / "two")
    )
    assert list(first) == [f"overview.{name}" for name in formats]
    assert first["overview.pdf"].startswith(b"%PDF")
    assert first == second
    with pytest.raises(ValueError, match="format: must be one of svg, png, pdf, pgf, got 'gif'"):
        plot_all(folder, formats=["gif"])


def test_no_runs_no_figures(tmp_path):
    empty, traces = tables([run()])
    assert plot_runs(drawn(empty.iloc[:0], traces), tmp_path) == []
