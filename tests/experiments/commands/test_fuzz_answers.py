"""Answers that were damaged in every way: judged, or refused in a sentence that names the file."""

import io
import re
import zipfile
from collections import Counter

import numpy as np
import pytest
from tests.halves import quick_cases

from dualgap.experiments.cases.judging import load_solution
from dualgap.experiments.operations.exchange import report_lines
from dualgap.problems import (
    RBF,
    ChainMargin,
    HardMarginDual,
    HingeERM,
    NuSVC,
    NuSVR,
    OneClassSVM,
    OneVsRest,
    Polynomial,
    Precomputed,
    SoftMarginDual,
    SoftMarginPrimal,
    SoftmaxERM,
    SVRDual,
)
from dualgap.problems.exchange.samples import write_libsvm
from dualgap.problems.problem.task import TARGETS
from dualgap.problems.risk.risk import box_point
from dualgap.solvers import solve

LOCAL = np.random.default_rng(7)
X = np.round(LOCAL.standard_normal((8, 2)), 3)
LABELS = np.where(X[:, 0] + 0.3 * X[:, 1] > 0, 1.0, -1.0)
CLASSES = np.arange(8) % 3.0
PROBLEMS = {
    "rbf": SoftMarginDual(X, LABELS, 1.0, RBF(0.5)),
    "polynomial": SoftMarginDual(X, LABELS, 1.0, Polynomial(2, 1.0, 1.0)),
    "precomputed": SoftMarginDual(X @ X.T, LABELS, 1.0, Precomputed()),
    "primal": SoftMarginPrimal(X, LABELS, 1.0),
    "hard": HardMarginDual(X, LABELS),
    "risk": HingeERM(X, LABELS, 0.1),
    "regression": SVRDual(X, X[:, 0], 1.0, 0.1),
    "nu": NuSVC(X, LABELS, 0.3),
    "nu regression": NuSVR(X, X[:, 0], 0.3, 1.0),
    "one class": OneClassSVM(X, 0.5, RBF(0.5)),
    "classes": OneVsRest(X, CLASSES, 1.0, RBF(0.5)),
    "softmax": SoftmaxERM(X, CLASSES, 0.1),
    "chain": ChainMargin(X, (LABELS > 0).astype(float), 2, 1.0),
}
KERNELS = {
    "rbf": "rbf\ngamma 0.5",
    "polynomial": "polynomial\ndegree 2\ngamma 1\ncoef0 1",
    "precomputed": "precomputed",
}
WORDS = [
    *("nan", "inf", "-inf", "1e400", "-1e400", "-1", "0", "1e308", "5e-324", "9" * 400, "9" * 5000),
    *("", "NA", "x", "1,5", "1_0", "0x1", "٣", "१:१", "1:", ":1", "0:1", "99:1", "1:nan", "1:2:3"),
    *("\x00", "\x1b[31m", '"', "é" * 50_000, "SV", "svm_type", "-0", "1.", "1e", "True", "1+2j"),
]
NUMBERS = [np.nan, np.inf, -np.inf, -1.0, 0.0, 1e308, -1e308, 5e-324, 1e154, 1e-300, 1.0]
TYPES = ["c16", "M8[s]", "m8[ns]", "O", "U5", "S3", "f2", "f4", ">f8", "longdouble", "i1"]
TYPES += ["?", "V4"]
METHODS = [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA]
HEADERS = [
    "{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000000000,), }",
    "{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000, 1000000000), }",
    "{'descr': '<f8', 'fortran_order': False, 'shape': (-8,), }",
    "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 2, 2), }",
    "{'descr': '<f8', 'fortran_order': False, 'shape': (8L,), }",
    "{'descr': '<f8', 'fortran_order': True, 'shape': (8,), }",
    "{'shape': (8, 1), 'fortran_order': True, 'descr': '<f8'}",
    "{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (8,), }",
    "{'descr': '|O', 'fortran_order': False, 'shape': (8,), }",
    "{'descr': '<f3', 'fortran_order': False, 'shape': (8,), }",
    "{[]: 1}",
    "(" * 5000,
    "{'descr': '<f8'",
    "'" * 9,
    "",
]


@pytest.fixture(scope="module")
def answers():
    return {name: arrays_of(problem) for name, problem in PROBLEMS.items()}


