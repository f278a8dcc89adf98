"""The gallery: the numbers behind every figure, and that each is drawn. No test looks at pixels."""

import ast
import importlib
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from experiments import gallery
from experiments.cli import main
from experiments.gallery.kernels import rbf_as_neighbours
from experiments.gallery.training import dual_ascent_trajectory, smo_clipping_box
from experiments.gallery.training.coordinate_descent_path import f as smooth
from experiments.gallery.training.pegasos_trajectory import LAM, risk
from experiments.gallery.training.projections import DELTA, SETS, A, C
from problems import Vector
from solvers import Solution

SCRIPTS = sorted(path for path in Path(gallery.__file__).parent.glob("*/[!_]*.py"))
MOST_LINES = 60  # of code: a script is read in class


def script_of(name: str) -> Any:
    return importlib.import_module(f"experiments.gallery.{gallery.FIGURES[name]}.{name}")


@cache
def numbers(name: str) -> Any:
    """Compute a figure's numbers, once for all tests."""
    return script_of(name).compute()


def slacks(solution: Solution) -> Vector:
    return solution.problem.y * solution.geometry.decision


@pytest.mark.parametrize("name", gallery.FIGURES)
def test_every_figure_is_drawn(name: str, tmp_path: Path) -> None:
    svg, png = gallery.write(script_of(name).draw, numbers(name), name, tmp_path)
    assert (svg.name, png.name) == (f"{name}.svg", f"{name}.png")
    assert "<svg" in svg.read_text()


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_every_script_is_short_titled_and_says_which_notes_it_is_from(path: Path) -> None:
    tree = ast.parse(path.read_text())
    doc = ast.get_docstring(tree) or ""
    title, rule, *_ = doc.splitlines()
    assert set(rule) == {"="}
    assert len(rule) >= len(title)
    assert "\nFrom " in doc
    code = path.read_text().splitlines()[tree.body[0].end_lineno :]
    assert sum(bool(line.strip()) for line in code) <= MOST_LINES


def test_the_list_of_figures_has_every_script() -> None:
    assert {path.stem: path.parent.name for path in SCRIPTS} == gallery.FIGURES


def test_the_command_draws_what_it_is_told_to(tmp_path: Path) -> None:
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


def test_a_script_of_ones_own_is_drawn_by_its_path_and_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown: list[str] = []
    monkeypatch.setattr("click.launch", lambda path: shown.append(path) or 0)
    source = Path(smo_clipping_box.__file__).read_text()
    (tmp_path / "mine.py").write_text(source.replace("C = 1.0", "C = 2.0"))
    command = ["gallery", str(tmp_path / "mine.py"), "--show", "--out", str(tmp_path / "figures")]
    result = CliRunner().invoke(main, command)
    assert result.exit_code == 0, result.output
    assert shown == [str(tmp_path / "figures" / "mine.png")]
    assert Path(shown[0]).is_file()


@pytest.mark.parametrize(
    ("code", "message"),
    [
        (None, "there is no script"),
        ("x = (", "line 1: '(' was never closed"),
        ("def compute():\n    pass", "has no function draw"),
    ],
)
def test_what_is_no_script_of_a_figure_is_refused(tmp_path: Path, code: Any, message: str) -> None:
    if code is not None:
        (tmp_path / "mine.py").write_text(code)
    result = CliRunner().invoke(main, ["gallery", str(tmp_path / "mine.py")])
    assert result.exit_code == 2
    assert message in result.output


def test_support_vectors_of_the_maximal_margin_lie_on_it_and_others_beyond() -> None:
    solution = numbers("margin_and_support_vectors")
    margins, support = slacks(solution), solution.geometry.support
    assert solution.verdict == "solved"
    assert np.allclose(margins[support], 1.0, atol=1e-6)
    assert (np.delete(margins, support) > 1.0).all()
    assert len(support) == 3


def test_the_perceptrons_separate_with_smaller_margins_and_few_mistakes() -> None:
    maximal, found, bound = numbers("perceptron_and_margin")
    assert maximal.verdict == "solved"
    assert len({round(float(np.arctan2(*s.w)), 3) for s in found}) == len(found), "lines differ"
    for solution in found:
        assert (slacks(solution) > 0).all()
        assert 0 < solution.iterations <= bound
        assert solution.geometry.distances.min() <= maximal.geometry.distances.min()


def test_slacks_show_every_case() -> None:
    solution = numbers("slack_cases")
    xi, kinds = solution.geometry.slacks, solution.geometry.kinds
    assert solution.verdict == "solved"
    assert (xi > 1).any()
    assert ((xi > 1e-6) & (xi < 1)).any()
    assert (kinds[xi > 1e-6] == "bounded").all()
    assert np.allclose(slacks(solution)[kinds == "free"], 1.0, atol=1e-6)
    assert (xi[kinds == "zero"] <= 1e-6).all()


