"""Times relative to our fastest solver, drawn."""

from experiments.analysis.cheapest import cheapest
from experiments.benchmark.speedup import speedup
from experiments.plots.style import style


def test_a_figure_has_a_panel_for_each_target_that_ours_reached(timed, table_of):
    rows = [
        timed(tol=1e-6, gap=5e-7),
        *(timed("libsvm", tol=t, time=4.0, gap=5e-4) for t in (1e-3, 1e-6)),
        *(timed("one_dal", tol=t, gap=1.0) for t in (1e-3, 1e-6)),
        timed("liblinear", gap=1.0),  # which was not asked for more
    ]
    with style():
        axes = speedup(cheapest(table_of(*rows))).axes
    assert [ax.get_title() for ax in axes] == ["gap ≤ 1e-03", "gap ≤ 1e-06"]
    drawn = [[float(x) for line in ax.lines for x in line.get_xdata()] for ax in axes]
    edge = axes[0].get_xlim()[1]
    assert 4.0 in drawn[0]
    assert drawn[0].count(edge) == 1
    assert drawn[1].count(edge) == 2
