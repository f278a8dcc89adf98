"""Small files as people have them: each is read as its owner means it, or refused in a sentence.

Nearly all hold the same two samples, X = (1 2; 3 4) with the labels +1 and -1. A row of a table below is
a file's name, options, content, and what is read: True for those samples, arrays for others, or part of
the sentence that refuses it, in which {} stands for the file.
"""

import bz2
import gzip
import io
import lzma
import pickle
import re
from functools import partial

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import scipy
from pyarrow import parquet

from dualgap.problems import datasets
from dualgap.problems.datasets import open_blocks

X, Y = np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([1.0, -1.0])
CSV, SVM = "a,b,y\n1,2,1\n3,4,-1\n", "1 1:1 2:2\n-1 1:3 2:4\n"
ARFF = "@relation r\n@attribute a numeric\n@attribute b REAL\n@attribute y {1,-1}\n@data\n"
WORDS = ARFF.replace("{1,-1}", "{yes,no}")
HEADLESS = "1,2,1\n3,4,-1\n"
AS_NUMBERS = {"header": False, "target": 3}


def saved(write, *args, **kwargs):
    """Return the bytes that a function writes to a stream."""
    stream = io.BytesIO()
    write(stream, *args, **kwargs)
    return stream.getvalue()


def npz(**arrays):
    return saved(np.savez, **arrays)


def npy(array):
    return saved(partial(np.save, allow_pickle=True), array)


def mat(**arrays):
    return saved(scipy.io.savemat, arrays)


def columns(*names, **types):
    """Return Parquet with the columns a, b and y of the samples, by these names and of these types."""
    arrays = [pa.array([1.0, 3]), pa.array([2, 4]), types.get("y", pa.array([1, -1]))]
    return saved(lambda stream: parquet.write_table(pa.table(arrays, names=names), stream))


def labelled(plus, minus):
    return f"a,b,y\n1,2,{plus}\n3,4,{minus}\n"


def wide(sep):
    """Return a table with a line longer than what the csv module accepts as one cell."""
    names, zeros = [f"gene {i}" for i in range(20_000)], ["0"] * 20_000
    rows = [["a", "b", "y", *names], ["1", "2", "1", *zeros], ["3", "4", "-1", *zeros]]
    return "\n".join(map(sep.join, rows))


PARQUET = columns("a", "b", "y")
SPARSE = scipy.sparse.csr_array(X)
CSR = {name: getattr(SPARSE, name) for name in ("data", "indices", "indptr", "shape")}
CSR |= {"format": np.array(b"csr")}
OBJECTS = np.array(["a", "b"], dtype=object)

