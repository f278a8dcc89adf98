"""Times relative to our fastest solver, drawn."""

from tests.experiments.rows import problem_spec, results_from, timed

from dualgap.experiments.analysis.labels import words_of
from dualgap.experiments.analysis.means import compared
from dualgap.experiments.plots.figures.speedup import speedup


def drawn_of(results):
    return speedup(compared(results), words_of(results.by_optimum))


def test_a_figure_has_a_panel_for_each_target_reached_by_dualgap_solvers():
    rows = [
        timed(tol=1e-6, gap=5e-7),
        *(timed("libsvm", tol=t, time=4.0, gap=5e-4) for t in (1e-3, 1e-6)),
        *(timed("one_dal", tol=t, gap=1.0) for t in (1e-3, 1e-6)),
        timed("liblinear", gap=1.0),  # which was not asked for more
    ]
    axes = drawn_of(results_from(*rows)).axes
    assert [ax.get_title() for ax in axes] == ["gap ≤ 1e-03", "gap ≤ 1e-06"]
    drawn = [[float(x) for line in ax.lines for x in line.get_xdata()] for ax in axes]
    edge = axes[0].get_xlim()[1]
    assert 4.0 in drawn[0]
    assert drawn[0].count(edge) == 1
    assert drawn[1].count(edge) == 2


def test_the_fastest_dualgap_solver_of_several_is_drawn_too():
    rows = [
        timed(problem="p", tol=1e-3),
        timed(problem="q", tol=1e-3, time=3.0),
        timed("semismooth_newton", problem="q", tol=1e-3),
        *(timed("libsvm", problem=name, tol=1e-3, time=5.0) for name in "pq"),
    ]
    ax = drawn_of(results_from(*rows)).axes[0]
    points = [line for line in ax.lines if line.get_linestyle() == "None"]
    drawn = sorted(float(x) for line in points for x in line.get_xdata())
    assert drawn == [1.0, 1.0, 3.0, 5.0, 5.0]


def test_rows_that_do_not_fit_are_named_by_their_data_sets():
    kernels = [{"name": "rbf", "gamma": gamma} for gamma in (0.0833333, 0.125)]
    problems = [
        problem_spec(
            "cpusmall", "svr_dual", params={"kernel": kernels[0], "C": 184.008, "epsilon": 1.84008}
        ),
        problem_spec(
            "friedman", "svr_dual", params={"kernel": kernels[1], "C": 56.8325, "epsilon": 0.56832}
        ),
    ]
    rows = [
        timed(solver, problem=name, tol=1e-3, time=time)
        for name in problems
        for solver, time in (("smo", 1.0), ("libsvm", 5.0))
    ]
    axes = drawn_of(results_from(*rows)).axes
    names = [label.get_text() for label in axes[0].get_yticklabels()]
    assert names == ["cpusmall", "friedman"]
