"""Benchmarks: the arithmetic of their summaries, the floor, and a tiny one from end to end."""

import json
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from experiments.analysis.cheapest import arithmetic_bounds, cheapest, targets_of
from experiments.analysis.configurations import configurations
from experiments.analysis.growth import growth
from experiments.analysis.labels import common_words, distinct_names, kind_of
from experiments.benchmark.report import to_markdown
from experiments.benchmark.speedup import speedup
from experiments.benchmark.tables import intercepts, means, passes
from experiments.cases.records import COLUMNS
from experiments.cli import main
from experiments.floor import KernelFloor
from experiments.output.text import machine_text
from experiments.plots.style import style
from experiments.publishing.documents import benchmarks_table
from experiments.publishing.publish import publish
from experiments.store.folder import load_results
from problems import RBF, Linear, SoftMarginDual, SVRDual, datasets, reduce
from problems.forms import BoxQP
from solvers import solve

NAN = float("nan")
FLOOR = Path(__file__).parents[3] / "experiments" / "floor.py"


def run(solver="smo", tol=1e-3, time=1.0, gap=1e-4, problem="p", repetition=0, **changes):
    """Return a row of results; `changes` replace columns."""
    row = dict.fromkeys(COLUMNS, NAN) | {
        "problem_id": problem,
        "formulation": "soft_margin_dual",
        "solver": solver,
        "params": json.dumps({"tol": tol}),
        "repetition": repetition,
        "target_gap": 1e-9,
        "status": "finished",
        "claimed": "optimal",
        "bound_source": "alpha",
        "primal_objective": 2.0,
        "suboptimality": 0.0,
        "relative_gap": gap,
        "time_solve": time,
        "n": 100.0,
        "d": 5.0,
        "n_support": 40.0,
        "threads": 2.0,
    }
    return row | changes


def table_of(*rows):
    return pd.DataFrame(rows)


def cell(table, target, solver, problem="p"):
    """Return the row of a target, a solver and a problem."""
    of = (table["target"] == target) & (table["solver"] == solver) & (table["problem"] == problem)
    (row,) = table[of].to_dict("records")
    return row


def test_the_cheapest_configuration_within_the_target_stands_for_a_solver():
    table = cheapest(
        table_of(
            run(tol=1e-2, time=1.0, gap=5e-3),
            run(tol=1e-3, time=2.0, gap=5e-4),
            run(tol=1e-6, time=4.0, gap=5e-7),
            run("libsvm", tol=1e-1, time=9.0, gap=9e-4),
            run("libsvm", tol=1e-6, time=8.0, gap=8e-4),
        )
    )
    ours, peer = cell(table, 1e-3, "smo"), cell(table, 1e-3, "libsvm")
    assert (ours["time"], ours["setting"], ours["ratio"]) == (2.0, "tol 1e-03", 1.0)
    assert (peer["time"], peer["setting"], peer["ratio"]) == (8.0, "tol 1e-06", 4.0)
    assert cell(table, 1e-6, "smo")["time"] == 4.0


def test_a_solver_that_missed_the_target_is_shown_with_its_best_gap():
    table = cheapest(
        table_of(
            run(tol=1e-6, gap=5e-7),
            run("libsvm", tol=1e-3, gap=2e-5),
            run("libsvm", tol=1e-6, gap=1.9e-5),
            run("one_dal", tol=1e-3, gap=2e-3),
            run("one_dal", tol=1e-5, gap=2e-5),
            run("liblinear", gap=NAN, time=NAN, status="time_limit"),
        )
    )
    stalled, short = cell(table, 1e-6, "libsvm"), cell(table, 1e-6, "one_dal")
    assert (stalled["outcome"], stalled["gap"]) == ("stalled", 1.9e-5)
    assert (short["outcome"], short["gap"]) == ("short", 2e-5)
    assert cell(table, 1e-3, "liblinear")["outcome"] == "time_limit"
    assert np.isnan([stalled["time"], stalled["ratio"], short["time"]]).all()


def test_times_are_medians_and_gaps_the_worst_of_the_repetitions():
    rows = [
        run(time=t, gap=g, repetition=i) for i, (t, g) in enumerate([(1, 1e-5), (9, 2e-3), (2, 0)])
    ]
    (row,) = configurations(table_of(*rows)).to_dict("records")
    assert (row["time"], row["gap"], row["runs"]) == (2.0, 2e-3, 3)


def test_a_repetition_without_an_answer_spoils_its_configuration():
    table = cheapest(table_of(run(), run(repetition=1, gap=NAN, time=NAN, status="crashed")))
    assert cell(table, 1e-3, "smo")["outcome"] == "crashed"