# fmt: off
TABLES = [
    ("t.csv", {}, CSV, True),
    ("t.CSV", {}, CSV, True),
    ("t.csv.gz", {}, gzip.compress(CSV.encode()), True),
    ("t.CSV.BZ2", {}, bz2.compress(CSV.encode()), True),
    ("t.csv.xz", {}, lzma.compress(CSV.encode()), True),
    ("t.data", {}, CSV, True),
    ("t.csv", {}, "PAR1,PKey,y\n1,2,1\n3,4,-1\n", True),
    ("t.csv", {}, "%fat,BZh,y\n1,2,1\n3,4,-1\n", True),
    ("t.tsv", {}, CSV.replace(",", "\t"), True),
    ("t.csv", {}, CSV.replace("\n", "\r\n"), True),
    ("t.csv", {}, CSV.replace("\n", "\r"), True),
    ("t.csv", {}, "\ufeff" + CSV, True),
    ("t.csv", {}, '\ufeff"a","b","y"\n"1","2","1"\n"3","4","-1"\n', True),
    ("t.csv", {}, CSV.replace(",", ", "), True),
    ("t.csv", {}, CSV.replace(",", " , "), True),
    ("t.csv", {}, "\n" + CSV.replace("\n", "\n\n"), True),
    ("t.csv", {}, CSV.rstrip(), True),
    ("t.csv", {}, "a,b,y\n+1,2.,1\n.3e1,4E0,-1\n", True),
    ("t.csv", {}, "y,a,b\n1,1,2\n-1,3,4\n", True),
    ("t.csv", {}, "a,b,y\n1,2,1\n3,4,\u22121\n", True),
    ("t.csv", {}, labelled("+", "-"), True),
    ("t.csv", {}, labelled("yes", "no"), True),
    ("t.csv", {}, labelled("TRUE", "FALSE"), True),
    ("t.csv", {}, labelled("True", "False"), True),
    ("t.csv", {}, labelled("Positive", "negative"), True),
    ("t.csv", {}, labelled("1", "0"), True),
    ("t.csv", {}, labelled("2", "1"), True),
    ("t.csv", {}, labelled("10", "9"), True),
    ("t.csv", {"positive": "9 km"}, labelled("9 km", "10 km"), True),
    ("t.csv", {"positive": "NA"}, labelled("NA", "Mild"), True),
    ("t.csv", {"positive": "None"}, labelled(" None ", "Mild"), True),
    ("t.csv", {"positive": "null"}, labelled("null", "nan"), True),
    ("t.csv", {}, labelled("9 km", "10 km"), "labels are text, such as '10 km', '9 km'"),
    ("t.csv", {}, labelled("None", "Mild"), "say with 'positive' which becomes +1"),
    ("t.csv", {}, labelled("yes", "true"), "such as 'true', 'yes'"),
    ("t.csv", {}, labelled("yes", ""), "{}: y is missing in 1 rows, the first at line 3"),
    ("t.csv", {}, labelled("yes", "?"), "{}: y is missing in 1 rows, the first at line 3"),
    ("t.csv", {}, labelled("1", "NA"), "{}: y is missing in 1 rows, the first at line 3"),
    ("t.csv", {"sep": ";"}, CSV.replace(",", ";"), True),
    ("t.csv", {"sep": ";", "decimal": ","}, "a;b;y\n1,0;2;1\n3;4,00;-1\n", True),
    ("t.csv", {"sep": "|"}, CSV.replace(",", "|"), True),
    ("t.csv", {"sep": " "}, "a  b y\n 1 2   1\n3 4\t-1\n", True),
    ("t.csv", {}, CSV.replace(",", ";"), "{}: cannot be read as a table: its first line has 1 column"),
    ("t.csv", {}, "a;b;y\n1,0;2;1\n", "give sep: ';', and decimal: ','"),
    ("t.csv", {}, "1,5;2,5;1\n3,5;4,5;-1\n", "give sep: ';'"),
    ("t.csv", {}, CSV.replace(",", "\t"), r"give sep: '\t'"),
    ("t.tsv", {}, CSV, "give sep: ','"),
    ("t.csv", {"sep": ";"}, "a;b;y\n1,5;2;1\n3;4;-1\n", "line 2 has '1,5'"),
    ("t.csv", {"sep": ";", "decimal": ","}, "a;b;y\n1.5;2;1\n3;4;-1\n", "line 2 has '1.5'"),
    ("t.csv", {"decimal": ","}, CSV, "sep and decimal are both ','"),
    ("t.csv", AS_NUMBERS, HEADLESS, True),
    ("t.csv", {"header": True}, "0,1,y\n1,2,1\n3,4,-1\n", True),
    ("t.csv", {"header": True, "target": 2}, "0,1,2\n1,2,1\n3,4,-1\n", True),
    ("t.csv", {}, HEADLESS, "line 1: has numbers, such as 1, where column names are expected"),
    ("t.csv", {}, "5.1,3.5,Iris-setosa\n1,2,Iris-setosa\n", "give header: false"),
    ("t.csv", {}, "0,0,g\n1,2,b\n", "give header: false"),
    ("t.csv", {"drop": ("Id",)}, "Id,a,b,y\n7,1,2,1\n8,3,4,-1\n", True),
    ("t.csv", {"drop": ("C",)}, "y,C,x1,x2\n1,9,1,2\n-1,9,3,4\n", True),
    ("t.csv", {"drop": ("note",)}, 'a,note,b,y\n1,"x,\n\n y",2,1\n\n3,"\n",4,-1\n', True),
    ("t.csv", {"drop": ("a\nnote",)}, 'a,"a\nnote",b,y\n1,"x""\n",2,1\n3,,4,-1\n', True),
    ("t.csv", {"positive": "yes"}, 'a,b,y\n1,2,"yes\n3,4,no"\n5,6,no\n',
     "y has a line break at line 2"),
    ("t.csv", {}, 'a,b,y\n1,2,"yes\n3,4",no\n5,6,no\n', "line 2: has 4 cells for 3 columns"),
    ("t.csv", {}, 'a,b,y\n1,"2\n3",1\n3,4,-1\n', "these are not: b; line 2 has"),
    ("t.csv", {}, CSV + '"' + 30_000 * "1,2,1\n", "line 4: has an unclosed quotation mark"),
    ("t.csv", {}, 'a,b,y\n1,2,1\n3,4,"-1""\n', "line 3: has an unclosed quotation mark"),
    ("t.csv", {"drop": ("note",)}, 'a,note,b,y\n1,"x, y",2,1\n3,NA,4,-1\n', True),
    ("t.csv", {"columns": ("a", "b")}, wide(","), True),
    ("t.csv", {}, wide(";"), "line 1: has a cell of more than 131,072 characters; give sep if cells"),
    ("t.csv", {"columns": ("a", "b")}, "b,c,y,a\n2,red,1,1\n4,,-1,3\n", True),
    ("t.csv", {"drop": ("",)}, ",a,b,y\n0,1,2,1\n1,3,4,-1\n", True),
    ("t.csv", {"drop": ("id",)}, "Id,a,b,y\n7,1,2,1\n",
     "drop: {}: unknown column 'id'; did you mean 'Id'?"),
    ("t.csv", {"columns": ("a", "c")}, CSV, "columns: {}: unknown column 'c'"),
    ("t.csv", {"target": "z"}, CSV, "target: {} has no column 'z'; it has a, b, y"),
    ("t.csv", {}, ",a,b,y\n0,1,2,1\n1,3,4,-1\n", "its first line has no name for column 1"),
    ("t.csv", {}, "a,b,a,y\n1,2,1,1\n", "its first line names 'a' twice"),
    ("t.csv", {}, 'a,b,y\n1,2,1\n"3,4,-1\n1,2,1\n', "line 3: has an unclosed quotation mark"),
    ("t.csv", {}, 'a,b,y\n1,2,1\n3",4,-1\n', "these are not: a; line 3 has '3\"'"),
    ("t.csv", {}, 'a,b,y\n"1,2,1"\n"3,4,-1"\n', "line 2: has 1 cells for 3 columns"),
    ("t.csv", {}, "a,b,y\n1,2,1\n3,4\n", "line 3: has 2 cells for 3 columns"),
    ("t.csv", {}, "a,b,y\n1,2,1\n\n3,4,-1,0\n", "line 4: has 4 cells for 3 columns"),
    ("t.csv", {}, "a,b,y\n1,2,1,\n3,4,-1,\n", "line 2: has 4 cells for 3 columns"),
    ("t.csv", {}, 'a,b,y\n"1",1,2,1\n"2",3,4,-1\n', "line 2: has 4 cells for 3 columns"),
    ("t.csv", {}, "a,b,y\n1,234,2,1\n3,4,-1\n", "line 2: has 4 cells for 3 columns"),
    ("t.csv", {"drop": ("j",)}, "a,b,y,j\n1,2,1,x\n3,-1,x\n", "line 3: has 3 cells for 4 columns"),
    ("t.csv", {}, "a,b,y\n1_000,2,1\n3,4,-1\n", "line 2 has '1_000'"),
    ("t.csv", {}, "a,b,y\n1,2,1\n3,NA,-1\n", "these are not: b; line 3 has 'NA'"),
    ("t.csv", {}, "a,b,y\n1,2,1\n3,?,-1\n", "these are not: b; line 3 has '?'"),
    ("t.csv", {}, "a,b,y\n1,2,1\n3,,-1\n", "X: b is NaN, infinite or missing at line 3"),
    ("t.csv", {}, "a,b,y\n1,2,1\n3,inf,-1\n", "X: b is NaN, infinite or missing at line 3"),
    ("t.csv", {}, "a,b,y\n1,0x2,1\n3,4,-1\n", "line 2 has '0x2'"),
    ("t.csv", {}, "a,b,y\n1,red,1\n3,blue,-1\n", "these are not: b; line 2 has 'red'"),
    ("t.csv", {}, "a,b,y\n1,2020-01-01,1\n3,2020-01-02,-1\n", "these are not: b"),
    ("t.csv", {}, "y\n1\n-1\n", "these are not: there are none"),
    ("t.csv", {}, "NA,null,y\n1,2,1\n3,4,-1\n", True),
    ("t.csv", {}, "None,nan,y\n1,2,1\n3,4,-1\n", True),
    ("t.csv", {}, "", "has fewer than two lines; the first one names the columns"),
    ("t.csv", {}, "\n \n", "has fewer than two lines; the first one names the columns"),
    ("t.csv", {}, "a,b,y\n", "has fewer than two lines; the first one names the columns"),
    ("t.csv", {}, CSV.encode("utf-16"), "is UTF-16 text; save it as UTF-8"),
    ("t.csv", {}, "a,\xe9,y\n1,2,1\n".encode("latin-1"), "line 1: is not UTF-8 text"),
    ("t.csv", {}, CSV.replace("3", "\0"), "line 3: has a NUL character"),
    ("t.csv", {}, PARQUET, "is Parquet; call it .parquet"),
    ("t.xlsx", {}, b"PK\3\4workbook", "is a zip archive or a workbook"),
    ("t.csv", {}, gzip.compress(CSV.encode()), "let its name end in .gz"),
    ("t.csv.gz", {}, CSV, "{}: cannot be read as a table: Not a gzipped file"),
    ("t.csv.xz", {}, CSV, "{}: cannot be read as a table"),
    ("t.csv.bz2", {}, CSV, "{}: cannot be read as a table"),
    ("t.csv", {}, ARFF + "1,2,1\n", "is ARFF; call it .arff"),
    ("t.parquet", {}, PARQUET, True),
    ("t.PARQUET", {}, PARQUET, True),
    ("t.parquet", {}, columns("a", "b", "y", y=pa.array(["yes", "no"])), True),
    ("t.parquet", {}, columns("a", "b", "y", y=pa.array([True, False])), True),
    ("t.parquet", {}, columns("a", "b", "y", y=pa.array(["1", "-1"])), True),
    ("t.parquet", {}, columns("a", "b", "y", y=pa.array(["1", None])),
     "y is missing in 1 rows, the first at row 1"),
    ("t.parquet", {}, columns("a", "a", "y"),
     "{}: cannot be read as a table: its schema names 'a' twice"),
    ("t.parquet", {}, columns("a", "y", "y"), "its schema names 'y' twice"),
    ("t.parquet", {"sep": ";"}, PARQUET, "sep, decimal, header: are only for CSV, not for {}"),
    ("t.parquet", {}, PARQUET[:-9], "{}: cannot be read as a table"),
    ("t.arff", {}, ARFF + "1,2,1\n3,4,-1\n", True),
    ("t.ARFF", {}, "% c\n\n" + ARFF.upper() + "% c\n1, 2, 1\n\n3,4,-1\n", "has no column 'y'; it has"),
    ("t.arff", {}, ARFF.replace(" ", "\t") + "1,2,1\n3,4,-1\n", True),
    ("t.arff", {}, WORDS + "1,2,yes\n3,4,'no'\n", True),
    ("t.arff", {}, ARFF + "{0 1, 1 2, 2 1}\n{0 3,1 4,2 -1}\n", True),
    ("t.arff", {}, WORDS + "{0 1, 1 2}\n{0 3,1 4,2 no}\n", True),
    ("t.arff", {}, WORDS + "{1 2}\n{0 3,2 no}\n", ([[0, 2], [3, 0]], Y)),
    ("t.arff.gz", {}, gzip.compress((WORDS + "1,2,yes\n3,4,no\n").encode()), True),
    ("t.arff", {}, WORDS + "1,2,yes\n3,?,no\n", "X: b is NaN, infinite or missing at line 7"),
    ("t.arff", {}, WORDS.replace("@data", "@data % rows") + "1,2,yes\n3,?,no\n", "missing at line 7"),
    ("t.arff", {}, WORDS + "1,2,yes\n3,4,?\n", "y is missing in 1 rows, the first at line 7"),
    ("t.arff", {}, WORDS + "1,2,yes\n3,4,maybe\n",
     "Data value maybe not found in nominal declaration, at line 7"),
    ("t.arff", {}, WORDS + "1,2,yes\n3_0,4,no\n", "these are not: a; line 7 has '3_0'"),
    ("t.arff", {}, WORDS + "1,2,yes\n3,4\n", "Bad @DATA instance format in line 7"),
    ("t.arff", {}, WORDS + "1,2,yes\n{0 3, 1 4, 2 no}\n", True),
    ("t.arff", {}, WORDS + "{0 1}\n{9 3}\n", "Bad @DATA instance format in line 7"),
    ("t.arff", {}, WORDS + "1,2,yes,{5}\n", "Invalid layout of the ARFF file, at line 6"),
    ("t.arff", {}, WORDS.replace("REAL", "date") + "1,2,yes\n",
     "is not ARFF: Bad @ATTRIBUTE type, at line 3"),
    ("t.arff", {}, WORDS.replace("REAL", "{x,z}") + "1,x,yes\n3,z,no\n",
     "these are not: b; line 6 has 'x'"),
    ("t.arff", {}, "@relation r\n", "is not ARFF: Invalid layout"),
]
# fmt: on

