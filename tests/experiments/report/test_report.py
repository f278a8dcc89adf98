"""The report says what the tables say, stays small, and lets no name act; looked at in a browser."""

import json
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from experiments.analysis.profiles import (
    SHIFT,
    data_profile,
    penalty_of,
    performance_profile,
    shifted_mean,
    shifted_means,
    times_to_gaps,
)
from experiments.cases.columns import COLUMNS, FULL_TRACE_COLUMNS
from experiments.cases.records import Outcome
from experiments.cli import main
from experiments.plots.style import line_styles
from experiments.report import report, write_report
from experiments.report.charts import swatches, thinned
from experiments.report.summary import MEANINGS, failures, outcomes, run_rows
from experiments.store.folder import Store, StoreError, load_results
from solvers.base import Status

NAN = float("nan")
HOSTILE = (
    "</script><script>document.title='hacked'</script><img src=x onerror=alert(1)>\"'`{{7*7}} $$x$$"
)


def run(problem="p", solver="smo", **changes):
    """Return a record of a run that was solved in half a second."""
    row = dict.fromkeys(COLUMNS) | {
        "problem_id": problem,
        "problem_hash": f"hash of {problem}",
        "family_hash": f"family of {problem}",
        "formulation": "soft_margin_dual",
        "n": 99,
        "d": 5,
        "solver": solver,
        "params": json.dumps({"tol": 1e-6}),
        "repetition": 0,
        "target_gap": 1e-6,
        "status": "finished",
        "claimed": "optimal",
        "verdict": "solved",
        "reason": "",
        "primal_objective": 10.0,
        "dual_objective": 10.0,
        "relative_gap": 1e-8,
        "bound_source": "alpha",
        "time_solve": 0.5,
        "threads": 1,
        "host": "here",
    }
    return row | changes


def crashed(problem="p", solver="smo", reason="boom"):
    nothing = dict.fromkeys(["relative_gap", "primal_objective", "dual_objective", "time_solve"])
    return run(problem, solver, status="crashed", verdict="uncertified", reason=reason, **nothing)


def looked_at(row, gaps, times=None):
    """Return the evaluations of a run with these relative gaps, evenly in time if not said otherwise."""
    times = times or np.linspace(0.1, 1.0, len(gaps)) * row["time_solve"]
    known = {"iteration": 1, "primal_objective": 10.0, "kkt_violation": 0.1}
    return [
        dict.fromkeys(FULL_TRACE_COLUMNS)
        | {"time": float(t), "gap": 10 * g, "dual_objective": 10 * (1 - g)}
        | known
        for t, g in zip(times, gaps, strict=True)
    ]


def stored(folder, rows, traces=None, name="small", more=""):
    """Record rows, and the evaluations of some of them by their places, as a folder of results."""
    ids = [f"run{i}" for i in range(len(rows))]
    store = Store.open(folder, f"name: {name}\ntime_limit: 20\n{more}", ids)
    for i, row in enumerate(rows):
        evaluations = [evaluation | {"run_id": ids[i]} for evaluation in (traces or {}).get(i, [])]
        store.append(Outcome(row | {"run_id": ids[i]}, evaluations))
    store.close()
    return folder


def table(rows):
    """Return rows of `times_to_gaps`: target, problem, solver and time are given."""
    columns = ["target", "problem", "solver", "time"]
    known = {"n": 99.0, "outcome": "reached", "fastest": False, "setting": "", "gap": 0.0}
    return pd.DataFrame([dict(zip(columns, row, strict=True)) | known for row in rows])


# ---- the arithmetic ---------------------------------------------------------------------------


def test_a_performance_profile_counts_failures_in_the_share():
    times = table([(1, "p", "a", 1.0), (1, "p", "b", 3.0), (1, "q", "a", NAN), (1, "q", "b", 2.0)])
    profile = performance_profile(times)
    x, share = profile["a"]
    assert x[0] == 1
    assert share.tolist() == [0.5, 0.5]
    x, share = profile["b"]
    assert x[:2].tolist() == [1, 3]
    assert share.tolist() == [0.5, 1, 1]


