"""The page lets no name act, and can be used by everybody; looked at in a browser."""

import pytest
from tests.experiments.rows import crashed, run, stored, trace_of_gaps

from dualgap.experiments.report import write_report

HOSTILE = (
    "</script><script>document.title='hacked'</script><img src=x onerror=alert(1)>\"'`{{7*7}} $$x$$"
)


WINDOW = {"width": 1200, "height": 800}


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
    traces = {i: trace_of_gaps(rows[i], gaps) for i in (0, 1, 2)}
    folder = tmp_path_factory.mktemp("report")
    stored(folder / "x", rows, traces, more=f"# {HOSTILE}\n")
    return write_report(folder / "x", folder / "report.html")


@pytest.fixture(scope="module")
def opened(browser, page_file):
    """Open the report, and note whatever complains, asks for a file, or runs."""
    opened = browser.new_page(viewport=WINDOW, color_scheme="light")
    trouble = []
    opened.on("console", lambda m: trouble.append(m.text) if m.type in ("error", "warning") else 0)
    opened.on("pageerror", lambda error: trouble.append(str(error)))
    opened.on("dialog", lambda dialog: (trouble.append(dialog.message), dialog.dismiss()))
    opened.on("request", lambda r: trouble.append(r.url) if r.url.startswith("http") else 0)
    opened.goto(page_file.as_uri())
    opened.wait_for_selector("html[data-ready=yes]", state="attached")
    yield opened, trouble
    opened.close()


@pytest.fixture
def page(opened):
    """The report as it was opened: a test undoes what it chooses."""
    page, trouble = opened
    yield page
    assert trouble == []
    assert page.title() == "small: report"


def visible_rows(page):
    return page.locator("#all tbody tr:visible").count()


def test_a_search_and_a_choice_leave_the_rows_that_match(page):
    assert visible_rows(page) == 6
    page.get_by_label("Search").fill("killed hard")
    assert visible_rows(page) == 1
    assert page.locator("#filters output").text_content() == "1 of 6 runs"
    page.get_by_role("button", name="Clear").click()
    page.wait_for_function(
        "() => document.querySelectorAll('#all tbody tr:not([hidden])').length === 6"
    )
    page.locator("#filters").get_by_label("Outcome").select_option("crashed")
    assert visible_rows(page) == 2
    page.locator("#filters").get_by_label("Problem").select_option("hard")
    assert visible_rows(page) == 1
    page.get_by_role("button", name="Clear").click()


def test_a_header_sorts_numerically_by_keyboard_and_announces_it(page):
    head = page.locator("#all th", has_text="iterations")
    column = "[...document.querySelectorAll('#all tbody tr')].map(r => r.cells[10].textContent)"
    head.locator("button").focus()
    page.keyboard.press("Enter")
    assert head.get_attribute("aria-sort") == "ascending"
    assert page.evaluate(column) == ["9", "10", "200", "1000", "", ""]
    page.keyboard.press("Enter")
    assert head.get_attribute("aria-sort") == "descending"
    assert page.evaluate(column) == ["1000", "200", "10", "9", "", ""]
    assert page.locator("#all th[aria-sort=none]").count() == 12


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
    page.locator("#curves select.view").select_option("0")


def test_each_axis_of_convergence_becomes_linear_and_back_with_the_keyboard(page):
    state = """() => {
        const {x_scale, y_scale, x_range, y_range} = plots.get('convergence').view.model;
        return [x_scale.type, y_scale.type, x_range.start, y_range.start];
    }"""
    page.locator("#convergence").scroll_into_view_if_needed()
    page.wait_for_function("() => plots.get('convergence').view.model.y_range.start > 0")
    before = page.evaluate(state)
    assert before[:2] == ["LogScale", "LogScale"]
    page.get_by_label("Time axis").focus()
    page.keyboard.press("ArrowDown")
    page.wait_for_function("() => plots.get('convergence').view.model.x_range.start < 0")
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowDown")
    page.wait_for_function("() => plots.get('convergence').view.model.y_range.start < 0")
    assert page.evaluate(state)[:2] == ["LinearScale"] * 2
    page.get_by_label("Time axis").select_option("logarithmic")
    page.get_by_label("Gap axis").select_option("logarithmic")
    page.wait_for_function("() => plots.get('convergence').view.model.y_range.start > 0")
    assert page.evaluate(state) == pytest.approx(before)


@pytest.mark.parametrize(
    "colour_scheme", ["light", pytest.param("dark", marks=pytest.mark.exhaustive)]
)
def test_print_uses_the_light_theme_including_charts(page, colour_scheme, tmp_path):
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
    page.set_viewport_size(WINDOW)


@pytest.mark.exhaustive
def test_every_control_can_be_reached_with_the_keyboard_is_named_and_shows_the_focus(page):
    focused = """() => {
        let e = document.activeElement;
        const named = e.textContent.trim() || e.labels?.[0] || e.ariaLabel || e.shadowRoot;
        while (e.shadowRoot?.activeElement) e = e.shadowRoot.activeElement;
        return [e.matches('body'), Boolean(named), getComputedStyle(e).outlineStyle];
    }"""
    page.reload()  # the focus is nowhere
    page.wait_for_selector("html[data-ready=yes]", state="attached")
    reached = page.evaluate("document.querySelectorAll('a, button, input, select, summary').length")
    n_focused = 0
    while n_focused < 300:
        page.keyboard.press("Tab")
        over, named, outline = page.evaluate(focused)
        if over:
            break
        assert named
        assert outline != "none"
        n_focused += 1
    hidden = page.locator("details:not([open]) :is(button, a)").count()
    assert reached - hidden <= n_focused < 300


def test_hostile_names_are_escaped(page):
    assert page.locator("#failures td.reason", has_text=HOSTILE).count() == 1
    assert page.locator("img, iframe, object").count() == 0
    assert page.locator("script").count() == 3
    assert HOSTILE in page.locator("#experiment").text_content()


@pytest.mark.exhaustive
def test_an_injected_script_would_not_run(page, page_file, browser, tmp_path):
    text = page_file.read_text().replace("<main>", "<main><script>document.title = 'run'</script>")
    (tmp_path / "changed.html").write_text(text)
    changed = browser.new_page()
    changed.goto((tmp_path / "changed.html").as_uri())
    assert changed.title() == "small: report"
    changed.close()


def test_ticks_of_logarithmic_axes_are_labelled_with_their_numbers(page):
    labels = """([low, high]) => {
        const [ruler] = plots.get('performance').view.model.below;
        const { major } = ruler.ticker.get_ticks(low, high, null, NaN);
        return ruler.formatter.format_graphics(major).map(label => label.text);
    }"""
    assert page.evaluate(labels, [0.9, 120]) == ["1", "2", "5", "10", "20", "50", "100"]
    assert page.evaluate(labels, [30, 70]) == ["30", "40", "50", "60", "70"]
    assert page.evaluate(labels, [1e-9, 2])[:3] == ["10⁻⁸", "10⁻⁶", "10⁻⁴"]
    assert page.evaluate(labels, [1e-7, 1e-6]) == ["10⁻⁷", "2·10⁻⁷", "5·10⁻⁷", "10⁻⁶"]