@pytest.mark.parametrize("name", ["loss_comparison", "surrogate_losses"])
def test_losses_are_what_their_names_say(name: str) -> None:
    margin, losses = numbers(name)
    hinge = next(v for k, v in losses.items() if k.startswith("hinge"))
    assert np.allclose(hinge, np.maximum(0, 1 - margin))
    assert np.array_equal(losses["0-1"], margin < 0)


def test_surrogates_lie_above_the_number_of_mistakes_and_pass_through_0_1() -> None:
    margin, losses = numbers("surrogate_losses")
    at_zero = int(np.abs(margin).argmin())
    for name, value in losses.items():
        assert (value >= losses["0-1"]).all()
        assert name == "0-1" or value[at_zero] == pytest.approx(1.0)


def test_a_gaussian_kernel_separates_the_moons_and_its_vectors_are_on_the_margin() -> None:
    solution = numbers("gaussian_kernel")
    assert solution.verdict == "solved"
    assert np.allclose(slacks(solution)[solution.geometry.support], 1.0, atol=1e-3)


def test_every_rbf_surface_is_solved_and_C_takes_vectors_away() -> None:
    solutions = numbers("rbf_surfaces")
    assert all(solution.verdict == "solved" for solution in solutions.values())
    for gamma in {gamma for _, gamma in solutions}:
        (_, few), (_, many) = sorted(
            (C, len(solutions[C, gamma].geometry.support)) for C in (0.3, 100.0)
        )
        assert few > many


def test_votes_and_the_intercept_add_up_to_the_decision() -> None:
    line, plane = numbers("rbf_as_neighbours")
    for solution, points in (
        (line, np.linspace(0, 5, 7)[:, None]),
        (plane, rbf_as_neighbours.QUERY),
    ):
        total = rbf_as_neighbours.votes(solution, points).sum(axis=1) + solution.b
        assert np.allclose(total, solution.decision_function(points))


def test_only_curved_kernels_separate_four_gaussians() -> None:
    solutions = numbers("kernel_comparison")
    right = {k: (s.predict(s.problem.X) == s.problem.y).mean() for k, s in solutions.items()}
    assert all(solution.verdict == "solved" for solution in solutions.values())
    assert right["linear"] < 0.9
    assert min(right["Gaussian"], right["polynomial, degree 4"]) > 0.99


def test_far_samples_turn_the_discriminant_and_not_the_machine() -> None:
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
        others = np.linalg.norm(points[:, None] - on_both, axis=2).min(axis=1)
        assert (distance <= others + 1e-12).all()


def test_the_dual_rises_to_the_primal_and_the_path_stays_in_its_box() -> None:
    path, bounds = numbers("dual_ascent_trajectory")
    C = dual_ascent_trajectory.C
    assert ((path >= 0) & (path <= C)).all()
    assert path[-1, 0] == C, "it ends at a wall"
    dual, primal = bounds.T
    assert (np.diff(dual) >= -1e-12).all()
    assert (dual <= primal).all()
    assert primal[-1] - dual[-1] <= 1e-2 * primal[-1]


def test_the_training_picture_ends_certified_with_fewer_support_vectors() -> None:
    solution = numbers("training_picture")
    counts = [int(np.count_nonzero(look.certificate.point.alpha)) for look in solution.trace]
    assert solution.verdict == "solved"
    assert counts[-1] < max(counts)  # the first look may be at the start, where α = 0


def test_pegasos_stays_in_its_ball_and_its_average_ends_near_the_optimum() -> None:
    problem, paths, optimum = numbers("pegasos_trajectory")
    best = risk(problem, optimum)
    for path in paths.values():
        assert (np.linalg.norm(path, axis=1) <= LAM**-0.5 + 1e-9).all()
        assert min(risk(problem, w) for w in path) >= best - 1e-9
    assert risk(problem, paths["their average"][-1]) <= 1.1 * best


def test_support_vectors_of_the_regression_are_on_or_outside_the_tube() -> None:
    for solution in numbers("svr_tube").values():
        error = np.abs(solution.problem.y - solution.geometry.decision)
        kinds, epsilon = solution.geometry.kinds, solution.problem.tube
        assert solution.verdict == "solved"
        assert (error[kinds == "zero"] <= epsilon + 1e-3).all()
        assert np.allclose(error[kinds == "free"], epsilon, atol=1e-3)
        assert (error[kinds == "bounded"] >= epsilon - 1e-3).all()


def test_both_strategies_for_several_classes_are_solved_and_know_their_samples() -> None:
    for solution in numbers("several_classes"):
        assert solution.verdict == "solved"
        assert (solution.predict(solution.problem.X) == solution.problem.y).mean() > 0.9


def test_nu_is_between_the_shares_of_errors_and_of_support_vectors() -> None:
    for shares in numbers("nu_property").values():
        assert len(shares.nu) > 10
        assert (shares.errors <= shares.nu + 1e-12).all()
        assert (shares.support >= shares.nu - 1e-6).all()
