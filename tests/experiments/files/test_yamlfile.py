"""Experiment files that would trap a reader: each is refused in words, or means what YAML 1.2 says."""

import tracemalloc

import pytest

PROBLEMS = """\
problems:
  - formulation: soft_margin_dual
    dataset: {name: four_gaussians, n: 24}
    C: 1
"""
SOLVERS = "solvers: [smo]\n"
SMALL = f"name: a\n{PROBLEMS}{SOLVERS}"

# what stands after the valid keys, or in place of one, and words of the refusal
TRAPS = [
    ("nested 400 deep", SMALL + "x: " + "[" * 400 + "]" * 400, "nested deeper"),
    ("mappings 400 deep", SMALL + "x: " + "{a: " * 400 + "}" * 400, "nested deeper"),
    ("blocks 300 deep", SMALL + "x:\n" + "- " * 300, "nested deeper"),
    (
        "an alias of itself",
        SMALL.replace("C: 1", "C: &a [*a]"),
        ":5: is nested deeper than 20 levels; an alias may contain itself",
    ),
    ("a merge of itself", SMALL + "x: &a {<<: *a}\n", ":7: unknown key 'x'"),
    ("a list for a key", SMALL + "? [a]\n: 1\n", ":7: the key"),
    ("a key that is no text", SMALL + "no: 1\n1: 2\n", ":8: the key 1 is"),
    ("a switch's unknown word", SMALL + "trace: !!bool x\n", ":7: is not YAML"),
    ("a date that is none", SMALL + "name2: 2001-99-99\n", ":7: is not YAML"),
    ("a NUL", SMALL + "x: \0\n", ":7: is not YAML: U+0000"),
    ("a tab", SMALL + "\tx: 1\n", ":7: is not YAML"),
    ("two documents", SMALL + "---\nx: 1\n", "another document"),
    ("20,000 hexadecimal digits", SMALL + f"seed: 0x{'f' * 20000}\n", ":7: has an integer of 8"),
    ("20,000 digits", SMALL + f"seed: {'1' * 20000}\n", ":7: is not YAML"),
    ("more bytes than numbers", SMALL + f"memory_limit: '{'9' * 400}GiB'\n", ":7: memory_limit"),
    ("a name too long for a folder", SMALL.replace("name: a", f"name: {'a' * 300}"), "at most 100"),
    ("a path too long", SMALL.replace("smo", "x" * 5000 + ".py:X"), "too long"),
    ("a user who is not there", SMALL.replace("smo", "~nobodyhere/x.py:X"), "home directory"),
    ("an empty file", "", ":1: must be a mapping"),
]


@pytest.mark.parametrize(("text", "words"), [t[1:] for t in TRAPS], ids=[t[0] for t in TRAPS])
def test_a_yaml_pitfall_is_refused_with_an_explanation(outcome, text, words):
    messages = outcome(text.encode())
    assert isinstance(messages, list)
    assert words in messages[0]


@pytest.mark.parametrize(
    ("text", "field", "value"),
    [
        (SMALL + "trace: &t true\nnoise: *t\n", "noise", True),
        (SMALL + "seed: &a 1\nrepetitions: &a 2\ntarget_gap: 1e-3\n", "seed", 1),
        (SMALL + "seed: 0o17\n", "seed", 15),
        (SMALL + "seed: 017\n", "seed", 17),
        ("\ufeff" + SMALL, "name", "a"),
        (SMALL.replace("\n", "\r\n"), "name", "a"),
        (SMALL.replace("name: a", "name: no"), "name", "no"),
    ],
    ids=["anchored switch", "anchor twice", "octal", "leading 0", "BOM", "CRLF", "no"],
)
def test_unusual_yaml_is_parsed_as_yaml_1_2(outcome, text, field, value):
    assert getattr(outcome(text.encode()), field) == value


def test_merged_keys_are_those_of_the_anchor(outcome):
    merged = SMALL.replace("  - form", "  - &p\n    form").replace(SOLVERS, "")
    result = outcome(f"{merged}  - {{<<: *p, C: 2}}\n  - {{<<: *p, C: 3}}\n{SOLVERS}".encode())
    assert [p.parameters["C"] for p in result.problems] == [1.0, 2.0, 3.0]


TEN = "[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]"
BILLION = "{" + ", ".join(f"{key}: {TEN}" for key in "abcdefghi") + "}"
ALIASES = f"&l0 {TEN}"
for i in range(1, 5):
    ALIASES = f"&l{i} {{a: {ALIASES}, " + ", ".join(f"{key}: *l{i - 1}" for key in "bcdefghi") + "}"
ENORMOUS = {
    "problems": (f"name: a\n{SOLVERS}problems:\n  - {BILLION}\n", "1,000,000,000 cases"),
    "no solver": (f"name: a\nsolvers: []\nproblems:\n  - {BILLION}\n", "000 problems, 0 solvers"),
    "no problem": (f"name: a\nsolvers:\n  - {BILLION}\n", "1,000,000,000 solvers"),
    "repetitions": (SMALL + "repetitions: 1000000000\n", "1,000,000,000 repetitions"),
    "too many": (f"name: a\n{SOLVERS}problems: [{ALIASES}]\n", "more than 10^18 cases"),
}


@pytest.mark.parametrize("name", ENORMOUS)
def test_an_enormous_grid_is_refused_with_its_size_and_never_expanded(outcome, name):
    text, words = ENORMOUS[name]
    outcome(SMALL.encode())  # what is imported when first needed
    tracemalloc.start()
    try:
        messages = outcome(text.encode())
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert words in messages[0]
    assert "at most 100,000" in messages[0]
    assert peak < 100e6  # bytes


def test_a_file_larger_than_any_experiment_is_not_parsed(outcome):
    assert "is larger than 256 KiB" in outcome(b"x: 1\n" * 100_000)[0]


def test_at_most_20_faults_are_listed_and_long_ones_shortened(outcome, tmp_path):
    text = SMALL.replace("C: 1", f"C: {list(range(-50, 0))}") + f"{'x' * 900}: 1\n"
    messages = outcome(text.encode())
    assert messages[-1] == f"{tmp_path / 'any.yaml'}: and 31 more faults"
    assert len(messages) == 21
