"""Pegasos: close to the optimum, with dual counts that are exactly its weights."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_classification
from tests.small_problems import PROBLEMS, TARGETS, X

from dualgap.problems import (
    ERM,
    RBF,
    HingeERM,
    Linear,
    Precomputed,
    SoftMarginDual,
    SVRPrimal,
    certify,
    reduce,
)
from dualgap.problems.gram.gram import Gram
from dualgap.solvers import solve
from dualgap.solvers.pegasos import Pegasos


def samples(n=200, d=8, seed=0):
    X, y = make_classification(n, d, flip_y=0.1, random_state=seed)
    return X, np.where(y > 0, 1.0, -1.0)


NAMES = ("erm", "soft_primal_no_intercept", "soft_dual_linear_no_intercept")
NAMES += ("soft_dual_rbf_no_intercept", "svr_primal_no_intercept")
LARGER = SoftMarginDual(*samples(), 0.5, RBF(0.1), False)
ALL = pytest.mark.parametrize("name", NAMES)
VARIANTS = pytest.mark.parametrize(
    ("sampling", "project", "average"),
    [(s, p, a) for s in ("permutation", "iid") for p in (True, False) for a in (True, False)],
)


def unclipped_primal(problem, answer):
    """The primal value at the solver's own w, before the certificate clips an overshooting α."""
    beta = problem.risk.beta(answer.point.alpha)
    scores = problem.samples.gram().matvec(beta)
    return 0.5 * beta @ scores + problem.risk.C @ problem.risk.loss.value(problem.y, scores)


@ALL
@pytest.mark.parametrize("sampling", ["permutation", "iid"])
@pytest.mark.parametrize("batch_size", [1, 7])
def test_averaged_answer_is_within_a_hundredth_of_the_optimum(name, sampling, batch_size):
    problem = PROBLEMS[name]
    best = solve(problem).certificate
    answer = solve(problem, Pegasos(epochs=200, sampling=sampling, batch_size=batch_size))
    assert answer.claimed == "stopped"
    assert unclipped_primal(problem, answer) <= 1.01 * best.primal_objective
    if sampling == "permutation":
        assert answer.certificate.primal_objective <= 1.01 * best.primal_objective


@ALL
@VARIANTS
def test_dual_counts_are_the_weights_and_bounds_hold_at_every_yield(
    name, sampling, project, average
):
    problem = PROBLEMS[name]
    best = solve(problem).certificate
    reduction = reduce(problem, ERM)
    solver = Pegasos(epochs=4, batch_size=3, project=project, average=average, sampling=sampling)
    for point in solver.iterates(reduction.form):
        assert point.beta is not None
        if point.x is not None:
            w = problem.X.T @ point.beta
            assert np.abs(point.x - w).max() <= 1e-12 * max(1.0, np.abs(w).max())
        certificate = certify(problem, reduction.recover(point))
        rounding = 1e-9 * best.primal_objective
        assert certificate.dual_objective <= best.primal_objective + rounding
        assert certificate.primal_objective >= best.dual_objective - rounding


@ALL
@pytest.mark.parametrize("batch_size", [1, 7])
@pytest.mark.parametrize("project", [True, False])
def test_permutation_keeps_alpha_in_its_box_at_the_end_of_epochs(name, batch_size, project):
    problem = PROBLEMS[name]
    reduction = reduce(problem, ERM)
    solver = Pegasos(epochs=5, batch_size=batch_size, project=project, average=False)
    for point in solver.iterates(reduction.form):
        alpha = reduction.recover(point).alpha
        lower = -problem.risk.C if problem.risk.loss.is_regression else 0.0
        assert (alpha >= lower - 1e-12 * problem.risk.C).all()
        assert (alpha <= (1 + 1e-12) * problem.risk.C).all()


@VARIANTS
def test_linear_and_precomputed_kernels_give_the_same_iterates(sampling, project, average):
    X, y = samples()
    solver = Pegasos(epochs=5, batch_size=4, sampling=sampling, project=project, average=average)
    linear = solve(SoftMarginDual(X, y, 0.3, Linear(), False), solver)
    kernel = solve(SoftMarginDual(X @ X.T, y, 0.3, Precomputed(), False), solver)
    assert linear.iterations == kernel.iterations
    assert linear.point.alpha == pytest.approx(kernel.point.alpha, rel=1e-9, abs=1e-12)


