"""A benchmark in words."""

from typing import get_args

import pandas as pd
from tests.experiments.rows import timed

from dualgap.experiments.tables.formats import precision_text
from dualgap.solvers.base import Precision

PRECISIONS = get_args(Precision)


def test_a_page_of_several_benchmarks_states_the_precision_of_each():
    old, new = (pd.DataFrame([timed("one_dal", params=f'{{"dtype": "{d}"}}')]) for d in PRECISIONS)
    assert precision_text({"a": old, "b": old, "c": pd.concat([old, new])}) == (
        "Precision of the samples, for baselines with a choice: "
        "one_dal float64 and float32 (c), one_dal float64 only (a, b)."
    )
