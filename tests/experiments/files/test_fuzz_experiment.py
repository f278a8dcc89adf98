"""Experiment files of any content: an experiment, or a refusal with file and line, and never long.

A file may hold anything: bytes, YAML that is no experiment, an experiment that someone edited badly.
"""

import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from dualgap.experiments.cases.plan import plan
from dualgap.experiments.cli import main
from dualgap.experiments.files.experiment import Experiment

VALID = """\
name: small
seed: 3
problems:
  - &one
    formulation: soft_margin_dual
    dataset: {name: four_gaussians, n: 24}
    kernel: {name: rbf, gamma: [0.05, 1e-3]}
    C: [1, 10]
  - formulation: hinge_erm
    dataset: {name: two_moons, n: 20, noise: 0.1}
    lam: 0.1
solvers:
  - {name: smo, tol: 1e-6}
  - cvxopt_qp
time_limit: 60
memory_limit: 4GiB
trace: no
"""
GOOD = VALID.replace("trace: no\n", "")
bounded = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture
def path(tmp_path):
    return tmp_path / "any.yaml"


@bounded
@given(content=st.binary(max_size=300))
@example(content=b"\x00")
@example(content=b'"\\U99999999"')
def test_any_bytes_are_refused_with_file_and_line(outcome, path, content):
    messages = outcome(content)
    assert isinstance(messages, list)
    assert messages[0].startswith(f"{path}:")


_YAML_PIECES = [
    "a", "1", "1e-3", "10:30", "no", "~", ".nan", "0o9", "0x1f", "2001-99-99", "<<", "=", "''",
    ": ", "- ", "? ", ", ", "[", "]", "{", "}", "\n", "\n  ", "\n- ", "\t", "#", "|\n", ">-\n",
    "&a ", "*a", "!", "!!int ", "!!bool ", "!!set ", "!!omap ", "!!binary ", "!!timestamp ",
    "!!python/name:os.system ", "!<x> ", "---\n", "...\n", "%YAML 1.1\n", "%TAG ! x\n", '"\\x',
    "\ufeff", "\x85", "\u2028", "name: ", "problems: ", "solvers: ", "\\ud800", "\U0001f600",
]  # fmt: skip


@bounded
@given(pieces=st.lists(st.sampled_from(_YAML_PIECES), max_size=25))
@example(pieces=["&a ", "[", "*a", "]"])
@example(pieces=["&a ", "{", "<<", ": ", "*a", "}"])
@example(pieces=["!!bool ", "a"])
@example(pieces=["!!omap ", "[", "a", ": ", "1", "]"])
def test_any_sequence_of_yaml_tokens_is_refused_with_its_file(outcome, pieces):
    assert isinstance(outcome("".join(pieces).encode()), list)


_SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.sampled_from(
        ["smo", "rbf", "linear", "soft_margin_dual", "iris", "../x", "x.py:X", "4GiB"]
    )
    | st.text(max_size=8)
)
_NAMES = st.sampled_from(
    ["name", "problems", "solvers", "seed", "formulation", "dataset", "kernel", "C", "n", "tol"]
)
_TREES = st.recursive(
    _SCALARS,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(_NAMES | st.text(max_size=4), inner, max_size=4)
    ),
    max_leaves=12,
)


def dump(tree):
    """YAML in flow style: JSON, but for the names of numbers that JSON does not have."""
    if isinstance(tree, dict):
        return "{" + ", ".join(f"{dump(k)}: {dump(v)}" for k, v in tree.items()) + "}"
    if isinstance(tree, list):
        return "[" + ", ".join(map(dump, tree)) + "]"
    if isinstance(tree, float):
        return repr(tree).replace("inf", ".inf").replace("nan", ".nan")
    if isinstance(tree, str):
        return '"' + "".join(f"\\U{ord(c):08x}" if not c.isalnum() else c for c in tree) + '"'
    return {None: "null", True: "true", False: "false"}.get(tree, str(tree))


@bounded
@given(problems=_TREES, solvers=_TREES, more=st.dictionaries(_NAMES, _TREES, max_size=2))
def test_any_tree_where_problems_are_expected_is_refused_with_file(
    outcome, problems, solvers, more
):
    tree = {"name": "x", "problems": problems, "solvers": solvers} | more
    assert isinstance(outcome(dump(tree).encode()), list)


_VALUES = [
    "~", "true", "no", "1e-3", "10:30", "0o17", "017", "0x" + "f" * 20000, "-1", ".nan",
    "1e999", "2001-12-14", "[]", "[[]]", "{}", "[1, 2]", "{name: smo}", "*one", "*nowhere",
    "&one 3", "../x", "/dev/null", '"\\ud800"', '"\\0"', "~nobody/x.py:X",
    "'" + "x" * 5000 + ".py:X'", "1" * 400, "!!float x", "!!binary aGk=", "!x y", '"\\x"', "'",
    "<<: *one", "\t1", "\xe9", "\x07",
]  # fmt: skip


@st.composite
def edited(draw):
    """A valid file after up to three bad edits."""
    lines = GOOD.splitlines()
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(lines) - 1))
        edit = draw(st.sampled_from(["drop", "repeat", "value", "rename", "indent", "cut", "move"]))
        line = lines[at]
        key, colon, _value = line.rpartition(": ")
        if edit == "drop":
            del lines[at]
        elif edit == "repeat":
            lines.insert(at, line)
        elif edit == "value":
            lines[at] = key + colon + draw(st.sampled_from(_VALUES))
        elif edit == "rename":
            lines[at] = line.replace("a", "aa", 1).replace("C:", "c:")
        elif edit == "indent":
            lines[at] = draw(st.sampled_from([" ", "\t", "- ", "? ", "<<: "])) + line
        elif edit == "cut":
            lines[at] = line[: draw(st.integers(0, len(line)))]
        else:
            lines.insert(draw(st.integers(0, len(lines) - 1)), lines.pop(at))
        lines = lines or [""]
    end = draw(st.sampled_from(["\n", "\r\n", "\r", "\n\x00\n", "\ufeff\n"]))
    return end.join(lines).encode() + draw(st.sampled_from([b"\n", b"", b"\xff", b"\n...\n- x\n"]))


@bounded
@given(content=edited())
def test_an_edited_file_is_read_or_refused_with_file_and_line(outcome, path, content):
    result = outcome(content)
    if isinstance(result, Experiment):
        assert plan(result)
    else:
        assert result[0].startswith(f"{path}:")


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=edited() | st.binary(max_size=100))
@example(content=VALID.encode())
@example(content=b"x: " + b"[" * 1000)
@example(content=b'"\\ud800": 1\n')
def test_the_command_line_exits_with_2_and_no_traceback(outcome, path, content):
    if isinstance(outcome(content), Experiment):
        return
    for command in ("run", "verify"):
        result = CliRunner().invoke(main, [command, str(path)])
        assert result.exit_code == 2
        assert isinstance(result.exception, SystemExit)
        assert result.output.startswith(str(path))
        assert "Traceback" not in result.output


def test_the_file_that_is_edited_is_valid(outcome):
    assert len(plan(outcome(GOOD.encode()))) == 10
