"""Medians and settings of configurations."""

from experiments.analysis.configurations import configurations


def test_times_are_medians_and_gaps_the_worst_of_the_repetitions(timed, table_of):
    rows = [
        timed(time=t, gap=g, repetition=i)
        for i, (t, g) in enumerate([(1, 1e-5), (9, 2e-3), (2, 0)])
    ]
    (row,) = configurations(table_of(*rows)).to_dict("records")
    assert (row["time"], row["gap"], row["runs"]) == (2.0, 2e-3, 3)
