"""Threads of linear algebra are given back."""

from threadpoolctl import threadpool_limits

from problems.forms import FormPoint
from problems.gram.threads import Threads


def test_linear_algebra_gets_its_threads_back_between_blocks_of_work() -> None:
    def work() -> object:
        assert Threads().count == 1
        yield FormPoint(None)
        assert Threads().count == 1

    with threadpool_limits(2, user_api="blas"):
        threads = Threads()
        for _ in threads.one_at_a_time(work()):
            assert Threads().count == 2
        assert Threads().count == 2
