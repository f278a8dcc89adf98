"""The caption of a table for papers."""

from experiments.tables.chosen import paper_table


def test_the_caption_names_target_machine_and_repetitions(results, times):
    caption = paper_table(results(times("moons", "smo", [1.0, 1.1, 1.2]))).title
    for shown in ("1e-06", "A & B_1, 2 cores, 16.00 GiB", "medians of 3 runs", "2026-01-02"):
        assert shown in caption