def arrays_of(problem):
    """The answer of one of our solvers under the names that files have for it."""
    s = solve(problem)
    arrays = {"alpha": s.alpha, "w": s.w, "b": s.b, "x": s.alpha}
    if problem.outputs == 1:
        arrays["coefs"], arrays["index"] = problem.risk.beta(s.alpha), np.arange(1, 9)
        arrays["x"] = box_point(problem.risk, s.alpha)
        arrays["rho"] = -0.0 if s.b is None else -s.b
    return {name: np.asarray(value) for name, value in arrays.items() if value is not None}


def drawn(rng, choices):
    return choices[rng.integers(len(choices))]


def model_of(name, problem, answer):
    """What svm-train writes; of problems that it does not know, something like it."""
    kind = "epsilon_svr" if problem.task is TARGETS else "c_svc\nlabel 1 -1"
    rows = [
        f"{beta:.17g} " + (f"0:{i + 1}" if name == "precomputed" else f"1:{x[0]:.8g} 2:{x[1]:.8g}")
        for i, (beta, x) in enumerate(
            zip(answer.get("coefs", answer["alpha"].ravel()), X, strict=False)
        )
        if beta
    ]
    head = f"svm_type {kind}\nkernel_type {KERNELS.get(name, 'linear')}\nnr_class 2"
    return "\n".join([head, f"total_sv {len(rows)}\nrho 0.1", "SV", *rows]) + "\n"


def table_of(rng, columns, delimiter):
    size = max(np.size(values) for values in columns.values())
    cells = [[repr(float(v)) for v in np.ravel(values)] for values in columns.values()]
    rows = zip(*(column + [""] * (size - len(column)) for column in cells), strict=True)
    return "\n".join(delimiter.join(row) for row in (columns, *rows)) + "\n"


def text_damaged(rng, text):
    """The bytes of a text, of which words, lines, the encoding or the ends of lines are others."""
    for _ in range(rng.integers(3)):
        words = re.split(r"[\s,:]+", text)
        kind = rng.integers(5)
        lines = text.split("\n")
        i = rng.integers(len(lines))
        if kind <= 1:
            text = text.replace(drawn(rng, words), drawn(rng, WORDS), 1 if kind else -1)
        elif kind == 2:
            text = "\n".join([*lines[:i], *lines[i + 1 :]])
        elif kind == 3:
            text = "\n".join([*lines[:i], lines[i], lines[rng.integers(len(lines))], *lines[i:]])
        else:
            text = text[: rng.integers(len(text) + 1)]
    text = text.replace("\n", drawn(rng, ["\n"] * 6 + ["\r\n", "\r", "\n\n", "\x0b"]))
    encoding = drawn(rng, ["utf-8"] * 12 + ["utf-8-sig", "utf-16", "latin-1", "utf-32"])
    return text.encode(encoding, errors="replace")


def array_damaged(rng, values):
    """The bytes of an array in NumPy's format, of another type, shape, header or content."""
    values, stream = np.array(values, dtype=float), io.BytesIO()
    kind = rng.integers(7)
    if kind == 0 and values.size:
        values.flat[rng.integers(values.size)] = drawn(rng, NUMBERS)
    elif kind == 1:
        structured = np.zeros(8, [("a", float), ("b", int)])
        chosen = drawn(rng, [*TYPES, None])  # None: a structured one
        with np.errstate(all="ignore"):
            values = (
                structured if chosen is None else values.astype("U9" if chosen[0] == "M" else "f8")
            )
            values = values.astype(chosen if chosen and chosen[0] not in "M" else values.dtype)
    elif kind == 2:
        shapes = [values[None, None], values.ravel()[:0], values.ravel()[:3], values[..., None]]
        values = drawn(rng, [*shapes, np.tile(values.ravel(), 50), np.array(0.5), values.T])
    elif kind == 3:
        text = drawn(rng, HEADERS).ljust(118)[:60_000] + "\n"
        version = drawn(rng, [(1, 2), (1, 2), (2, 4), (3, 4), (9, 4)])
        size = drawn(rng, [len(text), len(text), 2**16 - 1, 0]).to_bytes(version[1], "little")
        return b"\x93NUMPY" + bytes([version[0], 0]) + size + text.encode() + values.tobytes()
    elif kind == 4:
        return drawn(rng, [b"", b"hello", b"\x93NUMPY", b"PK\x03\x04", b"\x80\x04N.", b"\0" * 200])
    np.lib.format.write_array(stream, values, allow_pickle=True)
    content = stream.getvalue()
    return content[: rng.integers(len(content) + 1)] if kind == 5 else content


