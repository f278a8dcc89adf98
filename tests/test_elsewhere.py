"""The library without what only POSIX has, as it is on Windows."""

import subprocess
import sys

import pytest
from tests.sources import FILES

LIBRARY = [name for name in FILES if name.startswith(("dualgap.problems", "dualgap.solvers"))]


def test_library_imports_without_posix():
    code = (
        f"import importlib, tests.elsewhere\nfor name in {LIBRARY}: importlib.import_module(name)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


@pytest.mark.exhaustive
@pytest.mark.parametrize("tests", ["external/test_program.py", "near_rows", "running"])
def test_tests_of_solvers_pass_without_posix(tests):
    command = [sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider"]
    command += ["-p", "tests.elsewhere", f"tests/solvers/{tests}"]
    subprocess.run(command, check=True, timeout=600)
