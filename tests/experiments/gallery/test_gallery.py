"""The gallery: the numbers behind every figure, and that each is drawn. No test looks at pixels."""

import ast
import importlib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from tests.halves import quick_cases

from dualgap.experiments import gallery
from dualgap.experiments.cli import main
from dualgap.experiments.gallery.kernels import rbf_as_neighbours
from dualgap.experiments.gallery.training import dual_ascent_trajectory, smo_clipping_box
from dualgap.experiments.gallery.training.coordinate_descent_path import f as smooth
from dualgap.experiments.gallery.training.pegasos_trajectory import LAM, risk
from dualgap.experiments.gallery.training.projections import DELTA, SETS, A, C
from dualgap.problems import Vector
from dualgap.solvers import Solution

SCRIPTS = sorted(path for path in Path(gallery.__file__).parent.glob("*/[!_]*.py"))
FEW = ("svr_tube", "rbf_as_neighbours", "slack_cases", "coordinate_descent_path")  # of each folder
MOST_LINES = 60  # of code: a script is read in class


def script_of(name: str) -> Any:
    return importlib.import_module(f"dualgap.experiments.gallery.{gallery.FIGURES[name]}.{name}")


@cache
def numbers(name: str) -> Any:
    """Compute a figure's numbers, once for all tests."""
    return script_of(name).compute()


def slacks(solution: Solution) -> Vector:
    return solution.problem.y * solution.geometry.decision


@pytest.mark.parametrize("name", quick_cases(gallery.FIGURES, FEW))
def test_every_figure_is_drawn(name: str, tmp_path: Path) -> None:
    svg, png = gallery.write(script_of(name), numbers(name), name, tmp_path)
    assert (svg.name, png.name) == (f"{name}.svg", f"{name}.png")
    assert "<svg" in svg.read_text()


def test_every_script_is_short_and_has_a_title_and_a_source() -> None:
    for path in SCRIPTS:
        tree = ast.parse(path.read_text())
        doc = ast.get_docstring(tree) or ""
        title, rule, *_ = doc.splitlines()
        assert set(rule) == {"="}, path
        assert len(rule) >= len(title), path
        assert "\nFrom " in doc, path
        code = path.read_text().splitlines()[tree.body[0].end_lineno :]
        assert sum(bool(line.strip()) for line in code) <= MOST_LINES, path


def test_the_list_of_figures_has_every_script() -> None:
    assert {path.stem: path.parent.name for path in SCRIPTS} == gallery.FIGURES


def test_the_command_draws_the_named_figure(tmp_path: Path) -> None:
    result = CliRunner().invoke(main, ["gallery", "surrogate_losses", "--out", str(tmp_path)])
    assert result.exit_code == 0
    assert {path.name for path in tmp_path.iterdir()} == {
        "surrogate_losses.png",
        "surrogate_losses.svg",
    }


def test_an_unknown_figure_is_refused_before_any_is_drawn(tmp_path: Path) -> None:
    out = tmp_path / "none"
    result = CliRunner().invoke(main, ["gallery", "svr_tube", "svr_tub", "--out", str(out)])
    assert result.exit_code == 2
    assert (
        "no figure 'svr_tub'; give a script's path, or one of perceptron_and_margin, "
        in result.output
    )
    assert not out.exists()


def test_a_user_script_is_drawn_by_its_path_and_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []
    monkeypatch.setattr("click.launch", lambda path: opened.append(path) or 0)
    source = Path(smo_clipping_box.__file__).read_text()
    (tmp_path / "mine.py").write_text(source.replace("C = 1.0", "C = 2.0"))
    command = ["gallery", str(tmp_path / "mine.py"), "--show", "--out", str(tmp_path / "figures")]
    result = CliRunner().invoke(main, command)
    assert result.exit_code == 0, result.output
    assert opened == [str(tmp_path / "figures" / "mine.png")]
    assert Path(opened[0]).is_file()


@pytest.mark.parametrize(
    ("code", "message"),
    [
        (None, "there is no script"),
        ("x = (", "line 1: '(' was never closed"),
        ("def compute():\n    pass", "has no function draw"),
    ],
)
def test_an_invalid_figure_script_is_refused(tmp_path: Path, code: Any, message: str) -> None:
    if code is not None:
        (tmp_path / "mine.py").write_text(code)
    result = CliRunner().invoke(main, ["gallery", str(tmp_path / "mine.py")])
    assert result.exit_code == 2
    assert message in result.output


def solutions_in(machines: Any) -> Iterator[Solution]:
    """Yield the answers among a figure's numbers, however deep they are."""
    if isinstance(machines, Solution):
        yield machines
    elif isinstance(machines, (tuple, list, dict)):
        for inside in machines.values() if isinstance(machines, dict) else machines:
            yield from solutions_in(inside)


@pytest.mark.parametrize("name", quick_cases(gallery.FIGURES, FEW))
def test_every_answer_is_certified_and_its_free_vectors_are_on_the_margin(name: str) -> None:
    for solution in solutions_in(numbers(name)):
        if solution.solver.name not in ("lda", "perceptron"):
            assert solution.verdict == "solved"
            if name != "several_classes":
                free, problem = solution.geometry.kinds == "free", solution.problem
                off = (
                    problem.y - solution.geometry.decision
                    if name == "svr_tube"
                    else slacks(solution)
                )
                expected = problem.risk.loss.tube if name == "svr_tube" else 1.0
                assert np.allclose(np.abs(off)[free], expected, atol=1e-2)