def test_a_problem_that_nobody_solved_keeps_every_profile_below_one():
    times = table([(1, "p", "a", 1.0), (1, "q", "a", NAN)])
    assert performance_profile(times)["a"][1].max() == 0.5
    assert data_profile(times)["a"][1].max() == 0.5
    assert performance_profile(table([(1, "q", "a", NAN)])) == {}


def test_a_data_profile_counts_time_in_units_of_n_plus_one():
    x, share = data_profile(table([(1, "p", "a", 1.0), (1, "q", "a", 4.0)]))["a"]
    assert x[:2].tolist() == [0.01, 0.04]
    assert share.tolist() == [0.5, 1, 1]


def test_the_shifted_mean_of_equal_times_is_that_time_and_failures_cost_the_penalty():
    assert shifted_mean([0.3, 0.3, 0.3]) == pytest.approx(0.3)
    two = shifted_mean([0.0, 1.0])
    assert two == pytest.approx((SHIFT * (1 + SHIFT)) ** 0.5 - SHIFT)
    means = shifted_means(table([(1, "p", "a", NAN), (1, "p", "b", 2.0)]), penalty=20.0)
    assert means["solver"].tolist() == ["b", "a"]
    assert means["mean"].tolist() == pytest.approx([2.0, 20.0])
    assert means["solved"].tolist() == [1, 0]


def test_the_penalty_is_the_time_limit_and_without_one_ten_times_the_slowest_run():
    results = pd.DataFrame({"time_solve": [NAN, 3.0]})
    assert penalty_of(20, results) == (20.0, "20 s, the time limit of a run")
    seconds, words = penalty_of(None, results)
    assert seconds == 30
    assert words.startswith("30 s, ten times")


def test_a_target_is_reached_at_the_first_look_within_it(tmp_path):
    from experiments.store.folder import read_traces

    row = run(relative_gap=1e-7, verdict="solved", time_solve=1.0)
    folder = stored(tmp_path / "x", [row], {0: looked_at(row, [1, 1e-4, 1e-7], [0.1, 0.2, 0.9])})
    times = times_to_gaps(load_results(folder), read_traces(folder)).set_index("target")["time"]
    assert times[1e-3] == 0.2
    assert times[1e-6] == 0.9


def test_what_died_does_not_reach_a_target_and_a_proof_of_infeasibility_does(tmp_path):
    nothing = dict.fromkeys(["relative_gap", "primal_objective", "dual_objective"])
    rows = [run("q", "a", status="infeasible", verdict="infeasible", **nothing), crashed("q", "b")]
    folder = stored(tmp_path / "x", rows)
    evaluations = pd.DataFrame(columns=FULL_TRACE_COLUMNS)
    times = times_to_gaps(load_results(folder), evaluations)
    assert times.groupby("solver")["time"].max()["a"] == 0.5
    assert times[times["solver"] == "b"]["time"].isna().all()
    assert set(times[times["solver"] == "b"]["outcome"]) == {"crashed"}


def test_thinning_keeps_both_ends():
    assert thinned(5, 9).tolist() == [0, 1, 2, 3, 4]
    kept = thinned(1000, 40)
    assert len(kept) == 40
    assert (kept[0], kept[-1]) == (0, 999)


def test_more_than_eight_solvers_differ_by_more_than_colour():
    drawn = swatches(line_styles([f"solver {i}" for i in range(30)]))
    assert len({(s.colour, s.dash, s.marker) for s in drawn}) == 30
    assert len({s.marker for s in drawn}) == 11


# ---- the tables -------------------------------------------------------------------------------


def test_every_status_has_a_meaning():
    assert set(map(str, Status)) - {"finished"} <= set(MEANINGS)


