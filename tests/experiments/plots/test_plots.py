"""Figures say what the tables say: tests on the data of the figures, not on pixels."""

import json
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from experiments.analysis.evaluations import LEAST_GAP
from experiments.analysis.growth import exponent
from experiments.cases.records import COLUMNS, Outcome
from experiments.output.text import duration, file_name
from experiments.plots import plot_all, plot_runs
from experiments.plots.figures.bounds_against_iterations import bounds_against_iterations
from experiments.plots.figures.decision_regions import decision_regions
from experiments.plots.figures.gap_against_time import gap_against_time
from experiments.plots.figures.overview import outcome_of, overview, pages
from experiments.plots.figures.time_against_n import solved_sizes, time_against_n
from experiments.plots.figures.training import training
from experiments.plots.plane import decision, kinds_of, planar
from experiments.plots.runs import gather
from experiments.plots.style import chunks, line_styles, style, wrap
from experiments.store.folder import Store
from problems import RBF, HingeERM, SoftMarginDual
from problems.datasets import TwoMoons
from solvers import SMO, solve

NAN = float("nan")
LOOKS = ["run_id", "time", "iteration", "primal_objective", "dual_objective", "gap"]
LOOKS += ["kkt_violation", "n_support", "objective"]


def run(problem="p", solver="smo", **changes):
    """Return a row of results; `changes` replace columns."""
    row = dict.fromkeys(COLUMNS, NAN) | {
        "problem_id": problem,
        "formulation": "soft_margin_dual",
        "n": 100.0,
        "d": 5.0,
        "C": 1.0,
        "solver": solver,
        "params": "{}",
        "repetition": 0.0,
        "target_gap": 1e-6,
        "status": "finished",
        "claimed": "optimal",
        "verdict": "solved",
        "primal_objective": 10.0,
        "dual_objective": 10.0,
        "gap": 0.0,
        "relative_gap": 1e-8,
        "time_solve": 0.5,
        "iterations": 7.0,
    }
    return row | changes


def crashed(problem="p", solver="smo", status="crashed"):
    nothing = dict.fromkeys(["relative_gap", "gap", "primal_objective", "dual_objective"], NAN)
    gone = {"time_solve": NAN, "iterations": NAN, "d": NAN, "verdict": "uncertified"}
    return run(problem, solver, status=status, **nothing, **gone)


def tables(rows, gaps=None):
    """Return results and traces; `gaps` gives relative gaps for the runs, by position."""
    results = pd.DataFrame(rows)
    results["run_id"] = [f"r{i}" for i in range(len(rows))]
    traced = [
        (f"r{i}", 10.0**k, 3.0**k, 2.0, 2.0 * (1 - gap), 2.0 * gap, gap, 5.0, 2.0)
        for i, own in (gaps or {}).items()
        for k, gap in enumerate(own)
    ]
    return results, pd.DataFrame(traced, columns=LOOKS)


def runs_of(rows, gaps=None):
    return gather(*tables(rows, gaps))


def named(ax, label):
    return [line for line in ax.lines if line.get_label() == label]


@pytest.fixture(scope="module")
def moons():
    data = TwoMoons(n=40, seed=1).load()
    return SoftMarginDual(data.X, data.y, 2.0, RBF(1.0))


def model_of(solution):
    p = solution.problem
    parts = {"X": p.X, "y": p.y, "kernel": p.kernel}
    return parts | {"alpha": solution.alpha, "w": solution.w, "b": solution.b}


def row_of(solution, **changes):
    certificate, p = solution.certificate, solution.problem
    known = {
        "n": float(p.n),
        "d": float(p.d),
        "C": getattr(p, "C", NAN),
        "lam": getattr(p, "lam", NAN),
    }
    values = {"verdict": solution.verdict, "relative_gap": certificate.relative_gap}
    return run(**known, **values, **changes)


def test_each_problem_has_a_panel_in_order():
    runs = runs_of([run("b"), run("a"), run("c")], {0: [1.0, 0.1]})
    with style():
        for draw in (gap_against_time, bounds_against_iterations):
            assert [ax.get_title() for ax in draw(runs, runs.problems).axes] == ["b", "a", "c"]


def test_gap_lines_hold_the_trace():
    runs = runs_of([run()], {0: [1.0, 1e-3, 1e-7]})
    with style():
        (ax,) = gap_against_time(runs, ["p"]).axes
    (line,) = named(ax, "smo")
    np.testing.assert_allclose(line.get_xdata(), [1, 10, 100])
    np.testing.assert_allclose(line.get_ydata(), [1.0, 1e-3, 1e-7])


def test_the_first_look_within_the_target_is_marked():
    runs = runs_of([run(), run(solver="slow")], {0: [1.0, 1e-6, 1e-7], 1: [1.0, 0.5]})
    with style():
        (ax,) = gap_against_time(runs, ["p"]).axes
    marks = [line for line in named(ax, "_reached") if len(line.get_xdata())]
    assert [list(line.get_xdata()) for line in marks] == [[10.0]]


