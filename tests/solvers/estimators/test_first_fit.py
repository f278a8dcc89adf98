"""What a first fit compiles, before anything is on the disk: each second of it is waited for."""

import os
import subprocess
import sys

import pytest

FITS = """
from collections import Counter
import numpy as np
from numba.core.event import install_recorder
from dualgap.solvers.estimators import SVC, SVR, NuSVC, OneClassSVM

X = np.random.default_rng(0).standard_normal((100, 3))
with install_recorder("numba:compile") as compiled:
    SVC().fit(X, X[:, 0] > 0)
    NuSVC(nu=0.2).fit(X, X[:, 0] > 0)
    SVR().fit(X, X[:, 0])
    OneClassSVM().fit(X)
functions = [event.data["dispatcher"].py_func for _, event in compiled.buffer if event.is_start]
ours = Counter(f.__qualname__ for f in functions if f.__module__.startswith("dualgap."))
print(len(functions), max(ours.values()))
"""


@pytest.mark.exhaustive
def test_small_machines_compile_at_most_30_functions_of_one_signature_each(tmp_path) -> None:
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, "-c", FITS]
    completed = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    functions, signatures = map(int, completed.stdout.split())
    assert functions <= 30
    assert signatures == 1
