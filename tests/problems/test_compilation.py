"""Compiled functions on disk whose index is of an older version of the package."""

import importlib
import pickle
import sys

import numba

import problems  # noqa: F401 - it is what makes numba do so

FUNCTION = "import numba\n\n@numba.njit(cache=True)\ndef doubled(x):\n    return x + x\n"
MOVED = b"cproblems.where_it_was\nRows\n."  # the pickle of a class in a module that is not there
RENAMED = b"cproblems.forms\nNoSuchForm\n."
CUT_SHORT = b""


def test_a_function_whose_index_cannot_be_read_is_compiled_again(tmp_path, monkeypatch):
    (tmp_path / "compiled_once.py").write_text(FUNCTION)
    monkeypatch.syspath_prepend(tmp_path)
    module = importlib.import_module("compiled_once")
    try:
        assert module.doubled(2) == 4
        (index,) = tmp_path.rglob("*.nbi")
        for rest in (MOVED, RENAMED, CUT_SHORT):
            damaged = pickle.dumps(numba.__version__) + rest
            index.write_bytes(damaged)
            assert importlib.reload(module).doubled(2) == 4
            assert index.read_bytes() != damaged
    finally:
        del sys.modules["compiled_once"]
