"""`dualgap init`, `run --dry-run`, `schema`; results in notebooks; published results are checked."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import jsonschema
import pytest
from click.testing import CliRunner

from experiments import load_results
from experiments.cases.plan import plan
from experiments.cli import main
from experiments.commands.dry_run import estimate, impossible
from experiments.files.experiment import read_experiment
from experiments.files.template import SCHEMA_FILE
from experiments.files.yamlfile import parse
from experiments.publishing.outdated import outdated
from experiments.store.published import read_records, seal
from problems import SoftMarginDual, datasets
from solvers import SMO, Pegasos, solve

ROOT = Path(__file__).parents[3]
PAIRS = """
name: pairs
problems:
  - {formulation: soft_margin_dual, dataset: {name: four_gaussians, n: 24}, C: [1, 2]}
solvers: [smo, pegasos]
repetitions: 2
"""


@pytest.fixture
def command(tmp_path, monkeypatch):
    """Run `dualgap` in an empty folder; return what click's runner returns."""
    monkeypatch.chdir(tmp_path)
    return lambda *arguments: CliRunner().invoke(main, [str(a) for a in arguments])


# -- init ------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("in_process")
def test_the_file_that_init_writes_runs(command, tmp_path):
    assert command("init", "study.yaml").exit_code == 0
    path = tmp_path / "study.yaml"
    described = read_experiment(path)
    assert described.name == "study"
    assert len(described.problems) == 4
    shorter = path.read_text().replace("[0.01, 0.1]", "0.01").replace("[1, 10]", "1")
    path.write_text(shorter.replace("repetitions: 3", "repetitions: 1"))
    assert command("run", path, "--out", "runs/x").exit_code == 0
    assert set(load_results("runs/x")["verdict"]) == {"solved"}


def test_init_does_not_overwrite(command, tmp_path):
    (tmp_path / "experiment.yaml").write_text("mine")
    refused = command("init")
    assert refused.exit_code == 2
    assert "experiment.yaml: is there already" in refused.output
    assert (tmp_path / "experiment.yaml").read_text() == "mine"


def test_init_tells_editors_of_the_schema_that_it_wrote(command, tmp_path):
    assert command("init", "a.yaml", "--schema").exit_code == 0
    text = (tmp_path / "a.yaml").read_text()
    assert text.splitlines()[0] == f"# yaml-language-server: $schema={SCHEMA_FILE}"
    schema = json.loads((tmp_path / SCHEMA_FILE).read_text())
    jsonschema.validate(parse(text.encode()).plain, schema)
    assert json.loads(command("schema").stdout) == schema


# -- dry runs --------------------------------------------------------------------------------------


def test_a_dry_run_shows_the_plan_and_writes_nothing(command, write, tmp_path):
    path = write(PAIRS)
    before = sorted(tmp_path.iterdir())
    shown = command("run", path, "--dry-run")
    assert shown.exit_code == 0
    words = " ".join(shown.output.split())
    assert "runs 8, 4 of them impossible" in words
    assert "pegasos: Pegasos has no unregularised intercept (2 pairs)" in words
    assert "unknown for 4 runs: no time limit" in words
    assert sorted(tmp_path.iterdir()) == before


def test_a_dry_run_refuses_what_a_run_refuses(command, write):
    assert command("run", write("name: x"), "--dry-run").exit_code == 2


@pytest.mark.usefixtures("in_process")
def test_times_are_bounded_by_limits_until_a_folder_has_measured_them(write, tmp_path):
    cases = plan(read_experiment(write(PAIRS.replace("[smo, pegasos]", "[smo]"))))
    limited = plan(read_experiment(write(PAIRS + "time_limit: 3\n")))
    bound = estimate(limited, tmp_path / "runs/pairs")
    assert (bound.limited, bound.bounded, bound.source) == (24.0, 8, None)
    folder = tmp_path / "runs/pairs-earlier"
    done = CliRunner().invoke(main, ["run", str(tmp_path / "small.yaml"), "--out", str(folder)])
    assert done.exit_code == 0, done.output
    known = estimate(cases, tmp_path / "runs/pairs")
    results = load_results(folder)
    smo = results[results["solver"] == "smo"]
    assert (known.counted, known.bounded, known.source) == (4, 0, folder)
    medians = (smo["time_solve"] + smo["time_setup"]).groupby(smo["problem_id"]).median()
    assert known.measured == pytest.approx(2 * medians.sum())


def test_pairs_that_are_called_impossible_are_unsupported(write):
    experiment = read_experiment(ROOT / "experiments/configs/quickstart.yaml")
    cases = {
        (case.problem_id, case.solver.name, str(case.solver.settings)): case
        for case in plan(experiment)
    }
    recorded = read_records(ROOT / "results/quickstart")
    ended = recorded.groupby("problem_id")["status"].agg(lambda s: (s == "unsupported").sum())
    found = impossible(cases.values())
    for problem, count in ended.items():
        assert sum(pair[0] == problem for pair in found) == count