def test_a_run_seen_only_at_its_end_is_a_point_from_the_results():
    runs = runs_of([run(time_solve=3.0, relative_gap=1e-4)], {0: [1e-4]})
    with style():
        (ax,) = gap_against_time(runs, ["p"]).axes
    (point,) = named(ax, "smo")
    assert point.get_linestyle() == "None"
    assert (point.get_xdata()[0], point.get_ydata()[0]) == (3.0, 1e-4)


def test_zero_gaps_are_drawn_at_the_least_gap_and_marked():
    runs = runs_of([run(), run(solver="qp", relative_gap=1e-19)], {0: [1.0, 0.0]})
    with style():
        (ax,) = gap_against_time(runs, ["p"]).axes
    assert named(ax, "smo")[0].get_ydata()[-1] == LEAST_GAP
    assert named(ax, "qp")[0].get_ydata()[0] == LEAST_GAP
    assert len(named(ax, "_clipped")) == 2
    assert ax.get_ylim()[0] < LEAST_GAP


def test_missing_bounds_are_left_out_of_lines():
    runs = runs_of([run()], {0: [np.inf, NAN, 0.1]})
    with style():
        (ax,) = gap_against_time(runs, ["p"]).axes
    assert list(named(ax, "smo")[0].get_xdata()) == [100.0]


def test_bounds_lines_hold_both_objectives():
    runs = runs_of([run()], {0: [1.0, 0.5, 0.0]})
    with style():
        (ax,) = bounds_against_iterations(runs, ["p"]).axes
    np.testing.assert_allclose(named(ax, "smo dual_objective")[0].get_ydata(), [0, 1, 2])
    np.testing.assert_allclose(named(ax, "smo primal_objective")[0].get_ydata(), [2, 2, 2])
    np.testing.assert_allclose(named(ax, "smo dual_objective")[0].get_xdata(), [1, 3, 9])


def test_of_repetitions_the_one_with_the_median_time_is_drawn():
    params = [json.dumps({"seed": i, "tol": 1e-3}) for i in range(3)]
    times = [5.0, 1.0, 2.0]
    rows = [run(time_solve=t, params=p) for t, p in zip(times, params, strict=True)]
    assert [row["time_solve"] for row in runs_of(rows).typical("p")] == [2.0]


def test_a_sweep_of_the_tolerance_is_one_series_and_other_settings_are_not():
    settings = [{"tol": t, "shrink": s, "same": 1} for t in (1e-3, 1e-6) for s in (True, False)]
    runs = runs_of([run(params=json.dumps(s)) for s in settings])
    assert set(runs.table["series"]) == {"smo (shrink=False)", "smo (shrink=True)"}
    assert runs.table["configuration"].nunique() == 4


def test_solvers_from_files_have_short_names_unless_two_share_it():
    runs = runs_of([run(solver=name) for name in ("a/x.py:My", "b/x.py:My", "a/y.py:My")])
    assert list(runs.table["series"]) == ["a/x.py:My", "b/x.py:My", "y.py:My"]


def test_a_solver_looks_the_same_in_all_figures_whatever_was_run_on_a_problem():
    runs = runs_of([run("a", "qp"), run("a"), run("b")], {1: [1, 0.1], 2: [1, 0.1]})
    with style():
        first, second = gap_against_time(runs, ["a", "b"]).axes
        third = bounds_against_iterations(runs, ["b"]).axes[0]
    lines = [named(first, "smo"), named(second, "smo"), named(third, "smo dual_objective")]
    assert len({(found[0].get_color(), found[0].get_marker()) for found in lines}) == 1


def test_no_two_of_32_solvers_look_alike():
    assert len(set(line_styles(map(str, range(32))).values())) == 32


def test_growth_needs_three_sizes_of_an_otherwise_equal_problem():
    rows = [run(f"moons(n={n}, noise={x}) C=1", n=n) for n, x in ((1, 0), (2, 0), (3, 1))]
    assert not list(solved_sizes(runs_of(rows)))
    rows.append(run("moons(n=9, noise=0) C=1", n=9))
    assert [title for title, _ in solved_sizes(runs_of(rows))] == ["moons(noise=0) C=1"]


def test_time_lines_hold_medians_of_solved_runs_and_hollow_ones_the_rest():
    rows = [run(f"g(n={n})", n=n, time_solve=t * n**2) for n in (10, 20, 40) for t in (1, 2, 9)]
    rows += [run("g(n=80)", n=80, time_solve=7.0, verdict="inaccurate"), crashed("g(n=90)")]
    runs = runs_of(rows)
    ((title, table),) = solved_sizes(runs)
    with style():
        figure = time_against_n(runs, title, table)
    solved, others = figure.axes[0].lines
    np.testing.assert_allclose(solved.get_ydata(), 2 * np.array([10, 20, 40]) ** 2)
    assert (list(others.get_xdata()), list(others.get_ydata())) == ([80.0], [7.0])
    texts = [text.get_text() for text in figure.legends[0].get_texts()]
    assert texts == ["smo: $n^{2.0}$", "hollow: not solved"]