# fmt: off
SAMPLES = [
    ("t.libsvm", {}, SVM, True),
    ("t.LIBSVM.GZ", {}, gzip.compress(SVM.encode()), True),
    ("t", {}, SVM, True),
    ("t.txt", {}, "\ufeff" + SVM, True),
    ("t.txt", {}, SVM.replace(" ", "\t"), True),
    ("t.txt", {}, "# a_b\n" + SVM.replace("\n", " # c_d\r\n\r\n"), True),
    ("t.txt", {}, SVM.replace(" 1:", " qid:7 1:"), True),
    ("t.txt", {"zero_based": True}, "1 0:1 1:2\n-1 0:3 1:4\n", True),
    ("t.txt", {}, "1 0:1 1:2\n-1 0:3 1:4\n", "line 1: Invalid index 0 in SVMlight/LibSVM data file."),
    ("t.txt", {}, "1 0:1\n", "indices begin at 1, or at 0 with zero_based: true"),
    ("t.txt", {}, SVM.replace(":3", ":1_000"), "line 2: '1:1_000' has an underscore"),
    ("t.txt", {}, SVM.replace(" 2:4", " 1_0:4"), "line 2: '1_0:4' has an underscore"),
    ("t.txt", {}, CSV, "{}, line 1: is CSV, not LIBSVM text"),
    ("t.txt", {}, HEADLESS, "`table_file` reads it, with target"),
    ("t.txt", {}, HEADLESS.replace(",", ";"), "`table_file` reads it, with target"),
    ("t.txt", {}, HEADLESS.replace(",", "\t"), "line 1: is a table, not LIBSVM text"),
    ("t.txt", {}, HEADLESS.replace(",", " "), "line 1: is a table, not LIBSVM text"),
    ("t.txt", {}, ARFF + "1,2,1\n", "line 1: is ARFF; call it .arff"),
    ("t.txt", {}, PARQUET, "line 1: is Parquet; call it .parquet"),
    ("t.txt", {}, npy(X), "line 1: is one array of NumPy"),
    ("t.txt", {}, npz(X=X, y=Y), "line 1: is a zip archive"),
    ("t.txt", {}, mat(X=X, y=Y), "line 1: is a MATLAB file; call it .mat"),
    ("t.txt", {}, SVM.encode("utf-16"), "line 1: is UTF-16 text"),
    ("t.txt", {}, "+ 1:1 2:2\n- 1:3 2:4\n", "line 1: could not convert string to float: b'+'"),
    ("t.txt", {}, "1,2 1:1\n", "line 1: could not convert string to float: b'1,2'"),
    ("t.txt", {}, "", "{}: is empty, it has no samples"),
    ("t.npz", {}, npz(X=X, y=Y), True),
    ("t.NPZ", {}, npz(X=X, y=Y), True),
    ("t.npz", {}, npz(X=X, y=Y[:, None]), True),
    ("t.npz", {}, npz(X=X, y=np.array(["+", "-"])), True),
    ("t.npz", {}, npz(X=X, y=np.array(["10", "9"])), True),
    ("t.npz", {}, npz(X=X, y=Y, names=OBJECTS), True),
    ("t.npz", {}, npz(**CSR, y=Y, C=Y), True),
    ("t.npz", {}, npz(**CSR | {"indices": SPARSE.indices + 9}, y=Y),
     "{}: is not a complete .npz archive"),
    ("t.npz", {}, npz(**CSR | {"format": np.array(b"coo")}, y=Y), "is sparse in the format b'coo'"),
    ("t.npz", {}, npz(**CSR | {"data": SPARSE.data * 1j}, y=Y),
     "{}: X: expected real numbers, got complex"),
    ("t.npz", {}, npz(**CSR), "{}: needs the arrays X and y"),
    ("t.npz", {}, npz(data=SPARSE.data, y=Y), "{}: needs the arrays X and y, has data, y"),
    ("t.npz", {}, npz(X=X, y=OBJECTS), "Object arrays cannot be loaded"),
    ("t.npz", {}, npz(X=X.astype(object), y=Y), "save numbers, and labels as y.astype(str)"),
    ("t.npz", {}, npz(X=X, y=np.eye(2)),
     "its rows are one-hot codes of classes; y.argmax(axis=1)"),
    ("t.npz", {}, npz(X=X, y=X), "y: expected a vector of shape (n,), got shape (2, 2); give one value"),
    ("t.npz", {}, npz(X=X, y=np.array(["yes", ""])), "y is missing in 1 rows, the first at entry 1"),
    ("t.npz", {}, npz(X=X * 1j, y=Y), "{}: X: expected real numbers, got complex128"),
    ("t.npz", {}, npz(X=X.astype("M8[s]"), y=Y), "{}: X: expected real numbers, got datetime64[s]"),
    ("t.npz", {}, npz(data=X, labels=Y), "{}: needs the arrays X and y, has data, labels"),
    ("t.npz", {}, npy(X), "{}: is not a complete .npz archive"),
    ("t.npz", {}, npz(X=X, y=Y)[:-200], "{}: is not a complete .npz archive"),
    ("t.npz", {}, SVM, "{}: is not a complete .npz archive"),
    ("t.npz", {}, "", "{}: is not a complete .npz archive"),
    ("t.mat", {}, mat(X=X, y=Y), True),
    ("t.MAT", {}, mat(X=X, y=Y[:, None], names=OBJECTS), True),
    ("t.mat", {}, mat(X=SPARSE.tocsc(), y=Y.astype(np.int8)), True),
    ("t.mat", {}, mat(X=X, y=["yes", "no "]), True),
    ("t.mat", {}, mat(X=X, y=OBJECTS), "{}: y: expected real numbers, got object"),
    ("t.mat", {}, mat(X=X), "{}: needs the arrays X and y, has X"),
    ("t.mat", {}, mat(X=X, y=Y)[:-80], "{}: is not a complete MATLAB file"),
    ("t.mat", {}, b"MATLAB 7.3 MAT-file".ljust(124) + b"\0\2IM\x89HDF",
     "{}: is HDF5, as MATLAB's save -v7.3"),
    ("t.mat", {}, SVM, "{}: is not a complete MATLAB file"),
]
# fmt: on

