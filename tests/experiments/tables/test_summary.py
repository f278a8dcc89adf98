"""The summary of a run, and how the terminal shows it."""

import re

import pandas as pd
import pytest
from rich.console import Console
from tests.experiments.rows import labelled, repeated, results_from, run

from dualgap.experiments.analysis.results import Results
from dualgap.experiments.tables.summary import summarise, to_markdown, to_terminal


def printed(summary):
    """Return the summary as a terminal of 100 columns has it."""
    console = Console(width=100)
    with console.capture() as captured:
        console.print(to_terminal(summary))
    return captured.get()


def test_one_repetition_is_ranked_by_time_alone():
    rows = [*repeated("smo", [1.0]), *repeated("libsvm", [1.01]), *repeated("one_dal", [1.01])]
    summary = summarise(results_from(*rows))
    assert summary["rank"].tolist() == [1, 2, 2]
    assert summary["low"].isna().all()
    assert "within the noise" not in printed(summary)


@pytest.mark.parametrize("verdict", ["uncertified", "inaccurate", "wrong"])
def test_only_certified_solvers_are_ranked_or_are_the_reference(verdict):
    uncertified = [row | {"verdict": verdict} for row in repeated("libsvm", [0.1, 0.1, 0.1])]
    summary = summarise(results_from(*uncertified, *repeated("smo", [1.0, 1.0, 1.0])))
    assert summary["solver"].tolist() == ["smo", "libsvm"]
    assert summary["rank"].tolist()[0] == 1
    assert summary["ratio"].tolist()[0] == 1
    assert summary[["rank", "ratio"]].iloc[1].isna().all()


def test_an_aa_repeat_without_an_answer_is_not_listed_separately():
    rows = repeated("smo", [1.0]) + repeated("smo", [1.0], aa_repeat=True)
    rows = [row | {"verdict": "uncertified", "status": "unsupported"} for row in rows]
    assert summarise(results_from(*rows))["solver"].tolist() == ["smo"]
    rows[1]["status"] = "crashed"
    summary = summarise(results_from(*rows))
    assert summary["solver"].tolist() == ["smo", "smo (A/A)"]
    assert summary["ratio"].isna().all()


def test_the_terminal_lists_40_problems_with_failures_first():
    rows = [row for i in range(99) for row in repeated("smo", [1.0], f"p{i}")]
    rows += repeated("smo", [1.0], "last", status="crashed", verdict="uncertified")
    text = printed(summarise(results_from(*rows)))
    titles = [line.strip() for line in text.splitlines() if re.fullmatch(r"(p\d+|last) *", line)]
    assert titles == ["last", *(f"p{i}" for i in range(39))]
    assert "... and 60 more problems, in summary.md" in text


def results_of(*hosts):
    rows = [
        run(problem, host=host, time_solve=float(seconds))
        for problem in "pq"
        for seconds, host in enumerate(hosts, 1)
    ]
    return pd.DataFrame(labelled(rows))


def test_a_table_of_one_host_does_not_mention_it():
    one = results_of("ape", "ape")
    assert Results(one).runs["problem_id"].tolist() == one["problem_id"].tolist()
    assert "hosts" not in to_markdown(summarise(Results(one)), "x")
    lost = one.assign(host=["ape", None, "ape", "ape"])
    assert Results(lost).runs["problem_id"].tolist() == lost["problem_id"].tolist()
