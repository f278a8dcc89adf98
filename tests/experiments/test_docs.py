"""The documentation's pages: what is made of docstrings, and that every tutorial is listed.

The tutorials themselves are run by `make docs`, which fails where a command of theirs does.
"""

import importlib.util
from pathlib import Path

import pytest

from experiments.files.keys import ExperimentFile
from tests.shown import README

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
def test_mathematics_is_no_markup(text: str, escaped: str):
    assert _extension("docstrings").escape(text) == escaped


def test_indented_lines_and_columns_are_shown_as_they_are():
    page = pages(
        "The problem is\n    min |x|\nwith two cases:\none    this *\nmore   that\nThe end."
    )
    assert "The problem is\n\n::\n\n        min |x|\n\nwith two cases:" in page
    assert "::\n\n    one    this *\n    more   that\n\nThe end." in page


def test_a_list_that_follows_a_sentence_is_a_list():
    page = pages("Variants:\n- plain: one that\n  goes on\n- other")
    assert page.startswith("Variants:\n\n- plain: one that\n  goes on\n- other")


def test_names_and_what_they_are_become_a_list_and_other_sections_stay():
    page = pages(
        "Sum.\n\nParameters\n----------\nx : where to begin,\n    a vector.\ncoef_ :\n    weights.\n"
        "a, b\n    Both.\nc,\nd_, e : as of x.\n\nReturns\n-------\nVector\n    It."
    )
    assert ".. rubric:: Parameters" in page
    assert (
        "- ``x``: where to begin,\n  a vector.\n- ``coef_``: \n  weights.\n- ``a, b``:\n  Both.\n"
        "- ``c, d_, e``: as of x." in page
    )
    assert "Returns\n-------\nVector\n    It." in page


def test_names_on_one_line_are_items_of_their_own():
    page = pages(
        "Sum.\n\nAttributes\n----------\ngap : primal − dual; share : of it. n, d : sizes."
    )
    assert "- ``gap``: primal − dual;\n- ``share``: of it.\n- ``n, d``: sizes." in page


@pytest.mark.parametrize(
    "page", [*sorted(DOCS.glob("*/*.rst")), DOCS / "index.rst"], ids=lambda p: p.stem
)
def test_every_page_has_a_title(page):
    title, line = page.read_text().splitlines()[:2]
    assert line == "=" * len(title)


def test_every_page_is_in_the_index():
    index = (DOCS / "index.rst").read_text()
    pages = [path.relative_to(DOCS).with_suffix("") for path in DOCS.glob("*/*.rst")]
    assert len(pages) == 18
    assert all(f"   {page}\n" in index for page in pages)


@pytest.mark.parametrize("kind", ["solvers", "problems", "losses", "kernels", "datasets"])
def test_every_setting_has_a_type_a_default_and_a_meaning(kind: str, monkeypatch):
    monkeypatch.syspath_prepend(DOCS / "_extensions")
    tables = _extension("settings_tables")
    entries = list(tables.documented(kind))
    assert len(entries) > 5
    for entry in entries:
        for setting in tables.settings(entry):
            assert all(setting), f"{entry.name}: {setting}"
            assert "typing." not in setting.type


def test_keys_of_an_experiment_file_are_told_as_a_reader_of_yaml_says_them(monkeypatch):
    monkeypatch.syspath_prepend(DOCS / "_extensions")
    keys = {key.name: key for key in _extension("settings_tables").file_keys()}
    assert list(keys) == list(ExperimentFile.model_fields)
    assert keys["problems"].default == "required"
    assert (keys["time_limit"].type, keys["time_limit"].default) == ("a number or null", "null")
    assert keys["trace"].default == "true"


def test_the_solver_of_the_tutorial_is_the_one_of_the_readme():
    def code(text: str) -> str:
        begin = text.index("@dataclass(frozen=True)")
        lines = text[begin : text.index('claim="stopped")', begin)].splitlines()
        return "\n".join(line.strip() for line in lines).replace("5000", "1000")

    assert code((DOCS / "tutorials" / "add_a_solver.rst").read_text()) == code(README)