def test_failures_stand_first_with_their_reasons(tmp_path):
    rows = [run(), crashed("q", reason="boom"), run("r", verdict="wrong", relative_gap=0.5)]
    results = load_results(stored(tmp_path / "x", rows))
    results = results.assign(outcome=outcomes(results), series="smo", configuration="smo")
    cells = [[cell.text for cell in row] for row in run_rows(results)]
    assert [row[0] for row in cells] == ["wrong", "crashed", "solved"]
    assert cells[0][3] == "claimed optimal; relative gap 5.0e-01, target 1e-06"
    assert cells[1][3] == "boom"
    shown, more = failures(results)
    assert [failure.outcome for failure in shown] == ["wrong", "crashed"]
    assert more == 0


def test_a_folder_without_runs_has_a_report(tmp_path):
    folder = stored(tmp_path / "x", [])
    assert "0 of 0 planned runs" in report(folder)


def test_missing_runs_are_told(tmp_path):
    folder = stored(tmp_path / "x", [run(), run("q")])
    lines = (folder / "runs.jsonl").read_bytes().splitlines(keepends=True)
    (folder / "runs.jsonl").write_bytes(lines[0])
    assert "<strong>1 run is missing</strong>" in report(folder)


def summary_of(folder):
    return report(folder).partition('id="summary"')[2].partition('id="times"')[0]


def test_no_solver_is_called_the_quickest_where_none_arrived_or_none_competed(tmp_path):
    nobody = [run(solver=s, relative_gap=0.1, verdict="inaccurate") for s in ("smo", "libsvm")]
    text = summary_of(stored(tmp_path / "nobody", nobody))
    assert "No solver reached a gap of 1e-06" in text
    assert "Fastest" not in text
    alone = stored(tmp_path / "alone", [run()])
    assert "Fastest" not in summary_of(alone)
    assert "1 of 1 planned run," in summary_of(alone)
    times = report(alone).partition('id="times"')[2].partition("<section")[0]
    assert "<b>" not in times.partition("<tbody>")[2]
    assert 'data-chart="performance"' not in report(alone)
    assert 'data-chart="data"' in report(alone)


def test_a_solver_that_stops_by_itself_makes_no_claim_and_a_late_one_is_told_its_time(tmp_path):
    rows = [
        run(claimed="stopped", relative_gap=0.1, verdict="inaccurate"),
        run("q", status="time_limit", relative_gap=0.1, verdict="inaccurate", time_solve=20.4),
    ]
    results = load_results(stored(tmp_path / "x", rows))
    results = results.assign(outcome=outcomes(results), series="smo", configuration="smo")
    reasons = [row[3].text for row in run_rows(results)]
    assert reasons[0].endswith("target 1e-06; ended after 20 s")
    assert reasons[1] == "made no claim; relative gap 1.0e-01, target 1e-06"


def test_a_folder_without_results_is_refused(tmp_path):
    with pytest.raises(StoreError, match="holds no results"):
        write_report(tmp_path, tmp_path / "report.html")


@pytest.mark.parametrize("problems", [5, pytest.param(50, marks=pytest.mark.exhaustive)])
def test_a_thousand_runs_make_less_than_five_megabytes(problems, tmp_path):
    """Of which a megabyte and a half is there without any run."""
    rng = np.random.default_rng(0)
    rows = [
        run(
            f"data_set_{p} soft_margin_dual rbf(gamma=0.05) C={p}", f"solver_{i % 10}", time_solve=t
        )
        for p in range(problems)
        for i, t in enumerate(rng.uniform(0.1, 9, size=20))
    ]
    gaps = np.geomspace(1, 1e-8, 50).tolist()
    folder = stored(tmp_path / "x", rows, {i: looked_at(row, gaps) for i, row in enumerate(rows)})
    path = write_report(folder, tmp_path / "report.html")
    assert path.stat().st_size < 1.5e6 + 3.5e6 * len(rows) / 1000


def test_problems_of_several_hosts_are_kept_apart(tmp_path):
    rows = [run(host="a"), run(host="b", time_solve=9.0)]
    text = report(stored(tmp_path / "x", rows))
    assert "p on a" in text
    assert "p on b" in text
    assert "Run on several hosts (a, b)" in text