def test_rows_computed_in_chunks_give_the_iterates_of_the_full_gram_matrix(monkeypatch):
    monkeypatch.setattr("dualgap.solvers.pegasos._BLOCK_ENTRIES", 3000)
    form = reduce(LARGER, ERM).form
    chunked = ERM(Gram(form.gram.X, form.gram.kernel, 10_000), form.y, form.C, form.loss, False)
    solver = Pegasos(epochs=2, batch_size=4)
    full, parts = list(solver.iterates(form)), list(solver.iterates(chunked))
    assert len(full) == len(parts) > 2  # it also yields within an epoch
    assert parts[-1].beta == pytest.approx(full[-1].beta, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("batch_size", [1, 16])
def test_dense_and_sparse_samples_give_the_same_iterates(batch_size):
    X, y = samples()
    X[np.abs(X) < 0.5] = 0.0
    solver = Pegasos(epochs=5, batch_size=batch_size)
    dense, sparse = (solve(HingeERM(S, y, 0.01), solver) for S in (X, sp.csr_array(X)))
    assert dense.w == pytest.approx(sparse.w, rel=1e-10, abs=1e-12)


def test_one_step_is_the_published_one():
    X, y = samples(50)
    lam, k = 0.1, 5
    # blocks of four neighbours in random order, then the two samples that are left
    first = 4 * np.random.default_rng(0).permutation(12)
    order = np.append(first[:, None] + np.arange(4), [48, 49])
    w = np.zeros(X.shape[1])
    for t in range(1, 4):
        batch = order[k * (t - 1) : k * t]
        violated = batch[y[batch] * (X[batch] @ w) < 1]
        w = (1 - 1 / t) * w + X[violated].T @ y[violated] / (lam * t * k)
        w *= min(1.0, 1 / np.sqrt(lam) / np.linalg.norm(w))
    answer = solve(HingeERM(X, y, lam), Pegasos(batch_size=k, average=False), max_iter=3)
    assert answer.point.w == pytest.approx(w, rel=1e-12)


def test_average_is_the_mean_of_the_iterates_weighted_by_the_cube_of_their_step():
    problem = HingeERM(*samples(40), 1e-4)
    last = [
        solve(problem, Pegasos(average=False, epochs=2), max_iter=t).point.w for t in range(1, 81)
    ]
    mean = np.average(last, axis=0, weights=np.arange(1, 81.0) ** 3)
    assert solve(problem, Pegasos(epochs=2)).point.w == pytest.approx(mean, rel=1e-10)


def test_optimum_lies_in_the_ball_that_is_projected_onto():
    for problem in map(PROBLEMS.get, NAMES):
        form = reduce(problem, ERM).form
        best = solve(problem)
        norm2 = problem.risk.beta(best.alpha) @ form.gram.matvec(problem.risk.beta(best.alpha))
        loss_at_zero = form.C @ form.loss.value(form.y, np.zeros(form.n))
        assert norm2 <= loss_at_zero


def test_it_stops_at_its_estimate_of_the_gap():
    problem = PROBLEMS["soft_primal_no_intercept"]
    answer = solve(problem, Pegasos(tol=0.05, epochs=1000))
    assert answer.iterations < 1000 * problem.n
    assert answer.certificate.relative_gap < 0.06
    assert answer.claimed == "stopped"


@pytest.mark.parametrize("sampling", ["permutation", "iid"])
def test_a_batch_larger_than_the_data_is_one_step_per_epoch(sampling):
    problem = PROBLEMS["erm"]
    answer = solve(problem, Pegasos(batch_size=10_000, epochs=30, sampling=sampling))
    assert answer.iterations == 30
    assert np.isfinite(answer.certificate.relative_gap)


@pytest.mark.parametrize("scale", [1e-8, 1e8])
def test_badly_scaled_features_stay_finite(scale):
    X, y = samples()
    answer = solve(HingeERM(scale * X, y, 0.01), Pegasos(epochs=5))
    assert np.isfinite(answer.certificate.gap)
    w = X.T @ (scale * answer.point.alpha * y)
    assert np.abs(answer.point.w - w).max() <= 1e-10 * np.abs(w).max()


def test_tube_that_holds_all_targets_is_solved_by_zero():
    answer = solve(SVRPrimal(X, TARGETS, 1.0, 100.0, False), Pegasos())
    assert answer.verdict == "solved"
    assert (answer.w == 0).all()


def test_batch_whose_kernel_rows_do_not_fit_is_refused():
    form = reduce(LARGER, ERM).form
    chunked = ERM(Gram(form.gram.X, form.gram.kernel, 2000), form.y, form.C, form.loss, False)
    assert Pegasos(batch_size=1).refuses(chunked) is None
    assert "fit in memory" in Pegasos(batch_size=2).refuses(chunked)