def test_an_indefinite_kernel_is_not_judged_without_the_data(write):
    text = PAIRS.replace("C: [1, 2]", "kernel: {name: sigmoid, gamma: 1, coef0: -1}")
    assert (
        impossible(plan(read_experiment(write(text.replace("[smo, pegasos]", "[cvxopt_qp]")))))
        == {}
    )


# -- notebooks -------------------------------------------------------------------------------------


class _Texts(HTMLParser):
    """The tags and texts of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.texts: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)

    def handle_data(self, data):
        self.texts.append(data)


def test_a_solution_and_its_certificate_show_their_numbers_in_a_notebook():
    data = datasets.load("two_moons", n=40)
    solution = solve(SoftMarginDual(data.X, data.y), SMO())
    page = _Texts(solution._repr_html_())
    assert "smo on SoftMarginDual" in page.texts
    assert f"{solution.objective:.10g}" in page.texts
    certificate = _Texts(solution.certificate._repr_html_()).texts
    assert f"{solution.certificate.dual_objective:.10g}" in certificate
    assert "nan" not in " ".join(page.texts + certificate)


def test_an_answer_that_is_missing_shows_why():
    data = datasets.load("two_moons", n=40)
    solution = solve(SoftMarginDual(data.X, data.y), Pegasos())
    texts = _Texts(solution._repr_html_()).texts
    assert solution.reason in texts
    assert _Texts(solution.certificate._repr_html_()).texts.count("unknown") == 2


def test_text_from_outside_cannot_become_a_tag_in_a_notebook():
    data = datasets.load("two_moons", n=40)
    solution = solve(SoftMarginDual(data.X, data.y), Pegasos())
    hostile = replace(solution, note="<script>alert(1)</script>")
    page = _Texts(hostile._repr_html_())
    assert "script" not in page.tags
    assert "<script>alert(1)</script>" in page.texts


def test_colours_are_the_pages_own():
    data = datasets.load("two_moons", n=40)
    page = solve(SoftMarginDual(data.X, data.y), SMO())._repr_html_()
    assert "color:inherit" in page
    assert "#" not in page


# -- published results -----------------------------------------------------------------------------


@pytest.fixture
def published(tmp_path):
    """A copy of two published folders and of the README's tables of them."""
    for name in ("quickstart", "bench_first_order"):
        shutil.copytree(ROOT / "results" / name, tmp_path / "results" / name)
    text = (ROOT / "README.md").read_text()
    begin = text.index("<!-- quickstart table")
    end = text.index("<!-- end of table -->", begin)
    (tmp_path / "README.md").write_text(text[begin:end] + "<!-- end of table -->\n")
    return tmp_path


@pytest.mark.exhaustive  # as `make check` does it too
def test_what_this_repository_publishes_is_up_to_date():
    assert outdated(ROOT) == []


def test_a_number_changed_in_the_readme_is_found(published):
    assert outdated(published) == []
    readme = published / "README.md"
    readme.write_text(readme.read_text().replace("ms", "s", 1))
    assert outdated(published) == ["README.md: the quickstart table is not what results/ says"]


def test_changed_records_make_the_rest_out_of_date(published):
    runs = published / "results/quickstart/runs.csv"
    runs.write_text(runs.read_text().replace("solved", "wrong"))
    faults = outdated(published)
    assert "runs.csv changed after tables and figures were made of it" in faults[0]
    assert faults[1] == "README.md: the quickstart table is not what results/ says"


@pytest.mark.parametrize("change", ["altered", "lost", "added"])
def test_a_figure_that_is_not_of_the_records_is_found(published, change):
    figure = published / "results/quickstart/gap_against_time.svg"
    if change == "lost":
        figure.unlink()
    else:
        (figure if change == "altered" else figure.with_name("new.svg")).write_text("<svg/>")
    (fault,) = outdated(published)
    assert fault.startswith("quickstart: ")
    assert ("new.svg" if change == "added" else figure.name) in fault


def test_a_table_of_a_benchmark_is_derived_again(published):
    folder = published / "results/bench_first_order"
    means = folder / "means.csv"
    heads, first, *rest = means.read_text().splitlines()
    cells = first.split(",")
    cells[3] = str(2 * float(cells[3]))
    means.write_text("\n".join([heads, ",".join(cells), *rest]) + "\n")
    seal(folder)  # as if it had been published so
    assert outdated(published) == ["bench_first_order: means.csv is not what its runs.csv gives"]


@pytest.mark.usefixtures("in_process")
def test_published_records_are_those_of_the_run(write, tmp_path):
    run, published = tmp_path / "run", tmp_path / "published"
    assert CliRunner().invoke(main, ["run", str(write(PAIRS)), "--out", str(run)]).exit_code == 0
    published.mkdir()
    for name in ("runs.csv", "manifest.json"):
        shutil.copy(run / name, published)
    again, before = read_records(published), load_results(run)
    assert list(again) == list(before)
    numbers = before.select_dtypes("float").columns
    assert again[numbers].equals(before[numbers])
    texts = before.columns.difference(numbers)
    assert again[texts].fillna("").equals(before[texts].fillna(""))
