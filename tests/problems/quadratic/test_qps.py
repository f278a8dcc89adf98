"""QPS is read as its conventions say; everything else is refused with the line and the word."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dualgap.problems import ConvexQP
from dualgap.problems.exchange.samples import write
from dualgap.problems.quadratic.qps import read_qps
from dualgap.problems.quadratic.readers import read_qp

TEXT = """NAME T
ROWS
 N cost
 L most
 G least
 E sum
COLUMNS
 x cost 1 most 2
 x sum 1
 y least -3 sum 1
RHS
 side most 4 sum 5
ENDATA
"""
END = "ENDATA\n"
FIXED = """NAME          TWO WORDS
ROWS
 N  COST 1
 L  MOST 1
COLUMNS
    X 1       COST 1             1.0   MOST 1             2.0
    Y         MOST 1             3.0
RHS
    SIDE 1    MOST 1             4.0
BOUNDS
 UP BOUND 1   X 1                9.0
ENDATA
"""


def parts(path, text):
    """Return what is read of a text, as lists by name."""
    path.write_text(text)
    P, q, A, (lower, upper), (lb, ub) = read_qps(path)
    arrays = {"P": P.toarray(), "q": q, "A": A.toarray(), "lower": lower, "upper": upper}
    return {name: value.tolist() for name, value in (arrays | {"lb": lb, "ub": ub}).items()}


INF = np.inf
DEFAULT = {
    "P": [[0, 0], [0, 0]],
    "q": [1, 0],
    "A": [[2, 0], [0, -3], [1, 1]],
    "lower": [-INF, 0, 5],
    "upper": [4, INF, 5],
    "lb": [0, 0],
    "ub": [INF, INF],
}
HALF = [[2, 0.5], [0.5, 0]]


@pytest.mark.parametrize(
    ("changed", "to", "expected"),
    [
        (END, END, {}),
        (END, f"\n* a comment\n{END}\n", {}),
        ("\n", "\r\n", {}),
        ("NAME T\n", "", {}),
        (" ", "\t", {}),
        (" side ", " ", {}),
        ("most 4", "most +.4D1", {}),
        ("most 4", "most 40.E-1", {}),
        ("most 2", "most 1e-300", {"A": [[1e-300, 0], [0, -3], [1, 1]]}),
        ("ROWS", "OBJSENSE MIN\nROWS", {}),
        ("ROWS", "OBJSENSE MAX\nROWS", {"q": [-1, 0]}),
        ("ROWS", "OBJSENSE\n  MAXIMIZE\nROWS", {"q": [-1, 0]}),
        (" side", " side cost 7\n side", {}),
        (" E sum\nCOLUMNS", " E sum\n N other\nCOLUMNS\n x other 8", {}),
        (END, f" other most 9 least 9\n{END}", {}),
        (END, f"RANGES\n r most 1.5\n{END}", {"lower": [2.5, 0, 5]}),
        (END, f"RANGES\n r most -1.5\n{END}", {"lower": [2.5, 0, 5]}),
        (END, f"RANGES\n r least -2 sum 2\n{END}", {"upper": [4, 2, 7]}),
        (END, f"RANGES\n r sum -2\n{END}", {"lower": [-INF, 0, 3]}),
        (END, f"RANGES\n r sum 0\n{END}", {}),
        (END, f"RANGES\n r sum 2\n s sum 9 least 1\n{END}", {"upper": [4, INF, 7]}),
        ("RHS", "RANGES\n r most 1.5\nRHS", {"lower": [2.5, 0, 5]}),
        (END, f"BOUNDS\n UP b x 3\n LO b x -1\n FX b y 2\n{END}", {"lb": [-1, 2], "ub": [3, 2]}),
        (END, f"BOUNDS\n UP x 3\n FR y\n{END}", {"lb": [0, -INF], "ub": [3, INF]}),
        (END, f"BOUNDS\n MI b x\n PL b y\n{END}", {"lb": [-INF, 0]}),
        (END, f"BOUNDS\n UP b x 3\n MI b x\n{END}", {"lb": [-INF, 0], "ub": [3, INF]}),
        (END, f"BOUNDS\n FR b x\n LO b x -3\n UP b x 4\n{END}", {"lb": [-3, 0], "ub": [4, INF]}),
        (END, f"BOUNDS\n UP b x -1\n{END}", {"lb": [-INF, 0], "ub": [-1, INF]}),
        (END, f"BOUNDS\n UP b x -1\n LO b x -2\n{END}", {"lb": [-2, 0], "ub": [-1, INF]}),
        (END, f"BOUNDS\n UP b x 0\n{END}", {"ub": [0, INF]}),
        (END, f"BOUNDS\n UP b x 1\n UP c x 2\n MI c y\n{END}", {"ub": [1, INF]}),
        (END, f"QUADOBJ\n x x 2 y 0.5\n{END}", {"P": HALF}),
        (END, f"QUADOBJ\n y x 0.5\n x x 2\n{END}", {"P": HALF}),
        (END, f"QSECTION\n x x 2 y 0.5\n{END}", {"P": HALF}),
        (END, f"QSECTION cost\n x x 2 y 0.5\n{END}", {"P": HALF}),
        (END, f"QMATRIX\n x x 2 y 0.5\n y x 0.5\n{END}", {"P": HALF}),
    ],
)
def test_every_section_has_its_meaning(tmp_path, changed, to, expected):
    assert parts(tmp_path / "p.qps", TEXT.replace(changed, to)) == DEFAULT | expected


def test_names_with_spaces_are_read_in_fixed_format(tmp_path):
    read = parts(tmp_path / "p.qps", FIXED)
    assert (read["q"], read["A"], read["upper"]) == ([1, 0], [[2, 3]], [4])
    assert read["ub"] == [9, INF]
    without_sets = FIXED.replace("SIDE 1", "      ").replace("BOUND 1", "       ")
    assert parts(tmp_path / "p.qps", without_sets) == read


@pytest.mark.parametrize(
    ("changed", "to", "line", "sentence"),
    [
        ("most 4", "most 4,5", 12, "'4,5' is not a number"),
        ("most 4", "most four", 12, "'four' is not a number"),
        ("most 4", "most 1.5e", 12, "'1.5e' is not a number"),
        ("most 4", "most 4_000", 12, "'4_000' is not a number"),
        ("most 4", "most nan", 12, "'nan' is not a number"),
        ("most 4", "most 1e999", 12, "'1e999' is beyond float64"),
        ("most 4", "mots 4", 12, "'mots' is not a known row"),
        ("most 4 sum 5", "most 4 most 5", 12, r"The entry \(most\) is stated twice"),
        ("most 4 sum 5", "most 4 sum", 12, "'most' is not a number"),
        ("most 4 sum 5", "most", 12, "'most' is not a number"),
        ("most 4 sum 5", "", 12, "A line of RHS has 2 or 3 or 4 or 5 words, not 'side'"),
        (" E sum", " e sum", 6, "'e' is not a known type of a row: N, L, G, E"),
        (" E sum", " L most", 6, r"The entry \(most\) is stated twice"),
        (" N cost\n", "", 5, "ROWS has no row of type N"),
        (" x sum 1", " x sum 1 cost 2", 9, r"The entry \(x, cost\) is stated twice"),
        (" y least", " y most 1\n x least 1\n y least", 11, "The entries of x are interrupted"),
        (" y least", " M 'MARKER' 'INTORG'\n y least", 10, "'MARKER' states integer variables"),
        (END, "", 12, "The file ends without ENDATA"),
        (
            " x cost 1 most 2\n x sum 1\n y least -3 sum 1\n",
            "",
            10,
            "The file ends without COLUMNS",
        ),
        (END, f"{END} x\n", 14, "'x' does not belong to a section"),
        (END, f"{END}RHS\n", 14, "'RHS' follows ENDATA"),
        (END, f"RHS\n side least 1\n{END}", 13, "RHS follows RHS"),
        (END, f"SOS\n{END}", 13, "'SOS' is not a known section: NAME"),
        (END, f"x most 1\n{END}", 13, "'x' is not a known section"),
        (END, f"QCMATRIX most\n x x 1\n{END}", 13, "'QCMATRIX' is not a known section"),
        (END, f"QSECTION most\n x x 1\n{END}", 13, "'most' after QSECTION is not read"),
        (END, f"QUADOBJ\n x y 1\n y x 1\n{END}", 15, r"The entry \(y, x\) is stated twice"),
        (END, f"QUADOBJ\n x x 1\nQMATRIX\n x x 1\n{END}", 15, "QMATRIX follows QUADOBJ"),
        (END, f"QMATRIX\n x y 1\n{END}", 14, r"QMATRIX must be symmetric; at \(y, x\) it is not"),
        (END, f"RANGES\n r cost 1\n{END}", 14, "cost is a row of type N, which has no range"),
        (END, f"BOUNDS\n UP b z 1\n{END}", 14, "'z' is not a known variable"),
        (END, f"BOUNDS\n BV b x\n{END}", 14, "'BV' is not a known bound of a real variable: LO"),
        (END, f"BOUNDS\n LI b x 1\n{END}", 14, "'LI' is not a known bound of a real variable"),
        (END, f"BOUNDS\n UP b x\n{END}", 14, "'x' is not a number"),
        (
            END,
            f"BOUNDS\n FR b x 0\n{END}",
            14,
            r"FR takes \[set\] variable, .* got \['b', 'x', '0'\]",
        ),
        (END, f"BOUNDS\n LO b x 1\n LO b x 1\n{END}", 15, r"The entry \(x, LO\) is stated twice"),
        (END, f"BOUNDS\n LO b x 1\n UP x 2\n{END}", 15, "UP takes .* all with a set or none"),
        (END, f"BOUNDS\n FR b x\n FR y\n{END}", 15, "FR takes .* all with a set or none"),
        ("RHS\n", "RHS\n least 3\n", 13, "All lines of RHS must name a set, or none"),
        (END, f"BOUNDS\n LO b x 1\n FR b x\n{END}", 15, r"The entry \(x, FR\) is stated twice"),
        ("ROWS", "OBJSENSE\nROWS", 14, "OBJSENSE must state MIN or MAX, once"),
        ("ROWS", "OBJSENSE MOST\nROWS", 2, "'MOST' is not a known sense"),
        ("NAME T", " NAME T", 1, "'NAME T' does not belong to a section"),
    ],
)
def test_unsupported_lines_are_refused_with_their_number(tmp_path, changed, to, line, sentence):
    path = tmp_path / "p.qps"
    path.write_text(TEXT.replace(changed, to))
    with pytest.raises(ValueError, match=rf"^p\.qps, line {line}: {sentence}"):
        read_qp(path)


@pytest.mark.parametrize(
    ("changed", "to", "sentence"),
    [
        ("4.0\n", "4,0\n", "line 9: '4,0' is not a number"),
        ("    Y         MOST", "    Y          MOST", "line 7: The line does not fit"),
    ],
)
def test_the_error_is_that_of_the_format_parsed_furthest(tmp_path, changed, to, sentence):
    (tmp_path / "p.qps").write_text(FIXED.replace(changed, to))
    with pytest.raises(ValueError, match=sentence):
        read_qps(tmp_path / "p.qps")


def test_a_file_that_is_another_problem_in_each_format_is_refused(tmp_path):
    """RHS 1 is a set in fixed format, and a row and its side in free format."""
    text = FIXED.replace("COST 1", "RHS   ").replace("X 1", "X  ").replace("BOUND 1", "BOUND  ")
    ambiguous = text.replace("MOST 1", "MOST  ").replace("SIDE 1", "RHS 1 ")
    with pytest.raises(ValueError, match=r"p\.qps fits two formats"):
        parts(tmp_path / "p.qps", ambiguous)


NUMBERS = st.floats(-1e19, 1e19, allow_subnormal=True).map(lambda value: value + 0.0)  # not -0


@st.composite
def programs(draw):
    n, m, k = draw(st.integers(1, 3)), draw(st.integers(0, 2)), draw(st.integers(0, 2))

    def matrix(rows):
        entries = st.one_of(st.just(0.0), NUMBERS)
        return np.array([[draw(entries) for _ in range(n)] for _ in range(rows)]).reshape(rows, n)

    def vector(size):
        return np.array([draw(NUMBERS) for _ in range(size)])

    P, ends = np.tril(matrix(n)), np.sort([vector(n), vector(n)], axis=0)
    free = np.array([draw(st.sampled_from(([0, 0], [-INF, 0], [0, INF], [-INF, INF])))] * n).T
    parts = {"q": vector(n), "G": matrix(m), "h": vector(m), "A": matrix(k), "b_eq": vector(k)}
    return ConvexQP(P=np.tril(P, -1).T + P, **parts, lb=ends[0] + free[0], ub=ends[1] + free[1])


@given(programs())
def test_exported_numbers_are_read_back_bit_for_bit(tmp_path_factory, program):
    path = tmp_path_factory.getbasetemp() / "round_trip.qps"
    write(program, "qps", path)
    assert read_qp(path).hash == program.hash
