"""Rows of the figure of speed-ups: which problems have one, and that their labels differ."""

import pandas as pd

from dualgap.experiments.plots.figures.speedup import speedup

KERNELS = [
    "polynomial(degree=2, gamma=0.005, coef0=1)",
    "polynomial(degree=3, gamma=0.005, coef0=1)",
]


def labels(words, outcomes):
    rows = [
        {"problem": problem, "solver": solver, "kind": kind, "target": 1e-3, "ratio": ratio}
        | {"time": ratio, "outcome": outcome}
        for problem, outcome in zip(words, outcomes, strict=True)
        for solver, kind, ratio, outcome in (
            ("smo", "ours", 1.0, "reached"),
            ("libsvm", "peer", 2.0 if outcome == "reached" else float("nan"), outcome),
        )
    ]
    axes = speedup(pd.DataFrame(rows), words).axes[0]
    return [label.get_text() for label in axes.get_yticklabels()]


def test_long_names_keep_the_parameters_in_which_they_differ():
    words = {
        kernel: ("classification(n=10000, d=100)", "soft_margin_dual", kernel, f"C={C}")
        for C, kernel in enumerate(KERNELS)
    }
    texts = labels(words, ["reached", "reached"])
    assert [f"degree={d}" in text for text, d in zip(texts, (2, 3), strict=True)] == [True, True]
    assert not any("…" in text for text in texts)


def test_problems_that_no_baseline_supports_have_no_row():
    words = {name: (name, "soft_margin_dual") for name in ("a9a", "w8a")}
    assert labels(words, ["reached", "unsupported"]) == ["a9a soft_margin_dual"]
