"""Compiled functions: what cannot be read from the disk, and what is said while they are compiled."""

import importlib.util
import pickle
import sys

import numba
import pytest

from problems import compilation
from problems.compilation import compiled_apart, compiling

FUNCTION = "import numba\n\n@numba.njit(cache=True)\ndef doubled(x):\n    return x + x\n"
MOVED = b"cproblems.where_it_was\nRows\n."  # the pickle of a class in a module that is not there
RENAMED = b"cproblems.forms\nNoSuchForm\n."
CUT_SHORT = b""


def module_of(name, folder):
    """Return a module of that name, read anew from a file in the folder."""
    spec = importlib.util.spec_from_file_location(name, folder / "compiled_once.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(params=[False, True], ids=["beside the source", "in NUMBA_CACHE_DIR"])
def folder(request, tmp_path, monkeypatch):
    """A folder with a source, whose functions are kept there or where the environment says."""
    (tmp_path / "compiled_once.py").write_text(FUNCTION)
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "kept") if request.param else "")
    yield tmp_path
    assert (tmp_path / "kept").exists() == request.param


@pytest.mark.parametrize("name", ["problems.compiled_once", "solvers.compiled_once"])
def test_a_function_whose_index_cannot_be_read_is_compiled_again(name, folder, monkeypatch):
    monkeypatch.setitem(sys.modules, name, module := module_of(name, folder))
    assert module.doubled(2) == 4
    (index,) = folder.rglob("*.nbi")
    for rest in (MOVED, RENAMED, CUT_SHORT):
        damaged = pickle.dumps(numba.__version__) + rest
        index.write_bytes(damaged)
        assert module_of(name, folder).doubled(2) == 4
        assert index.read_bytes() != damaged


@pytest.mark.parametrize(("rest", "error"), [(MOVED, ModuleNotFoundError), (CUT_SHORT, EOFError)])
def test_functions_of_other_packages_are_left_to_numba(rest, error, folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "problems_of_others", module_of("problems_of_others", folder))
    assert sys.modules["problems_of_others"].doubled(2) == 4
    (index,) = folder.rglob("*.nbi")
    index.write_bytes(damaged := pickle.dumps(numba.__version__) + rest)
    with pytest.raises(error):
        module_of("problems_of_others", folder).doubled(2)
    assert index.read_bytes() == damaged


def test_what_is_compiled_apart_is_read_again_there_and_nowhere_else(folder, monkeypatch, tmp_path):
    apart = tmp_path / "apart"
    monkeypatch.setattr(compilation, "user_cache_path", lambda _: apart)

    def doubled(value, expected):
        module = module_of("compiled_once", folder)
        monkeypatch.setitem(sys.modules, "compiled_once", module)
        assert module.doubled(value) == expected
        (stats,) = module.doubled.stats.cache_hits.values() or [0]
        return stats

    assert doubled(2, 4) == 0
    known = sorted(path for path in folder.rglob("*.nb?") if apart not in path.parents)
    for hits in (0, 1):
        with compiled_apart("theirs.py:Solver"):
            assert doubled(2, 4) == 1  # what is there is read
            assert doubled(2.5, 5.0) == hits
    assert sorted(path for path in folder.rglob("*.nb?") if apart not in path.parents) == known
    assert doubled(2.5, 5.0) == 0


@pytest.mark.parametrize(("seconds", "times"), [(-1.0, 1), (1e9, 0)], ids=["long", "short"])
def test_it_is_said_once_and_only_while_something_is_compiled(seconds, times, folder, monkeypatch):
    monkeypatch.setattr(compilation, "_SILENT_SECONDS", seconds)
    monkeypatch.setitem(sys.modules, "compiled_once", module_of("compiled_once", folder))
    first, later = [], []
    with compiling(lambda: first.append(list(folder.rglob("*.nbi")))):
        sys.modules["compiled_once"].doubled(2)
        sys.modules["compiled_once"].doubled(2.0)
    assert first == times * [[]]  # before the first function is on the disk
    loaded = module_of("compiled_once", folder)
    with compiling(lambda: later.append(None)):
        assert loaded.doubled(2) == 4
    assert not later
    loaded.doubled(1j)  # compiled, but nobody listens any more
    assert len(first) == times
