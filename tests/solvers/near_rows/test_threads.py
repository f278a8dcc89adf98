"""Near rows reads blocks on all threads, although its driver has one."""

from concurrent.futures import ThreadPoolExecutor

from tests.small_problems import two_classes
from threadpoolctl import threadpool_limits

from dualgap.problems import SoftMarginPrimal
from dualgap.solvers import solve
from dualgap.solvers.near_rows import NearRows, rounds


def test_the_parts_of_a_block_are_divided_between_all_threads(monkeypatch):
    counts = list[int]()

    def pool(count: int) -> ThreadPoolExecutor:
        counts.append(count)
        return ThreadPoolExecutor(count)

    problem, solver = SoftMarginPrimal(*two_classes(n=300, d=5), C=1.0), NearRows(near=20)
    solve(problem, solver)  # its preparation, once per process, solves small problems
    monkeypatch.setattr(rounds, "ThreadPoolExecutor", pool)
    with threadpool_limits(2, user_api="blas"):
        assert solve(problem, solver).verdict == "solved"
    assert set(counts) == {2}
