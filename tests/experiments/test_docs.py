"""The documentation's pages: what is made of docstrings, and that every tutorial is listed.

The tutorials themselves are run by `make docs`, which fails where a command of theirs does.
"""

import importlib.util
from io import StringIO
from pathlib import Path

import pandas as pd
import pytest
from pandas.testing import assert_frame_equal
from tests.shown import README

from dualgap.experiments.analysis.results import Results
from dualgap.experiments.cli import main
from dualgap.experiments.store.reading import load_results
from dualgap.experiments.tables.claims import claims

DOCS = Path(__file__).parents[2] / "experiments" / "docs"


def _extension(name):
    spec = importlib.util.spec_from_file_location(name, DOCS / "_extensions" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def pages(docstring: str) -> str:
    return "\n".join(_extension("docstrings").readable(docstring.splitlines()))


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("max(0, |y − f| − epsilon)", r"max(0, \|y − f\| − epsilon)"),
        ("the α − α* of the textbooks", r"the α − α\* of the textbooks"),
        ("coef_ and n_iter_", r"coef\_ and n_iter\_"),
        ("`a|b` and ``c*d``", "`a|b` and ``c*d``"),
        ("it is *ambiguous* there", "it is *ambiguous* there"),
    ],
)
def test_mathematics_is_not_parsed_as_markup(text: str, escaped: str):
    assert _extension("docstrings").escape(text) == escaped


def test_docstrings_are_converted_to_formulas_lists_and_names():
    page = pages(
        "The problem is\n    min |x|\nwith two cases:\none    this *\nmore   that\nVariants:\n"
        "- plain: one that\n  goes on\n- other\n\nParameters\n----------\nx : where to begin,\n"
        "    a vector.\ncoef_ :\n    weights.\na, b\n    Both.\nc,\nd_, e : as of x.\n\n"
        "Returns\n-------\nVector\n    It."
    )
    assert "The problem is\n\n::\n\n        min |x|\n\nwith two cases:" in page
    assert (
        "::\n\n    one    this *\n    more   that\n\nVariants:\n\n- plain: one that\n  goes on\n- other"
        in page
    )
    assert (
        ".. rubric:: Parameters\n\n- ``x``: where to begin,\n  a vector.\n- ``coef_``: \n  weights."
        in page
    )
    assert "- ``a, b``: \n  Both.\n- ``c, d_, e``: as of x." in page
    assert "Returns\n-------\nVector\n    It." in page


def test_every_page_has_a_title_and_is_in_the_index():
    pages = sorted(DOCS.glob("*/*.rst"))
    for page in (*pages, DOCS / "index.rst"):
        title, line = page.read_text().splitlines()[:2]
        assert line == "=" * len(title), page
    index = (DOCS / "index.rst").read_text()
    assert len(pages) == 38
    assert all(f"   {page.relative_to(DOCS).with_suffix('')}\n" in index for page in pages)


def test_the_maros_meszaros_table_equals_the_published_records():
    published = load_results(DOCS.parents[1] / "results" / "maros_meszaros")
    table, content = StringIO(claims(Results(published)).csv()), "tutorials/maros_meszaros.csv"
    assert_frame_equal(pd.read_csv(table), pd.read_csv(DOCS / content), check_dtype=False)


def test_the_table_of_qpbenchmarks_settings_equals_the_published_records():
    runs = load_results(DOCS.parents[1] / "results" / "mpc")
    runs = runs[runs.groupby("problem_id")["verdict"].transform(lambda v: "infeasible" not in {*v})]
    lines = (DOCS / "tutorials" / "certify_a_qp.rst").read_text().splitlines()
    start = next(i for i, line in enumerate(lines) if ":header: back end, low_accuracy" in line)
    for name, *counts in (line.split(", ") for line in lines[start + 2 : start + 8]):
        expected: list[int] = []
        for settings, tol in (("low_accuracy", 1e-3), ("high_accuracy", 1e-9)):
            answers = runs[runs["label"] == f"{name.strip()} ({settings})"]
            conditions = answers[["primal_residual", "dual_residual", "duality_gap"]] <= tol
            expected += [(answers["relative_gap"] <= 1e-6).sum(), conditions.all(axis=1).sum()]
        assert list(map(int, counts)) == expected


def test_every_command_and_every_kind_of_names_is_on_a_page():
    content = "".join(page.read_text() for page in DOCS.glob("reference/*.rst"))
    assert all(f"   dualgap {name} --help\n" in f"{content}\n" for name in main.commands)
    (kind,) = (option for option in main.commands["list"].params if option.name == "kind")
    assert all(
        f"dualgap list {name}" in content for name in kind.type.choices if name != "properties"
    )


def test_the_solver_of_the_tutorial_is_the_one_of_the_readme():
    def code(text: str) -> str:
        start = text.index("@dataclass(frozen=True)")
        lines = text[start : text.index('claim="stopped")', start)].splitlines()
        return "\n".join(line.strip() for line in lines).replace("5000", "1000")

    assert code((DOCS / "tutorials" / "add_a_solver.rst").read_text()) == code(README)