def test_the_perceptrons_separate_with_smaller_margins_within_the_mistake_bound() -> None:
    maximal, machines, bound = numbers("perceptron_and_margin")
    assert maximal.verdict == "solved"
    assert len({round(float(np.arctan2(*s.w)), 3) for s in machines}) == len(machines), (
        "lines differ"
    )
    for solution in machines:
        assert (slacks(solution) > 0).all()
        assert 0 < solution.iterations <= bound
        assert solution.geometry.distances.min() <= maximal.geometry.distances.min()


def test_surrogates_lie_above_the_number_of_mistakes_and_pass_through_0_1() -> None:
    margin, losses = numbers("surrogate_losses")
    at_zero = int(np.abs(margin).argmin())
    for name, value in losses.items():
        assert (value >= losses["0-1"]).all()
        assert name == "0-1" or value[at_zero] == pytest.approx(1.0)


def test_votes_and_the_intercept_add_up_to_the_decision() -> None:
    line, plane = numbers("rbf_as_neighbours")
    for solution, points in (
        (line, np.linspace(0, 5, 7)[:, None]),
        (plane, rbf_as_neighbours.QUERY),
    ):
        total = rbf_as_neighbours.votes(solution, points).sum(axis=1) + solution.b
        assert np.allclose(total, solution.decision_function(points))


def test_distant_samples_rotate_the_discriminant_but_not_the_machine() -> None:
    before, after = numbers("lda_against_svm").values()

    def turned(name: str) -> float:
        u, v = (answers[name].w / np.linalg.norm(answers[name].w) for answers in (before, after))
        return float(np.degrees(np.arccos(np.clip(u @ v, -1, 1))))

    assert turned("linear SVM") < 5
    assert turned("LDA") > 20


def test_the_path_of_coordinate_descent_goes_down_one_coordinate_at_a_time() -> None:
    path = numbers("coordinate_descent_path")
    assert (np.diff([smooth(x) for x in path]) <= 0).all()
    assert (np.count_nonzero(np.diff(path, axis=0), axis=1) <= 1).all()
    around = path[-1] + 1e-3 * np.random.default_rng(0).standard_normal((50, 2))
    assert min(smooth(x) for x in around) >= smooth(path[-1])


@pytest.mark.parametrize("equal", [True, False])
def test_the_clipped_pair_stays_in_the_box_and_on_its_line(equal: bool) -> None:
    rng, C = np.random.default_rng(1), smo_clipping_box.C
    for a_i, a_j, best in rng.uniform([0, 0, -2], [C, C, 3], (200, 3)):
        L, H = smo_clipping_box.ends(a_i, a_j, equal)
        assert L <= a_j <= H
        moved = np.clip(best, L, H) - a_j
        assert -1e-12 <= (a_i - moved if equal else a_i + moved) <= C + 1e-12
    assert all(0 <= m["L"] < m["H"] <= C for m in numbers("smo_clipping_box")[equal].values())


def test_projections_are_feasible_and_no_feasible_point_is_nearer() -> None:
    points, nearest = numbers("projections")
    t = np.linspace(0, C - DELTA, 200)
    on_both = np.column_stack([t + DELTA, t])
    for name, (boxed, level) in SETS.items():
        goals = nearest[name]
        assert not boxed or ((goals >= 0) & (goals <= C)).all()
        assert not level or np.allclose(goals @ A, DELTA)
        distance = np.linalg.norm(points - goals, axis=1)
        far = np.linalg.norm(points[:, None] - on_both, axis=2).min(axis=1)
        assert (distance <= far + 1e-12).all()


def test_the_dual_rises_to_the_primal_and_the_path_stays_in_its_box() -> None:
    path, bounds = numbers("dual_ascent_trajectory")
    C = dual_ascent_trajectory.C
    assert ((path >= 0) & (path <= C)).all()
    assert path[-1, 0] == C, "it ends at a wall"
    dual, primal = bounds.T
    assert (np.diff(dual) >= -1e-12).all()
    assert (dual <= primal).all()
    assert primal[-1] - dual[-1] <= 1e-2 * primal[-1]


def test_pegasos_stays_in_its_ball_and_its_average_approaches_the_optimum() -> None:
    problem, paths, optimum = numbers("pegasos_trajectory")
    best = risk(problem, optimum)
    for path in paths.values():
        assert (np.linalg.norm(path, axis=1) <= LAM**-0.5 + 1e-9).all()
        assert min(risk(problem, w) for w in path) >= best - 1e-9
    assert risk(problem, paths["their average"][-1]) <= 1.1 * best


def test_nu_is_between_the_fractions_of_errors_and_of_support_vectors() -> None:
    for shares in numbers("nu_property").values():
        assert len(shares.nu) > 10
        assert (shares.errors <= shares.nu + 1e-12).all()
        assert (shares.support >= shares.nu - 1e-6).all()


def test_two_scripts_of_one_name_are_refused_before_any_is_drawn(tmp_path: Path) -> None:
    for week in ("one", "two"):
        (tmp_path / week).mkdir()
        (tmp_path / week / "mine.py").write_text("def compute(): ...\ndef draw(numbers): ...\n")
    scripts = [str(tmp_path / week / "mine.py") for week in ("one", "two")]
    out = tmp_path / "figures"
    result = CliRunner().invoke(main, ["gallery", *scripts, "--out", str(out)])
    assert result.exit_code == 2
    assert "several scripts are named mine" in result.output
    assert not out.exists()