def test_the_exponent_is_that_of_a_power_law():
    n = np.array([10.0, 30.0, 50.0, 900.0])
    assert exponent(pd.Series(0.1 * n**1.7, index=n)) == pytest.approx(1.7)
    assert np.isnan(exponent(pd.Series([1.0, 2.0], index=[1, 2])))


def test_regions_are_the_solutions_own_decision_function(moons):
    points = np.random.default_rng(0).normal(size=(300, 2))
    for problem in (moons, HingeERM(moons.X, moons.y, 0.01)):
        solution = solve(problem, SMO(tol=1e-8))
        f = decision(model_of(solution), points)
        np.testing.assert_allclose(f, solution.decision_function(points), atol=1e-10)


def test_support_vectors_are_of_the_kinds_that_the_geometry_has(moons):
    for problem in (moons, HingeERM(moons.X, moons.y, 0.01)):
        solution = solve(problem, SMO(tol=1e-8))
        row = pd.Series(row_of(solution))
        assert list(kinds_of(row, model_of(solution))) == list(solution.geometry.kinds)


def test_planar_figures_mark_every_support_vector_and_the_best_answer_comes_first(moons):
    answers = {f"r{i}": solve(moons, SMO(tol=t)) for i, t in enumerate((1e-1, 1e-8))}
    rows = [row_of(s, params=json.dumps({"c": i})) for i, s in enumerate(answers.values())]
    results, traces = tables(rows, {1: [1, 0.1]})
    runs = gather(results, traces, lambda run_id: model_of(answers[run_id]))
    kept = planar(runs, "p")
    assert [row["run_id"] for row, _ in kept] == ["r1", "r0"]
    support = len(answers["r1"].geometry.support)
    with style():
        axes = decision_regions(kept).axes
        four = training(runs, *kept[0])
    for ax in (axes[0], four.axes[0]):
        scattered = [len(c.get_offsets()) for c in ax.collections if c.get_offsets().size > 2]
        assert sum(scattered) == moons.n + support
    np.testing.assert_allclose(four.axes[1].lines[0].get_ydata(), [0.0, 1.8])
    np.testing.assert_allclose(four.axes[3].lines[0].get_ydata(), [5, 5])
    alpha = np.concatenate([c.get_offsets()[:, 1] for c in four.axes[2].collections])
    np.testing.assert_allclose(np.sort(alpha), np.sort(answers["r1"].alpha))


def test_a_decision_function_of_one_sign_is_drawn(moons):
    solution = solve(moons, SMO(tol=1e-3))
    model = model_of(solution) | {"alpha": np.zeros(moons.n), "b": 1.0}
    with style():
        assert decision_regions([(runs_of([row_of(solution)]).table.iloc[0], model)]).axes


