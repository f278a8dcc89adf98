"""Answers in tables and archives: each number is of the sample that its owner means, or refused."""

import numpy as np
import pytest

from dualgap.problems import ConvexQP, Linear, SoftMarginDual
from dualgap.problems.exchange.answers import read_answer

X, Y = np.array([[1.0, 0], [0, 1], [1, 1], [2, 0]]), np.array([1.0, -1, 1, -1])
PROBLEM = SoftMarginDual(X, Y, C=1e4, kernel=Linear())
QP = ConvexQP(np.eye(3), np.zeros(3), A=np.ones((1, 3)), b_eq=np.array([0.6]))
ALPHA = [0.1, 0.2, 0.3, 0.4]


def read(folder, text, name="a.csv", problem=PROBLEM):
    (folder / name).write_text(text)
    return read_answer(folder / name, problem)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.csv", "alpha\n0.1\n0.2\n0.3\n0.4\n"),
        ("a.CSV", "alpha\r\n0.1\r\n0.2\r\n0.3\r\n0.4\r\n"),
        ("a.csv", '"alpha"\n"1",0.1\n"2",0.2\n"3",0.3\n"4",0.4\n'),
        ("a.csv", "alpha\n1,0.1\n2,0.2\n3,0.3\n4,0.4\n"),
        ("a.csv", "alpha,b\nr1,0.1,1\nr2,0.2,\nr3,0.3,\nr4,0.4,\n"),
        ("a.csv", ",alpha\n0,0.1\n1,0.2\n2,0.3\n3,0.4\n"),
        ("a.TSV", "index\talpha\n4\t0.4\n3\t0.3\n1\t0.1\n2\t0.2\n"),
        ("a.csv", "index,alpha,b\n4,0.4,1\n3,0.3,\n2,0.2,\n1,0.1,\n"),
        ("a.csv", "x,index\n0.4,4\n0.3,3\n0.1,1\n0.2,2\n"),
        ("a.csv", ",index,alpha\n3,4,0.4\n2,3,0.3\n0,1,0.1\n1,2,0.2\n"),
    ],
)
def test_multipliers_are_those_of_their_rows_or_of_their_index(tmp_path, name, text):
    assert read(tmp_path, text, name).alpha == pytest.approx(ALPHA)


def test_an_index_orders_values_in_archives_too(tmp_path):
    np.savez(
        tmp_path / "a.npz", index=[4, 3, 2, 1], alpha=ALPHA[::-1], names=np.array([1, "a"], object)
    )
    assert read_answer(tmp_path / "a.npz", PROBLEM).alpha == pytest.approx(ALPHA)
    assert read(tmp_path, "index,alpha\n4,0.4\n2,0.2\n").alpha == pytest.approx([0, 0.2, 0, 0.4])
    assert read(tmp_path, "index,w\n2,0.5\n1,1.5\n").w == pytest.approx([1.5, 0.5])
    assert read(tmp_path, "index,coefs\n4,-0.4\n1,0.1\n").alpha == pytest.approx([0.1, 0, 0, 0.4])
    answer = read(tmp_path, "index,x\n3,0.3\n1,0.1\n2,0.2\n", problem=QP)
    assert answer.x == pytest.approx([0.1, 0.2, 0.3])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "alpha\n0,1\n0,2\n0,3\n0,4\n",
            "line 2: has 2 cells for 1 columns; write numbers with a decimal",
        ),
        ("w\n0,5\n1,25\n", "line 2: has 2 cells for 1 columns"),
        ("w\n1,5e-1\n2,25\n", "line 2: has 2 cells for 1 columns"),
        ("alpha\n1,234.5\n0.0,0\n1,000.0\n234.5,0\n", "line 2: has 2 cells for 1 columns"),
        ("w\n1,234.5\n2,000.0\n", "line 2: has 2 cells for 1 columns"),
        ("alpha,b\n7,0.1,1\n0.2,1\n0.3,1\n0.4,1\n", "line 2: has 3 cells for 2 columns"),
        ("w,b\n0,5,1\n1,25,1\n", "line 2: has 3 cells for 2 columns"),
        ("w,b\n1,0.5,\n1.5,0.5,\n", "line 2: has 3 cells for 2 columns"),
        ("alpha;b\n0,1;2\n", "its column is called 'alpha;b'; call it alpha, coefs or w"),
        ('alpha\n"0,1"\n"0,2"\n', "line 2, alpha: must be a finite number, got '0,1'"),
        (
            ",alpha\n3,0.4\n2,0.3\n1,0.2\n0,0.1\n",
            "line 3: row 2 comes after row 3; call that column index",
        ),
        ('"alpha"\n"4",0.4\n"1",0.1\n"2",0.2\n"3",0.3\n', "line 3: row 1 comes after row 4"),
        (
            "index,alpha\n0,0.1\n1,0.2\n2,0.3\n3,0.4\n",
            "index: must be 4 different numbers from 1 to 4",
        ),
        (
            "index,alpha\n1,0.1\n1,0.2\n",
            "index: must be 2 different numbers from 1 to 4, one per alpha",
        ),
        ("index,alpha,w\n2,0.2,1\n1,0.1,2\n", "index: numbers alpha, and is out of order"),
        ("alpha\n1_0\n2\n3\n4\n", "line 2, alpha: must be a finite number, got '1_0'"),
        ("\n", "has none of alpha, x, coefs, w; found nothing"),
        ("alpha\n0.1\n", "alpha: has 1 entries, expected 4; a subset needs a column index"),
    ],
)
def test_ambiguous_numbers_are_refused(tmp_path, text, message):
    with pytest.raises(ValueError, match=r"a\.csv: ") as refusal:
        read(tmp_path, text)
    assert message in str(refusal.value)