def test_the_report_command_writes_beside_the_results_or_where_it_is_told(tmp_path):
    Store.open(tmp_path / "x", "name: x\n", []).close()
    shown = CliRunner().invoke(main, ["report", str(tmp_path / "x")])
    assert shown.exit_code == 0, shown.output
    assert (tmp_path / "x" / "report.html").stat().st_size > 1000
    out = ["--out", str(tmp_path / "none" / "x.html")]
    refused = CliRunner().invoke(main, ["report", str(tmp_path / "x"), *out])
    assert refused.exit_code == 2
    assert "cannot be written" in refused.output
    assert CliRunner().invoke(main, ["report", str(tmp_path)]).exit_code == 2


# ---- in a browser -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def browser():
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    found = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "chrome"))), None)
    with api.sync_playwright() as play:
        if found is None and not Path(play.chromium.executable_path).exists():
            pytest.skip("no Chromium: install it, or run `playwright install chromium`")
        opened = play.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def page_file(tmp_path_factory):
    """Write the report of three problems and two solvers, one of them hostile by name."""
    rows = [
        run("easy", "smo", time_solve=0.02, iterations=9),
        run("easy", f"/x/{HOSTILE}.py:Bad", time_solve=0.5, iterations=10),
        run(HOSTILE, "smo", time_solve=3.0, iterations=1000),
        crashed(HOSTILE, f"/x/{HOSTILE}.py:Bad", reason=HOSTILE),
        run("hard", "smo", time_solve=0.7, iterations=200, relative_gap=1e-4, verdict="inaccurate"),
        crashed("hard", f"/x/{HOSTILE}.py:Bad", reason="killed"),
    ]
    gaps = [1, 1e-2, 1e-5, 1e-8]
    traces = {i: looked_at(rows[i], gaps) for i in (0, 1, 2)}
    folder = tmp_path_factory.mktemp("report")
    stored(folder / "x", rows, traces, more=f"# {HOSTILE}\n")
    return write_report(folder / "x", folder / "report.html")


@pytest.fixture
def page(browser, page_file):
    """Open the report; afterwards nothing must have complained, asked for a file, or run."""
    opened = browser.new_page(viewport={"width": 1200, "height": 800}, color_scheme="light")
    trouble = []
    opened.on("console", lambda m: trouble.append(m.text) if m.type in ("error", "warning") else 0)
    opened.on("pageerror", lambda error: trouble.append(str(error)))
    opened.on("dialog", lambda dialog: (trouble.append(dialog.message), dialog.dismiss()))
    opened.on("request", lambda r: trouble.append(r.url) if r.url.startswith("http") else 0)
    opened.goto(page_file.as_uri())
    opened.wait_for_selector("html[data-ready=yes]", state="attached")
    yield opened
    title = opened.title()
    opened.close()
    assert trouble == []
    assert title == "small: report"


def shown(page):
    return page.locator("#all tbody tr:visible").count()


def test_a_search_and_a_choice_leave_the_rows_that_match(page):
    assert shown(page) == 6
    page.get_by_label("Search").fill("killed hard")
    assert shown(page) == 1
    assert page.locator("#filters output").text_content() == "1 of 6 runs"
    page.get_by_role("button", name="Clear").click()
    page.wait_for_function(
        "() => document.querySelectorAll('#all tbody tr:not([hidden])').length === 6"
    )
    page.locator("#filters").get_by_label("Outcome").select_option("crashed")
    assert shown(page) == 2
    page.locator("#filters").get_by_label("Problem").select_option("hard")
    assert shown(page) == 1


