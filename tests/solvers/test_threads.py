"""Threads of linear algebra are given back."""

from problems.forms import FormPoint
from solvers.threads import Threads


def test_linear_algebra_gets_its_threads_back_between_blocks_of_work() -> None:
    threads = Threads()

    def work() -> object:
        assert Threads().count == 1
        yield FormPoint(None)
        assert Threads().count == 1

    for _ in threads.one_at_a_time(work()):
        assert Threads().count == threads.count
    assert Threads().count == threads.count