def test_the_overview_has_a_cell_for_each_problem_and_solver_that_was_run():
    runs = runs_of([run("a"), run("a", "qp"), crashed("b"), run("b", "qp", verdict="wrong")])
    ((problems, solvers),) = pages(runs)
    with style():
        ax = overview(runs, problems, solvers).axes[0]
    cells = {(t.get_position()[0] // 1, t.get_position()[1] // 1): t for t in ax.texts[::2]}
    assert {k: t.get_text() for k, t in cells.items()} == {
        (0, 0): "✓", (1, 0): "✓", (0, 1): "✗", (1, 1): "†",
    }  # fmt: skip
    assert len(ax.patches) == 4


def test_of_repetitions_the_worst_verdict_is_shown():
    runs = runs_of([run(), run(verdict="wrong", repetition=1.0), run(repetition=2.0)])
    with style():
        ax = overview(runs, ["p"], ["smo"]).axes[0]
    assert [text.get_text() for text in ax.texts] == ["✗", "500 ms"]


@pytest.mark.parametrize(
    ("status", "verdict", "shown"),
    [
        ("finished", "solved", "solved"),
        ("time_limit", "inaccurate", "inaccurate"),
        ("unsupported", "uncertified", "unsupported"),
        ("crashed", NAN, "crashed"),
        ("out_of_memory", "uncertified", "out_of_memory"),
        ("max_iter", NAN, "uncertified"),
    ],
)
def test_a_run_is_shown_by_its_verdict_or_by_the_end_that_left_none(status, verdict, shown):
    assert outcome_of(status, verdict) == shown


def test_times_have_two_digits_and_a_unit():
    seconds = [NAN, 0.0, 2e-6, 0.9999, 9.96, 61.0, 900.0]
    assert [duration(s) for s in seconds] == [
        "",
        "<1 µs",
        "2.0 µs",
        "1.0 s",
        "10 s",
        "61 s",
        "15 min",
    ]


def test_pages_hold_every_problem_once():
    for count in (1, 6, 7, 13, 31):
        parts = list(chunks([str(i) for i in range(count)], 6))
        assert [x for part in parts for x in part] == [str(i) for i in range(count)]
        assert max(map(len, parts)) <= 6
        assert len(parts) == -(-count // 6)


def test_file_names_are_safe_and_figures_never_overwrite_each_other(tmp_path):
    for odd in ("../../etc/passwd", "a/b\\c:d*?", "C=1\n$x$", "ü" * 300, ".hidden", "x" * 999):
        assert len(file_name("gap", odd)) <= 120
        assert not set(file_name("gap", odd)) - set(
            "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._=+-"
        )
    rows = [run(f"{id}(n={n})", n=n) for id in ("a/b", "A b") for n in (1, 2, 3)]
    written = plot_runs(runs_of(rows), tmp_path)
    assert len({str(path).lower() for path in written}) == len(written)
    assert all(path.parent == tmp_path and path.stat().st_size for path in written)


def test_long_and_odd_titles_stay_short_and_plain():
    lines = wrap("standardize=True_" * 40 + "C=$5$", 30).split("\n")
    assert len(lines) == 2
    assert max(map(len, lines)) <= 40
    assert lines[1].endswith(r"C=\$5\$")


@pytest.fixture
def folder(tmp_path, moons):
    """Return a folder of results as the runner leaves it: answers, failures and odd names."""
    seen = []
    solution = solve(moons, SMO(tol=1e-8), callback=seen.append)
    trace = [(f.time, f.iteration, f.certificate) for f in seen]
    first = solve(moons, SMO(), max_iter=1).certificate
    looked = [
        {"run_id": "r0", "time": t, "iteration": i, "kkt_violation": 0.0, "n_support": 9}
        | {name: getattr(c, name) for name in ("primal_objective", "dual_objective", "gap")}
        for t, i, c in [(1e-6, 0, first), *trace]
    ]
    model = model_of(solution) | {
        "w": np.full(2, NAN),
        "kernel": json.dumps({"name": "rbf", "gamma": 1.0}),
    }
    rows = [
        row_of(solution, problem="moons(n=40) C=2"),
        crashed("moons(n=40) C=2", "qp"),
        crashed("../odd/$name", "qp", "out_of_memory"),
        run("../odd/$name", "smo", relative_gap=0.0, status="time_limit"),
    ]
    ids = [f"r{i}" for i in range(len(rows))]
    store = Store.open(tmp_path / "results", "name: test", ids)
    for i, row in enumerate(rows):
        plain = {k: None if isinstance(v, float) and np.isnan(v) else v for k, v in row.items()}
        record = plain | {"run_id": ids[i]}
        store.append(Outcome(record, looked, model) if i == 0 else Outcome(record))
    store.close()
    return tmp_path / "results"


def settings_now():
    """Return matplotlib's settings; the backend's is only found when it is read."""
    return {name: mpl.rcParams[name] for name in mpl.rcParams if name != "backend"}


def test_all_figures_come_from_the_folder_alone_twice_the_same(folder):
    before, seed = settings_now(), np.random.get_state()[1].copy()  # noqa: NPY002
    written = plot_all(folder)
    again = {path: path.read_bytes() for path in written}
    assert plot_all(folder) == written
    assert all(path.read_bytes() == again[path] for path in written)
    assert settings_now() == before
    assert (np.random.get_state()[1] == seed).all()  # noqa: NPY002
    assert not plt.get_fignums()
    kinds = ["bounds_against_iterations", "decision_regions-moons-n=40-C=2"]
    kinds += ["gap_against_time", "overview", "training-moons-n=40-C=2-smo"]
    assert [path.relative_to(folder) for path in written] == [
        Path("figures") / f"{kind}.{ending}" for kind in kinds for ending in ("svg", "png")
    ]
    assert b"<text" in again[folder / "figures" / "overview.svg"]  # text stays text
    assert b"<dc:date>" not in again[folder / "figures" / "overview.svg"]


def test_a_folder_in_which_everything_crashed_is_drawn(tmp_path):
    runs = runs_of([crashed("a"), crashed("b", status="unsupported")])
    names = [path.name for path in plot_runs(runs, tmp_path)]
    assert names[::2] == ["bounds_against_iterations.svg", "gap_against_time.svg", "overview.svg"]


def test_no_runs_no_figures(tmp_path):
    empty, traces = tables([run()])
    assert plot_runs(gather(empty.iloc[:0], traces), tmp_path) == []
