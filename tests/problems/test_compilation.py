"""Compiled functions: what cannot be read from the disk, and what is said while they are compiled."""

import importlib.util
import os
import pickle
import subprocess
import sys

import numba
import pytest
from numba.core.event import Listener, install_listener

from dualgap.problems import compilation
from dualgap.problems.compilation import compiling
from dualgap.solvers.numerics.timing import pausing

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


@pytest.mark.parametrize(
    "name", ["dualgap.problems.compiled_once", "dualgap.solvers.compiled_once"]
)
def test_a_function_whose_index_cannot_be_read_is_compiled_again(name, folder, monkeypatch):
    monkeypatch.setitem(sys.modules, name, module := module_of(name, folder))
    assert module.doubled(2) == 4
    (index,) = folder.rglob("*.nbi")
    for suffix in (MOVED, RENAMED, CUT_SHORT):
        damaged = pickle.dumps(numba.__version__) + suffix
        index.write_bytes(damaged)
        assert module_of(name, folder).doubled(2) == 4
        assert index.read_bytes() != damaged


@pytest.mark.parametrize(("suffix", "error"), [(MOVED, ModuleNotFoundError), (CUT_SHORT, EOFError)])
def test_corrupt_caches_of_other_packages_are_not_touched(suffix, error, folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "problems_of_others", module_of("problems_of_others", folder))
    assert sys.modules["problems_of_others"].doubled(2) == 4
    (index,) = folder.rglob("*.nbi")
    index.write_bytes(damaged := pickle.dumps(numba.__version__) + suffix)
    with pytest.raises(error):
        module_of("problems_of_others", folder).doubled(2)
    assert index.read_bytes() == damaged


@pytest.mark.parametrize(("seconds", "times"), [(-1.0, 1), (1e9, 0)], ids=["long", "short"])
@pytest.mark.parametrize(("name", "ours"), [("dualgap.problems.compiled_once", 1), ("other", 0)])
def test_compilation_of_our_functions_is_announced_once(
    seconds, times, name, ours, folder, monkeypatch
):
    monkeypatch.setattr(compilation, "_SILENT_SECONDS", seconds)
    monkeypatch.setitem(sys.modules, name, module_of(name, folder))
    first, later = [], []
    with compiling(lambda: first.append(list(folder.rglob("*.nbi")))):
        sys.modules[name].doubled(2)
        sys.modules[name].doubled(2.0)
    assert first == times * ours * [[]]  # before the first function is on the disk
    loaded = module_of(name, folder)
    with compiling(lambda: later.append(None)):
        assert loaded.doubled(2) == 4
    assert not later
    loaded.doubled(1j)  # compiled, but nobody listens any more
    assert len(first) == times * ours


SCRIPT = """
from dualgap.problems import compilation
from dualgap.problems.kernels.compiled import subtract_norms
from dualgap.problems.box import _multiplier
compilation._SILENT_SECONDS = -1.0
for function, arguments in ((subtract_norms, "f8[:,::1], f8[::1], f8[::1]"),
                            (_multiplier, ", ".join(6 * ["f8[::1]"]) + ", i8[::1], f8")):
    function.compile(f"({arguments})")
"""


@pytest.mark.exhaustive
def test_a_plain_script_announces_compilation_once_on_stderr(tmp_path):
    """No call of ours, `solve` or an estimator, has to do anything for it, and no handler is set up."""
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    run = [sys.executable, "-c", SCRIPT]
    result = subprocess.run(run, env=environment, capture_output=True, text=True, check=True)
    assert result.stdout == ""
    assert result.stderr == compilation._COMPILING + "\n"
    again = subprocess.run(run, env=environment, capture_output=True, text=True, check=True)
    assert again.stderr == ""


class Hands(Listener):
    """A clock that goes on by ten seconds whenever something is compiled, or read from the disk."""

    def __init__(self):
        self.now = 0.0

    def on_start(self, event):
        self.now += 10.0

    def on_end(self, event):
        pass


def test_a_clock_pauses_while_a_function_is_compiled_or_loaded(folder):
    for doubled in (module_of("compiled_once", folder).doubled for _ in range(2)):
        hands = Hands()
        with pausing(lambda: hands.now) as pauses, install_listener("numba:compiler_lock", hands):  # noqa: B023
            doubled(2)
            hands.now += 1.0
            doubled(3)
        assert hands.now > 10.0
        assert pauses.clocks[0]() == 1.0
        assert pauses.lost[0] == hands.now - 1.0