def archive_damaged(rng, columns):
    """The bytes of an archive with arrays of which some are damaged, misnamed, packed or nested."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", drawn(rng, METHODS[:2] * 3 + METHODS)) as archive:
        for name, values in columns.items():
            member = io.BytesIO()
            np.lib.format.write_array(member, values)
            content = array_damaged(rng, values) if rng.random() < 0.4 else member.getvalue()
            ending = drawn(rng, [".npy"] * 8 + ["", ".npz", ".npy.npy", "\x1b", "é"])
            archive.writestr(name + ending, content)
    content = stream.getvalue()
    if rng.random() < 0.05:
        outer = io.BytesIO()
        with zipfile.ZipFile(outer, "w") as archive:
            archive.writestr("alpha.npy", content)
        content = outer.getvalue()
    return content


def bytes_damaged(rng, content):
    """The bytes with some flipped, or cut off, or more of them."""
    content, kind = bytearray(content), rng.integers(6)
    if kind == 0:
        del content[rng.integers(len(content) + 1) :]
    elif kind == 1:
        content += rng.bytes(rng.integers(40))
    elif kind <= 3:
        for _ in range(rng.integers(1, 6) if content else 0):
            content[rng.integers(len(content))] = rng.integers(256)
    return bytes(content)


def file_damaged(seed, answers):
    """The problem's name, ending and content of a damaged answer that the seed stands for."""
    rng = np.random.default_rng(seed)
    name = drawn(rng, [*PROBLEMS])
    answer, ending = answers[name], drawn(rng, [".model", ".csv", ".tsv", ".npz", ".npz"])
    chosen = drawn(rng, [["alpha"], ["coefs", "index", "rho"], ["x"], ["w", "b"], [*answer]])
    columns = {key: answer[key] for key in chosen if key in answer} or {"alpha": answer["alpha"]}
    if ending == ".npz":
        content = archive_damaged(rng, columns)
    elif ending == ".model":
        content = text_damaged(rng, model_of(name, PROBLEMS[name], answer))
    else:
        content = text_damaged(rng, table_of(rng, columns, "\t" if ending == ".tsv" else ","))
    if rng.random() < 0.3:
        content = bytes_damaged(rng, content)
    ending = drawn(rng, [ending] * 20 + [".npz", ".csv", ".model", ".tsv"])
    return name, ending, content


def outcome(problem, path):
    """The verdict on an answer, or how it was refused: in one sentence that begins with the file."""
    try:
        s, refusal = load_solution(path, problem, 1e-6), None
        assert sum(map(len, report_lines(s))) < 5000
    except (ValueError, OSError) as error:
        s, refusal = None, error
    if s is not None:
        return s.verdict
    assert str(refusal).startswith(f"{path}: "), refusal
    assert len(str(refusal)) < 600 + len(str(path)), refusal
    assert str(refusal).isprintable(), refusal
    return f"refused with {type(refusal).__name__}"


@pytest.mark.parametrize(
    "seeds", [range(200), pytest.param(range(200, 6000), marks=pytest.mark.exhaustive)], ids=str
)
def test_a_damaged_answer_is_certified_or_refused_by_file_and_position(answers, tmp_path, seeds):
    counts = Counter()
    for seed in seeds:
        name, ending, content = file_damaged(seed, answers)
        path = tmp_path / f"answer{ending}"
        path.write_bytes(content)
        try:
            counts[outcome(PROBLEMS[name], path)] += 1
        except BaseException as error:
            raise AssertionError(f"seed {seed}: {name} {ending}") from error
    assert counts.keys() >= {"solved", "inaccurate", "wrong", "refused with ValueError"}, counts


@pytest.mark.parametrize("count", quick_cases([500, 2000], [500]))
def test_the_command_reports_damaged_answers_as_the_reader_does(answers, command, tmp_path, count):
    write_libsvm(PROBLEMS["rbf"], tmp_path / "p.libsvm")
    dataset = "dataset: {name: libsvm_file, path: p.libsvm}"
    kernel = "kernel: {name: rbf, gamma: 0.5}"
    (tmp_path / "p.yaml").write_text(f"formulation: soft_margin_dual\n{dataset}\n{kernel}\n")
    codes = Counter()
    for seed in range(count):
        name, ending, content = file_damaged(seed, answers)
        if name == "rbf":
            path = tmp_path / f"answer{ending}"
            path.write_bytes(content)
            result = outcome(PROBLEMS[name], path)
            expected = 2 if result.startswith("refused") else int(result != "solved")
            ran = command("certify", "p.yaml", path, code=expected)
            assert expected < 2 or len(ran.output.splitlines()) == 1, ran.output
            codes[expected] += 1
    assert codes.keys() == {0, 1, 2}, codes