HALVES = {
    "X_0.npy": npy(X[:1]),
    "y_0.npy": npy(Y[:1]),
    "X_1.npy": npy(X[1:]),
    "y_1.npy": npy(Y[1:]),
}
SPARK = {"part-0.snappy.parquet": PARQUET, "_SUCCESS": b"", "._SUCCESS.crc": b"crc\0"}
HIDDEN = {".part-0.snappy.parquet.crc": b"crc\0", "._part-0.parquet": b"\0\5", "_x.parquet": b"x"}
IN_Y = {"target": "y"}

# fmt: off
BLOCKS = [
    ("", {}, {"a.libsvm": SVM}, True),
    ("", {}, {"a.LIBSVM": "\ufeff" + SVM, ".b.libsvm": "x", "_c.txt": "x"}, True),
    ("", {}, {"a.txt": "1 1:1 2:2\n", "b.txt": "# none\n", "c.txt": "-1 qid:3 1:3 2:4\n"}, True),
    ("a", {}, {"a": SVM.replace(" ", "\t")}, True),
    ("*.txt", {"zero_based": True}, {"a.txt": "1 0:1 1:2\n-1 0:3 1:4\n"}, True),
    ("", {}, {"a.txt": "1 0:1 1:2\n"}, "a.txt, row 0: Invalid index 0"),
    ("", {}, {"a.txt": SVM.replace(":3", ":1_000")}, "a.txt, row 1: '1:1_000' has an underscore"),
    ("", {}, {"a.txt": HEADLESS.replace(",", "\t")}, "a.txt, row 0: is a table, not LIBSVM text"),
    ("", {}, {"a.txt": CSV}, "a.txt, row 0: is CSV, not LIBSVM text"),
    ("", {}, {"a.txt": SVM.encode("utf-16")}, "a.txt, row 0: is UTF-16 text"),
    ("", {}, {"a.csv": CSV}, "a.csv: cannot be read in blocks, unlike Parquet, X_k.npy and LIBSVM text"),
    ("a.ARFF", {}, {"a.ARFF": ARFF}, "table_file reads it as a whole"),
    ("a.npz", {}, {"a.npz": npz(X=X, y=Y)}, "libsvm_file reads it as a whole"),
    ("", {}, {"a.txt.gz": gzip.compress(SVM.encode())}, "is compressed and cannot be read in blocks"),
    ("", {}, {"notes.md": "x"}, "no such file, and no matching Parquet, X_k.npy or LIBSVM files"),
    ("", IN_Y, SPARK, True),
    ("", IN_Y, SPARK | HIDDEN, True),
    ("*", IN_Y, SPARK | HIDDEN, True),
    ("A.PARQUET", IN_Y, {"A.PARQUET": PARQUET}, True),
    ("", IN_Y, {"a.parquet": columns("a", "b", "y", y=pa.array(["+", "-"]))}, True),
    ("", IN_Y, {"a.parquet": columns("a", "b", "y", y=pa.array(["1", "\u22121"]))}, True),
    ("", IN_Y | {"positive": "b"}, {"a.parquet": columns("a", "b", "y", y=pa.array(["b", "c"]))}, True),
    ("", IN_Y | {"positive": "1"}, {"a.parquet": PARQUET}, True),
    ("", IN_Y, {"a.parquet": columns("a", "b", "y", y=pa.array(["b", "c"]))}, "say with 'positive'"),
    ("", IN_Y, {"a.parquet": columns("a", "b", "y", y=pa.array(["1", "?"]))},
     "row 1: is NaN or infinite"),
    ("", IN_Y, {"a.parquet": columns("a", "b", "y", y=pa.array(["1", None]))},
     "row 1: is NaN or infinite"),
    ("", IN_Y, {"a.parquet": columns("a", "a", "y")}, "a.parquet: its schema names 'a' twice"),
    ("", IN_Y, {"a.parquet": columns("a", "y", "y")}, "a.parquet: its schema names 'y' twice"),
    ("", IN_Y, {"a.parquet": PARQUET, "b.txt": SVM}, "files of one format are needed"),
    ("", IN_Y | {"zero_based": True}, SPARK, "zero_based: is only for LIBSVM text"),
    ("", {}, HALVES, True),
    ("", {}, HALVES | {"y_1.npy": npy(Y[1:, None])}, True),
    ("", {}, HALVES | {"y_0.npy": npy(np.array(["yes"])), "y_1.npy": npy(np.array(["no"]))}, True),
    ("", {}, HALVES | {"y_0.npy": npy(np.array(["yes"]))},
     "positive: the labels are text, such as 'yes'"),
    ("", {}, HALVES | {"X_1.npy": npy(X[1:] * 1j)},
     "X_1.npy, rows 0 to 0: expected real numbers, got complex"),
    ("", {}, HALVES | {"X_1.npy": npy(X[1:].astype("M8[D]"))},
     "expected real numbers, got datetime64[D]"),
    ("", {}, HALVES | {"X_1.npy": npy(X[1:].astype("m8[s]"))},
     "expected real numbers, got timedelta64[s]"),
    ("", {}, HALVES | {"X_1.npy": npy(X[1:].astype(str))}, "expected real numbers, got <U32"),
    ("", {}, HALVES | {"X_1.npy": npy(X[1:].astype("S"))}, "expected real numbers, got |S32"),
    ("", {}, HALVES | {"X_1.npy": npy(X[1:].astype(object))}, "X_1.npy: is not a complete array: "),
    ("", {}, HALVES | {"y_1.npy": npy(Y[1:] + 5j)}, "y: {}/X_1.npy, rows 0 to 0: expected real numbers"),
    ("", {}, HALVES | {"y_1.npy": npy(Y[1:].astype("M8[D]"))},
     "expected real numbers, got datetime64[D]"),
    ("", {}, {"X.npy": npy(X), "y.npy": npy(np.eye(2))}, "its rows are one-hot codes of classes"),
    ("", {}, HALVES | {"weight_0.npy": npy(["2"]), "weight_1.npy": npy(["2"])},
     "weight: {}/X_0.npy, rows 0"),
    ("", {}, HALVES | {"y_1.npy": pickle.dumps(Y)}, "y_1.npy: is not a complete array: "),
    ("", {}, HALVES | {"X_1.npy": npz(X=X)}, "X_1.npy: is not a complete array: "),
    ("", {}, HALVES | {"y_1.npy": npz(y=Y)}, "y_1.npy: is not a complete array: "),
    ("", {}, HALVES | {"y_1.npy": npy(1.0)}, "y_1.npy: is not a complete array: it is a single number"),
    ("", {}, HALVES | {"weight_1.npy": npz(y=Y)}, "weight_1.npy: is not a complete array: "),
]
# fmt: on


