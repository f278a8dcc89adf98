"""What the tests of figures share: rows of results, their traces, and answers in the plane."""

import pandas as pd
import pytest
from tests.experiments.rows import labelled, run

from dualgap.experiments.analysis.results import Results
from dualgap.experiments.plots.runs import Runs
from dualgap.experiments.plots.style import style
from dualgap.problems import RBF, SoftMarginDual
from dualgap.problems.datasets import TwoMoons

NAN = float("nan")

LOOKS = ["run_id", "time", "iteration", "primal_objective", "dual_objective", "gap"]
LOOKS += ["kkt_violation", "n_support", "objective", "relative_gap"]


def tables(rows, gaps=None):
    """Return results and traces; `gaps` gives relative gaps for the runs, by position."""
    results = pd.DataFrame(labelled(rows))
    results["run_id"] = [f"r{i}" for i in range(len(rows))]
    trace = [
        (f"r{i}", 10.0**k, 3.0**k, 2.0, 2.0 * (1 - gap), 2.0 * gap, gap, 5.0, 2.0, gap)
        for i, gap_values in (gaps or {}).items()
        for k, gap in enumerate(gap_values)
    ]
    return results, pd.DataFrame(trace, columns=LOOKS)


def drawn(results, *other_tables, **more):
    """Return runs as the figures of a folder have them."""
    return Runs(Results(results).without_repeats, *(other_tables or [pd.DataFrame()]), **more)


def runs_of(rows, gaps=None):
    return drawn(*tables(rows, gaps))


@pytest.fixture(autouse=True)
def in_style():
    with style():
        yield


@pytest.fixture(scope="module")
def moons():
    data = TwoMoons(n=40, seed=1).load()
    return SoftMarginDual(data.X, data.y, 2.0, RBF(1.0))


def row_of(solution, **changes):
    certificate, p = solution.certificate, solution.problem
    record = {
        "n": float(p.n),
        "d": float(p.d),
        "C": getattr(p, "C", NAN),
        "lam": getattr(p, "lam", NAN),
    }
    values = {"verdict": solution.verdict, "relative_gap": certificate.relative_gap}
    return run(**record, **values, **changes)