def test_a_head_sorts_by_number_with_the_keyboard_and_says_so(page):
    head = page.locator("#all th", has_text="iterations")
    column = "[...document.querySelectorAll('#all tbody tr')].map(r => r.cells[8].textContent)"
    head.locator("button").focus()
    page.keyboard.press("Enter")
    assert head.get_attribute("aria-sort") == "ascending"
    assert page.evaluate(column) == ["9", "10", "200", "1000", "", ""]
    page.keyboard.press("Enter")
    assert head.get_attribute("aria-sort") == "descending"
    assert page.evaluate(column) == ["1000", "200", "10", "9", "", ""]
    assert page.locator("#all th[aria-sort=none]").count() == 10


def test_a_solver_that_is_not_ticked_is_hidden_in_every_chart(page):
    visible = "[...plots.values()].map(plot => plot.lines.map(line => line[0].visible))"
    assert page.evaluate(visible) == [[True, True]] * 3
    page.locator("#profiles input[data-solver='1']").first.uncheck()
    assert page.evaluate(visible) == [[True, False]] * 3
    assert page.locator("input[data-solver='1']:checked").count() == 0
    page.locator("#curves .none").click()
    assert page.evaluate(visible) == [[False, False]] * 3
    page.locator("#curves .all").click()
    assert page.evaluate(visible) == [[True, True]] * 3


def test_choosing_a_problem_shows_its_curves(page):
    times = "plots.get('convergence').sources.map(source => source.data.x.at(-1) ?? null)"
    assert sorted(page.evaluate(times)) == [0.02, 0.5]
    page.locator("#curves select.view").select_option("2")
    assert page.locator("#curves .shown").text_content() == "Problem: hard"
    assert [x for x in page.evaluate(times) if x is not None] == [0.7]


def test_each_axis_of_convergence_becomes_linear_and_back_with_the_keyboard(page):
    state = """() => {
        const {x_scale, y_scale, x_range, y_range, below} = plots.get('convergence').view.model;
        return [x_scale.type, y_scale.type, below[0].ticker.type, x_range.start, y_range.start];
    }"""
    page.locator("#convergence").scroll_into_view_if_needed()
    page.wait_for_function("() => plots.get('convergence').view.model.y_range.start > 0")
    before = page.evaluate(state)
    assert before[:3] == ["LogScale", "LogScale", "LogTicker"]
    page.get_by_label("Time axis").focus()
    page.keyboard.press("ArrowDown")
    page.wait_for_function("() => plots.get('convergence').view.model.x_range.start < 0")
    assert page.evaluate(state)[:3] == ["LinearScale", "LogScale", "BasicTicker"]
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowDown")
    page.wait_for_function("() => plots.get('convergence').view.model.y_range.start < 0")
    assert page.evaluate(state)[:2] == ["LinearScale"] * 2
    page.get_by_label("Time axis").select_option("logarithmic")
    page.get_by_label("Gap axis").select_option("logarithmic")
    page.wait_for_function("() => plots.get('convergence').view.model.y_range.start > 0")
    assert page.evaluate(state) == pytest.approx(before)


def test_the_target_is_in_sight_even_if_every_answer_is_far_better(page):
    page.locator("#convergence").scroll_into_view_if_needed()
    page.evaluate("fill({name: 'convergence', views: [[[0, 'smo', [1], [1e-12]]]]}, 0)")
    ends = "(({start, end}) => [start, end])(plots.get('convergence').view.model.y_range)"
    page.wait_for_function(f"() => {ends}[0] < 1e-12 && {ends}[1] < 1")
    assert page.evaluate(ends)[1] > 1e-6


def test_a_profile_tells_shares_of_all_problems(page):
    shares = "plots.get('performance').sources.map(source => source.data.y.at(-1))"
    assert sorted(page.evaluate(shares)) == pytest.approx([1 / 3, 2 / 3], abs=1e-3)