def read_table(path, target="y", **options):
    return datasets.load("table_file", path=path, target=target, **options)


def read_samples(path, **options):
    return datasets.load("libsvm_file", path=path, **options)


def rows(table, read):
    return [pytest.param(read, *row, id=f"{row[0]} {i}") for i, row in enumerate(table)]


def dense(matrix):
    return matrix.toarray() if scipy.sparse.issparse(matrix) else matrix


def check(result, expected, location):
    """Compare what was read, or the sentence of a refusal, with what is expected."""
    if isinstance(expected, str):
        assert isinstance(result, (ValueError, OSError)), result
        assert expected.replace("{}", location) in str(result)
        assert location in str(result) or str(result).startswith(("positive: ", "X: "))
        return
    if isinstance(result, BaseException):
        raise result
    right = (X, Y) if expected is True else expected
    np.testing.assert_array_equal(result[0], right[0])
    np.testing.assert_array_equal(result[1], right[1])


@pytest.mark.parametrize(
    ("read", "name", "options", "content", "expected"),
    [*rows(TABLES, read_table), *rows(SAMPLES, read_samples)],
)
def test_a_file_is_read_correctly_or_refused(tmp_path, read, name, options, content, expected):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    try:
        data = read(path, **options)
        assert data.name in ("t", "t.data")
        result = dense(data.X), data.y
    except (ValueError, OSError) as error:
        result = error
    check(result, expected, str(path))


