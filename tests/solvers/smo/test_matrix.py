"""Kept rows: the products and blocks that are read from them are those of K."""

import gc
import weakref
from dataclasses import replace
from itertools import zip_longest

import numpy as np
import pytest
from scipy.sparse import csr_array

from dualgap.problems import (
    RBF,
    FormPoint,
    Gram,
    KernelQP,
    Linear,
    NuSVR,
    Point,
    Polynomial,
    Sigmoid,
    SoftMarginDual,
    certify,
    reduce,
)
from dualgap.problems.gram.tiles import Tiles
from dualgap.solvers import SMO, solve
from dualgap.solvers.smo import active
from dualgap.solvers.smo.matrix import Matrix, RowCache
from dualgap.solvers.smo.variables import Scores, joined

N = 1500
X = np.random.default_rng(0).standard_normal((N, 5))
FORM = reduce(SoftMarginDual(X, np.sign(X[:, 0]), 1.0, RBF(0.3)), KernelQP).form


@pytest.mark.parametrize("chosen", [1, 8, 45, 700])
def test_rows_give_products_and_blocks_of_K(chosen: int) -> None:
    rng = np.random.default_rng(chosen)
    with Tiles(FORM.gram, 2) as tiles:
        scores = Scores(joined(FORM), tiles)
        members = rng.permutation(scores.n)[:1200]
        rows = RowCache(scores.matrix, members, 10**9)
        selected = rng.choice(members.size, chosen, replace=False)
        rows.fetch(selected[: chosen // 2])
        sample = scores.form.samples
        K = RBF(0.3)(X[sample[members]], X[sample[members]])
        f, weights = np.ones(members.size), rng.standard_normal(chosen)
        assert rows.add_to(f, selected, weights).all()  # computes the other half
        assert np.allclose(f, 1.0 + K[:, selected] @ weights, rtol=0, atol=1e-5)
        assert np.allclose(rows.block(selected), K[np.ix_(selected, selected)], atol=1e-6)


def test_the_two_variables_of_a_sample_use_one_row() -> None:
    form = reduce(NuSVR(X, X[:, 0], 0.3, 1.0, RBF(0.3)), KernelQP).form
    with Tiles(form.gram, 1) as tiles:
        scores = Scores(joined(form), tiles)
        members = np.r_[100:N, N : 2 * N]
        rows, selected = (
            RowCache(scores.matrix, members, 10**9),
            np.array([0, N - 100, N, 3]),
        )  # samples 100, 0, 100, 103
        before = form.gram.evaluations
        f = np.zeros(members.size)
        assert rows.add_to(f, selected, weights := np.array([1.0, 2.0, 0.5, -1.0])).all()
        assert form.gram.evaluations - before == 3 * N
        K = RBF(0.3)(X[members % N], X[members[selected] % N])
        assert np.allclose(f, K @ weights, rtol=0, atol=1e-5)
        assert np.allclose(
            rows.block(selected)[np.tril_indices(4)], K[selected][np.tril_indices(4)], atol=1e-6
        )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "kernel", [RBF(0.3), Polynomial(2, 1.0), Sigmoid(0.1, 0.0), RBF(0.3) + Linear()]
)
@pytest.mark.parametrize("samples", [X, csr_array(np.where(X > 1.0, X, 0.0))])
def test_all_rows_are_computed_with_each_value_once(samples, kernel, dtype) -> None:
    gram = Gram(samples, kernel)
    form = replace(FORM, gram=gram)
    with Tiles(gram, 2) as tiles:
        members = np.random.default_rng(0).permutation(N)[:1400]
        rows = RowCache(Matrix(tiles, form, dtype), members, 10**9)
        rows.fetch(np.array([3, 900, 1399, 1]))
        before = gram.evaluations
        rows.fetch_all()
        if not isinstance(kernel, Sigmoid):  # which is evaluated for whole rows
            assert gram.evaluations - before <= 1396 * 1000
        everything = np.arange(members.size)
        K = gram.block(members, members)
        assert np.allclose(rows.part(everything, everything), K, rtol=1e-4, atol=1e-4)
        rows.replace(np.array([0, 5, 1300]), np.setdiff1d(np.arange(N), members)[:3])
        rows.fetch_all()  # of rows that are not consecutive
        K = gram.block(rows.members, rows.members)
        assert np.allclose(rows.part(everything, everything), K, rtol=1e-4, atol=1e-4)


MANY = np.random.default_rng(1).standard_normal((4200, 3))  # products take several threads
LABELS = np.sign(MANY[:, 0] + 0.5 * MANY[:, 1] ** 3)


def test_values_are_computed_once_if_nearly_all_samples_become_support_vectors(monkeypatch) -> None:
    labels = np.random.default_rng(3).choice([-1.0, 1.0], len(MANY))
    problem = SoftMarginDual(MANY, labels, 10.0, RBF(50.0))
    once = solve(problem, SMO(gap=1e-2))
    monkeypatch.setattr(active, "TUNING", replace(active.TUNING, foreseen_share=2.0))
    twice = solve(problem, SMO(gap=1e-2))
    assert max(s.certificate.relative_gap for s in (once, twice)) <= 1e-2
    evaluations = [s.counters["kernel_evaluations"] for s in (once, twice)]
    assert evaluations[0] < evaluations[1] - 0.3 * len(MANY) ** 2


def test_a_warm_started_problem_reuses_the_rows_of_the_previous_one() -> None:
    gram = Gram(MANY, RBF(0.3), keep=True)
    problem = SoftMarginDual(MANY, LABELS, 1.0, RBF(0.3))
    first = solve(problem, SMO(gap=1e-2), gram=gram)
    computed = gram.evaluations
    second = solve(replace(problem, C=1.1), SMO(gap=1e-2), gram=gram, initial=first)
    assert second.certificate.relative_gap <= 1e-2
    assert gram.evaluations < 1.5 * computed


def test_rows_are_reused_if_the_start_is_nearly_optimal() -> None:
    gram = Gram(MANY, RBF(0.3), keep=True)
    problem = SoftMarginDual(MANY, LABELS, 1.0, RBF(0.3))
    answer = solve(problem, SMO(gap=1e-2), gram=gram)
    for C in (1.0, 1.0, 1.1):
        computed = gram.evaluations
        answer = solve(replace(problem, C=C), SMO(gap=1e-2), gram=gram, initial=answer)
        assert gram.evaluations < 1.2 * computed


def test_one_working_set_stops_early_if_the_gap_may_be_wide() -> None:
    problem = SoftMarginDual(MANY[:700], LABELS[:700], 10.0, RBF(0.3))
    wide, narrow = (solve(problem, SMO(gap=gap)) for gap in (1e-1, 5e-5))
    assert wide.certificate.relative_gap <= 1e-1
    assert 3 * wide.iterations < narrow.iterations


def test_kept_rows_do_not_delay_the_release_of_the_gram_matrix() -> None:
    gram = Gram(MANY[:600], RBF(0.3), keep=True)
    solve(SoftMarginDual(MANY[:600], LABELS[:600], 1.0, RBF(0.3)), SMO(gap=0.1), gram=gram)
    alive = weakref.ref(gram)
    gc.disable()  # it would release the reference cycle that this test excludes
    try:
        del gram
        assert alive() is None
    finally:
        gc.enable()


def test_rows_of_a_working_set_are_reused_without_the_equality() -> None:
    gram = Gram(MANY[:600], RBF(0.3), keep=True)
    for intercept in (True, False):
        problem = SoftMarginDual(MANY[:600], LABELS[:600], 1.0, RBF(0.3), intercept)
        solution = solve(problem, SMO(tol=1e-6), gram=gram)
        assert solution.verdict == "solved"
        assert solution.iterations < 2000


@pytest.mark.parametrize("n", [600, 4200])  # one working set, and several
def test_problems_solved_alternately_on_one_gram_matrix_keep_separate_rows(n: int) -> None:
    gram = Gram(MANY[:n], RBF(0.3), keep=True)
    problem = SoftMarginDual(MANY[:n], LABELS[:n], 1.0, RBF(0.3))
    problems = problem, replace(problem, y=-problem.y, C=10.0), replace(problem, C=0.1)
    runs = [
        SMO(tol=tol).iterates(reduce(problem_of_turn, KernelQP, gram=gram).form)
        for problem_of_turn, tol in zip(problems, (1e-6, 1e-6, 1e-1), strict=True)
    ]  # the last one ends first
    last: dict[int, FormPoint] = {}
    for points in zip_longest(*runs):
        last |= {k: point for k, point in enumerate(points) if point is not None}
    for k, gap in enumerate((1e-6, 1e-6, 1e-2)):
        assert last[k].claim == "optimal"
        x = last[k].x
        assert x is not None
        alpha = problems[k].risk.alpha(x)
        assert certify(problems[k], Point(alpha)).relative_gap <= gap
