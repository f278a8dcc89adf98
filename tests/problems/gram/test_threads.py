"""Threads of linear algebra are given back."""

import os
import subprocess
import sys

from threadpoolctl import threadpool_limits

from dualgap.problems.forms import FormPoint
from dualgap.problems.gram.threads import Threads


def test_linear_algebra_gets_its_threads_back_between_blocks_of_work() -> None:
    def work() -> object:
        assert Threads().count == 1
        yield FormPoint(None)
        assert Threads().count == 1

    with threadpool_limits(2, user_api="blas"):
        threads = Threads()
        for _ in threads.with_one_blas_thread(work()):
            assert Threads().count == 2
        assert Threads().count == 2


def test_overlapping_thread_limits_restore_the_original_limit() -> None:
    with threadpool_limits(2, user_api="blas"):
        first, second = Threads().limited(1), Threads().limited(1)
        first.__enter__()
        second.__enter__()
        first.__exit__(None, None, None)
        assert Threads().count == 1
        second.__exit__(None, None, None)
        assert Threads().count == 2


def test_every_library_of_linear_algebra_is_limited_whenever_it_is_loaded():
    code = """
from dualgap.problems.gram.threads import Threads
with Threads().limited(1):
    import scipy.linalg
    from threadpoolctl import threadpool_info
    print({pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"})
"""
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "2"}
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment
    )
    assert result.stdout == "{1}\n"