@pytest.mark.parametrize(("pattern", "options", "files", "expected"), BLOCKS)
def test_a_folder_is_read_correctly_or_refused(tmp_path, pattern, options, files, expected):
    for name, content in files.items():
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    try:
        blocks = open_blocks(tmp_path / pattern, **options)
        result = tuple(np.concatenate([dense(block[i]) for block in blocks]) for i in (0, 1))
    except (ValueError, OSError) as error:
        result = error
    check(result, expected, str(tmp_path))


def test_numbers_of_a_table_are_read_to_the_last_digit(tmp_path):
    rng = np.random.default_rng(0)
    values = rng.standard_normal(4000) * 10.0 ** rng.integers(-9, 9, 4000)
    frame = pd.DataFrame({"a": values, "y": np.where(values > 0, 1, -1)})
    for sep, decimal in ((",", "."), (";", ",")):
        frame.to_csv(tmp_path / "t.csv", index=False, sep=sep, decimal=decimal)
        data = read_table(tmp_path / "t.csv", sep=sep, decimal=decimal)
        np.testing.assert_array_equal(data.X[:, 0], values)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sep": ";;"}, "sep: must be one character"),
        ({"decimal": ";"}, "decimal: must be one of ., ,"),
        ({"header": 0.5}, "header: must be one of"),
        ({"drop": "Id"}, "drop: must be a list of names of columns"),
        ({"drop": ["Id"], "columns": ["a"]}, "drop: columns names all features already"),
    ],
)
def test_bad_options_of_a_table_are_refused(options, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        datasets.make("table_file", path="t.csv", target="y", **options)