def test_a_solver_without_a_dual_point_is_measured_against_the_best_bound():
    own = {"bound_source": "recovered from w", "gap": 0.5, "suboptimality": 2e-4}
    table = cheapest(table_of(run(), run("liblinear", **own)))
    assert cell(table, 1e-3, "liblinear")["gap"] == pytest.approx(1e-4)


def test_the_fastest_of_ours_is_what_ratios_are_taken_to():
    table = cheapest(
        table_of(run(time=2.0), run("platt_smo", time=1.0), run("libsvm", time=3.0)), [1e-3]
    )
    ratios = table.set_index("solver")["ratio"].to_dict()
    assert ratios == {"smo": 2.0, "platt_smo": 1.0, "libsvm": 3.0}


def test_a_solver_may_take_whichever_face_of_a_problem_is_cheaper():
    same = {"family_hash": "f"}
    dual, primal = ({"formulation": f"soft_margin_{face}", **same} for face in ("dual", "primal"))
    rows = [
        run(problem="a dual", time=3.0, **dual),
        run("libsvm", problem="a dual", time=9.0, **dual),
        run("libsvm", problem="a primal", time=6.0, **primal),
    ]
    table = cheapest(table_of(*rows), [1e-3])
    peer = cell(table, 1e-3, "libsvm", "a dual")
    assert (peer["time"], peer["ratio"]) == (6.0, 2.0)
    assert peer["setting"].endswith(", soft_margin_primal")
    assert len(table) == 2


def test_geometric_means_leave_out_and_count_the_problems_that_one_side_failed():
    rows = [
        run(problem="a"), run("libsvm", time=2.0, problem="a"),
        run(problem="b"), run("libsvm", time=8.0, problem="b"),
        run(problem="c"), run("libsvm", gap=1.0, problem="c"),
        run(problem="e", gap=1.0), run("libsvm", problem="e"),
    ]  # fmt: skip
    rates = means(cheapest(table_of(*rows), [1e-3])).set_index("solver")
    assert rates.loc["libsvm", "mean"] == pytest.approx(4.0)
    counts = ["problems", "failed", "alone"]
    assert rates.loc["libsvm", counts].tolist() == [2, 1, 1]
    assert rates.loc["libsvm", ["least", "most"]].tolist() == [2.0, 8.0]
    assert rates.loc["smo", counts].tolist() == [3, 0, 0]


def test_the_floor_is_the_time_of_the_values_that_the_best_answer_needs():
    rows = [
        run(gap=1e-3, n_support=90.0),
        run(tol=1e-6, gap=1e-9, time=0.5, n_support=40.0),
        run(f"{FLOOR}:KernelFloor", gap=NAN, time=2.0, n_kernel_evals=1e3, n_support=NAN),
    ]
    (floor,) = arithmetic_bounds(table_of(*rows)).to_dict("records")
    values = 100 * 40 - 40**2 / 2
    assert floor["support"] == 40
    assert floor["values"] == values
    assert floor["time"] == pytest.approx(values * 2e-3)
    table = cheapest(table_of(*rows), [1e-6])
    assert table["solver"].tolist() == ["smo"]
    assert table["floors"].tolist() == pytest.approx([0.5 / (values * 2e-3)])


def test_targets_end_at_the_one_of_the_experiment():
    assert targets_of(table_of(run())) == [1e-3, 1e-6, 1e-9]
    assert targets_of(table_of(run(target_gap=1e-8))) == [1e-3, 1e-6, 1e-8]
    assert cheapest(table_of(run(target_gap=1e-2)))["target"].tolist() == [1e-2]


def test_without_a_floor_there_is_no_time_over_it():
    assert cheapest(table_of(run()))["floors"].isna().all()


def test_exponents_are_fitted_to_problems_that_differ_in_n_alone():
    rows = [
        run(problem=f"moons(n={n}) C=1", n=float(n), time=1e-6 * n**1.5, peak_rss=1e3 * n)
        for n in (100, 400, 1600)
    ]
    (grown,) = growth(cheapest(table_of(*rows), [1e-3])).to_dict("records")
    assert grown["exponent"] == pytest.approx(1.5)
    assert (grown["largest"], grown["memory"], grown["sizes"]) == (1600, 1.6e6, 3)
    assert growth(cheapest(table_of(run()), [1e-3])).empty