def test_hovering_over_a_point_tells_whose_it_is(page):
    place = """() => {
        const {view, sources} = plots.get('convergence');
        const {x, y, label} = sources.find(source => source.data.label[0] !== 'smo').data;
        return [view.frame.x_scale.compute(x[0]), view.frame.y_scale.compute(y[0]), label[0]];
    }"""
    page.locator("#convergence").scroll_into_view_if_needed()
    page.wait_for_function("() => plots.get('convergence').view.frame.x_scale.compute(0.5) > 0")
    x, y, label = page.evaluate(place)
    box = page.locator("#convergence").bounding_box()
    page.mouse.move(box["x"] + x - 1, box["y"] + y)
    page.mouse.move(box["x"] + x, box["y"] + y)
    tooltip = page.get_by_text(label, exact=True).locator("visible=true").last
    tooltip.wait_for()
    assert "onerror" in label


def test_both_themes_are_legible_and_change_at_a_press(page):
    colours = "getComputedStyle(document.documentElement).getPropertyValue('--ink')"
    light = page.evaluate(colours)
    page.get_by_role("button", name="Dark theme").click()
    dark = page.evaluate(colours)
    assert light != dark
    page.get_by_role("button", name="Light theme").click()
    assert page.evaluate(colours) == light


@pytest.mark.parametrize("colour_scheme", ["light", "dark"])
def test_paper_is_light_whatever_the_theme_charts_included(page, colour_scheme, tmp_path):
    drawn = "plots.get('performance').view.canvas.primary.canvas.toDataURL()"
    page.locator("#performance").scroll_into_view_if_needed()
    page.wait_for_function("() => plots.get('performance').view.frame.x_scale.compute(1) > 0")
    light = page.evaluate(drawn)
    page.emulate_media(color_scheme=colour_scheme)
    if colour_scheme == "light":
        page.get_by_role("button", name="Dark theme").click()
    page.wait_for_function(f"light => {drawn} !== light", arg=light)
    dark = page.evaluate(drawn)
    page.evaluate(f"addEventListener('beforeprint', () => window.printed = {drawn})")
    page.pdf(path=tmp_path / "report.pdf")
    assert page.evaluate("window.printed") == light
    page.wait_for_function(f"dark => {drawn} === dark", arg=dark)
    page.emulate_media(media="print", color_scheme=colour_scheme)
    page.wait_for_function(f"light => {drawn} === light", arg=light)
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    page.emulate_media(media="screen", color_scheme=colour_scheme)
    page.wait_for_function(f"dark => {drawn} === dark", arg=dark)


def test_nothing_is_wider_than_a_telephone(page):
    page.set_viewport_size({"width": 400, "height": 800})
    page.wait_for_function("() => document.documentElement.scrollWidth === 400")


def test_every_control_can_be_reached_with_the_keyboard_is_named_and_shows_the_focus(page):
    focused = """() => {
        let e = document.activeElement;
        const named = e.textContent.trim() || e.labels?.[0] || e.ariaLabel || e.shadowRoot;
        while (e.shadowRoot?.activeElement) e = e.shadowRoot.activeElement;
        return [e.matches('body'), Boolean(named), getComputedStyle(e).outlineStyle];
    }"""
    reached = page.evaluate("document.querySelectorAll('a, button, input, select, summary').length")
    seen = 0
    while seen < 300:
        page.keyboard.press("Tab")
        over, named, outline = page.evaluate(focused)
        if over:
            break
        assert named
        assert outline != "none"
        seen += 1
    hidden = page.locator("details:not([open]) :is(button, a)").count()
    assert reached - hidden <= seen < 300


def test_hostile_names_are_shown_as_they_are(page):
    assert page.locator("#failures td.reason", has_text=HOSTILE).count() == 1
    assert page.locator("img, iframe, object").count() == 0
    assert page.locator("script").count() == 3
    assert HOSTILE in page.locator("#experiment").text_content()


def test_an_injected_script_would_not_run(page, page_file, browser, tmp_path):
    text = page_file.read_text().replace("<main>", "<main><script>document.title = 'run'</script>")
    (tmp_path / "changed.html").write_text(text)
    changed = browser.new_page()
    changed.goto((tmp_path / "changed.html").as_uri())
    assert changed.title() == "small: report"
    changed.close()