def test_the_intercept_costs_what_it_takes_more_than_the_same_problem_without():
    rows = [run(problem="a9a intercept=False C=1"), run(problem="a9a C=1", time=1.5)]
    rows += [run(problem="w8a intercept=False C=1"), run(problem="w8a C=1", gap=1.0)]
    (cost,) = intercepts(cheapest(table_of(*rows), [1e-3])).to_dict("records")
    assert (cost["problem"], cost["without"], cost["with"]) == ("a9a C=1", 1.0, 1.5)
    assert cost["ratio"] == 1.5


def test_settings_that_tell_are_those_that_vary():
    both = [json.dumps({"tol": 1e-9, "epochs": k}) for k in (1, 20)]
    rows = [run("pegasos", params=text, suboptimality=0.2) for text in both]
    counted = passes(table_of(*rows, run()))
    assert counted["setting"].tolist() == ["epochs 1", "epochs 20"]
    assert counted["suboptimality"].tolist() == [0.1, 0.1]


def test_solvers_are_ours_or_peers():
    names = [
        "smo",
        "dual_coordinate_descent",
        "libsvm",
        "qpsolvers_qp",
        "own.py:New",
        f"{FLOOR}:KernelFloor",
    ]
    assert [kind_of(name) for name in names] == ["ours", "ours", "peer", "peer", "peer", "floor"]


def test_names_leave_out_what_all_problems_have_in_common():
    problems = ["a9a soft rbf(gamma=1) C=1", "w8a soft rbf(gamma=2) C=1"]
    assert distinct_names(problems) == ["a9a rbf(gamma=1)", "w8a rbf(gamma=2)"]
    assert common_words(problems) == ["soft", "C=1"]
    assert distinct_names(problems[:1]) == problems[:1]


def test_every_sign_of_the_report_is_there():
    rows = [run(repetition=i, time=1.0 + i) for i in range(2)]
    rows += [
        run("libsvm", tol=t, time=30.0, gap=2e-5, repetition=i)
        for t in (1e-5, 1e-8)
        for i in range(2)
    ]
    rows += [run("one_dal", status="not_installed", gap=NAN, time=NAN, threads=NAN)]
    machine = {"processor": "A chip", "cores": 2, "memory": 2**34}
    manifest = {
        "versions": {"numpy": "2"},
        "machine": machine,
        "date": "2026-01-02T",
        "platform": "x",
    }
    results = table_of(*rows)
    text = to_markdown(results, "bench_x", machine_text([manifest], results))
    assert "A chip, 2 cores, 16.00 GiB" in text
    assert "Threads of every solver: 2." in text
    assert "30 s (tol 1e-05), **20×**" in text
    assert "– stalls at 2.0e-05" in text
    assert "– not installed" in text


def test_without_repetitions_the_report_says_that_noise_was_not_measured():
    text = to_markdown(table_of(run()), "bench_x", "")
    assert "Noise (A/A) was not measured" in text
    assert "Ratios have no intervals" in text


def test_a_figure_has_a_panel_for_each_target_that_ours_reached():
    rows = [run(tol=1e-6, gap=5e-7), run("libsvm", time=4.0, gap=5e-4), run("one_dal", gap=1.0)]
    with style():
        axes = speedup(cheapest(table_of(*rows))).axes
    assert [ax.get_title() for ax in axes] == ["gap ≤ 1e-03", "gap ≤ 1e-06"]
    drawn = [[float(x) for line in ax.lines for x in line.get_xdata()] for ax in axes]
    edge = axes[0].get_xlim()[1]
    assert 4.0 in drawn[0]
    assert drawn[0].count(edge) == 1
    assert drawn[1].count(edge) == 2


@pytest.mark.parametrize("name", ["breast_cancer", "iris"])
def test_the_floor_counts_its_values_and_gives_no_answer(name):
    options = {"positive": "setosa"} if name == "iris" else {}
    data = datasets.load(name, **options)
    problem = SoftMarginDual(data.X, data.y, 1.0, RBF(1e-3))
    solution = solve(problem, KernelFloor(values=1e6))
    assert 1e6 <= solution.counters["kernel_evaluations"] < 2e6
    assert solution.time_solve > 0
    assert solution.claimed == "none"
    assert solution.verdict == "uncertified"
    assert solution.alpha is None


def test_the_floor_is_the_same_for_sparse_samples_and_for_regression():
    sparse = datasets.make("sparse_classification", n=50, d=30).load()
    problem = SVRDual(sparse.X, sparse.y, C=1.0, epsilon=0.1, kernel=RBF(0.1))
    assert solve(problem, KernelFloor(values=1e5)).counters["kernel_evaluations"] >= 1e5


def test_the_floor_of_a_linear_kernel_is_refused():
    data = datasets.make("two_moons", n=20).load()
    form = reduce(SoftMarginDual(data.X, data.y, 1.0, Linear()), BoxQP).form
    assert "RBF" in KernelFloor().refuses(form)


def test_the_floor_wants_a_positive_number_of_values():
    with pytest.raises(ValueError, match="values"):
        KernelFloor(values=0)


EXPERIMENT = """
name: bench_tiny
trace: false
noise: true
repetitions: 3
problems:
  - formulation: soft_margin_dual
    dataset: {name: iris, positive: versicolor, standardize: true}
    kernel: {name: rbf, gamma: 0.5}
solvers:
  - {name: "FLOOR:KernelFloor", values: 1e5}
  - {name: smo, tol: [1e-3, 1e-8]}
  - {name: libsvm, tol: 1e-3}
"""


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    """Return the folder of a finished run of a tiny benchmark."""
    folder = tmp_path_factory.mktemp("bench")
    shutil.copy(FLOOR, folder)
    path = folder / "bench_tiny.yaml"
    path.write_text(EXPERIMENT.replace("FLOOR", "floor.py"))
    result = CliRunner().invoke(main, ["run", str(path), "--out", str(folder / "run")])
    assert result.exit_code == 0, result.output
    return folder / "run"


@pytest.fixture
def readme(tmp_path):
    file = tmp_path / "README.md"
    file.write_text("a\n<!-- benchmarks table -->\nold\n<!-- end of table -->\nb\n")
    return file


def test_a_run_with_a_lower_bound_succeeds_and_is_published(tiny, tmp_path, readme):
    (target,) = publish([tiny], tmp_path)
    assert target == tmp_path / "results" / "bench_tiny"
    written = {file.name for file in target.iterdir()}
    tables = {"benchmark.csv", "means.csv", "floors.csv", "runs.csv"}
    shown = {"benchmark.md", "digests.json", "manifest.json", "report.html", "speedup.svg"}
    assert written == shown | tables
    text = (target / "benchmark.md").read_text()
    assert "Noise (A/A): two runs of the same configuration" in text
    assert "× the lower bound" in text
    assert "KernelFloor" not in text
    table = pd.read_csv(target / "benchmark.csv")
    assert set(table["solver"]) == {"smo", "libsvm"}
    assert {"ratio", "low", "high", "within_noise"} < set(table.columns)
    assert (table["outcome"] == "reached").any()


def test_the_row_of_the_floor_is_no_answer(tiny):
    results = load_results(tiny)
    floor = results[results["solver"].map(kind_of) == "floor"]
    assert (floor["n_kernel_evals"] >= 1e5).all()
    assert floor[["relative_gap", "n_support", "objective"]].isna().all(axis=None)
    assert (floor["verdict"] == "uncertified").all()


def test_the_readme_has_a_row_for_each_peer_in_each_published_benchmark(tmp_path, readme):
    for name, ratio in (("bench_a", 12.0), ("bench_b", 0.5)):
        folder = tmp_path / "results" / name
        folder.mkdir(parents=True)
        row = {"target": 1e-3, "solver": "libsvm", "kind": "peer", "mean": ratio, "problems": 2}
        ours = {"target": 1e-3, "solver": "smo", "kind": "ours", "mean": 1.0, "problems": 2}
        more = {"least": ratio / 2, "most": 2 * ratio, "failed": 1, "within_noise": False}
        pd.DataFrame([row | more, ours | more]).to_csv(folder / "means.csv", index=False)
    lines = benchmarks_table(tmp_path / "results").splitlines()
    assert len(lines) == 4
    assert "[a](results/bench_a/benchmark.md)" in lines[2]
    assert "**12×** (6 to 24, 2 problems), failed 1" in lines[2]
    assert "**0.5×**" in lines[3]
    means = pd.read_csv(folder / "means.csv").assign(within_noise=True)
    means.to_csv(folder / "means.csv", index=False)
    assert "0.5× ~" in benchmarks_table(tmp_path / "results").splitlines()[3]


def test_benchmarks_that_belong_together_are_published_under_the_first_name(tiny, tmp_path, readme):
    (target,) = publish([tiny, tiny], tmp_path)
    text = (target / "benchmark.md").read_text()
    assert text.startswith("# bench_tiny, bench_tiny")


def test_only_benchmarks_are_published_together(tiny, tmp_path):
    other = tmp_path / "other"
    shutil.copytree(tiny, other)
    manifest = (other / "manifest.json").read_text().replace("bench_tiny", "plain")
    (other / "manifest.json").write_text(manifest)
    result = CliRunner().invoke(main, ["publish", str(tiny), str(other)])
    assert result.exit_code == 2
    assert "only benchmarks" in result.output
