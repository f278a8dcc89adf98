"""Properties of a problem at its optimum, for `describe: true`: measured on a certified answer, untimed.

K is measured in full up to `_MAX_FULL_SAMPLES`, else in `_RANDOM_BLOCKS` disjoint random blocks;
then the mean over the blocks is recorded with its standard error, which is 0 for a full K.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
import scipy.linalg

from dualgap.problems import Formulation, Matrix, Vector
from dualgap.problems.forms import BoxQP
from dualgap.problems.gram.semidefinite import largest_eigenvalue
from dualgap.problems.kernels import Block
from dualgap.problems.risk.risk import box_point
from dualgap.solvers import Solution

_MAX_FULL_SAMPLES = 1000  # an eigendecomposition of K takes less than a second
_RANDOM_BLOCKS = 4  # together as many samples as a full K
_BLOCK_SAMPLES = 250
_MAX_FREE = 2000  # free variables up to which the eigenvalues of Q are computed
_MAX_MATVEC_SAMPLES = 10_000  # up to which products with a kernel's K are affordable
_BOUND_RTOL = 1e-8  # of the distance between the bounds: closer counts as at the bound
_ENTRY_RTOL = 1e-6  # of the mean diagonal of K: smaller entries count as zero
_RANK_RTOL = 1e-12  # of the largest eigenvalue: smaller ones count as zero


def describe_optimum(solution: Solution) -> dict[str, float]:
    """Return the columns of a solved run that is described; {} if it is not solved."""
    problem, alpha = solution.problem, solution.alpha
    if (
        solution.verdict != "solved"
        or alpha is None
        or not isinstance(problem, Formulation)
        or problem.outputs > 1
    ):
        return {}
    gram, risk = problem.samples.gram(), problem.risk
    columns = {
        "total_weight": float(risk.C.sum()),
        "loss_at_zero": float(risk.C @ risk.loss.value(risk.y, np.zeros(risk.n))),
        "radius": float(np.sqrt(gram.diagonal().max())),
        "fraction_duplicate": 1.0 - distinct(problem.X) / problem.n,
    }
    order = np.random.default_rng(0).permutation(problem.n)
    starts = range(0, _RANDOM_BLOCKS * _BLOCK_SAMPLES, _BLOCK_SAMPLES)
    drawn = [order[start : start + _BLOCK_SAMPLES] for start in starts]
    drawn = [order] if problem.n <= _MAX_FULL_SAMPLES else drawn
    columns |= spectrum([gram.block(rows, rows) for rows in drawn], problem.n)
    if risk.terms is not None and not risk.is_hard:
        columns |= at_optimum(replace(risk.form, gram=gram).box, box_point(risk, alpha))
    return columns


@np.errstate(invalid="ignore")  # the effective rank of K = 0 is NaN
def spectrum(blocks: Sequence[Block], n: int) -> dict[str, float]:
    """Estimate properties of the Gram matrix of n samples from diagonal blocks, with standard errors."""
    estimates = list[tuple[float, ...]]()
    for K in blocks:
        diagonal = np.diag(K)
        off_diagonal = K[~np.eye(len(K), dtype=bool)] if len(K) > 1 else np.zeros(1)
        squares = n * np.mean(diagonal**2) + n * (n - 1) * np.mean(off_diagonal**2)
        values = np.linalg.eigvalsh(K)[::-1]
        values = values[values > _RANK_RTOL * values[0]]
        log_ranks = np.log(np.arange(1, values.size + 1))
        decay = -np.polyfit(log_ranks, np.log(values), 1)[0] if values.size > 1 else np.inf
        density = float(np.mean(np.abs(off_diagonal) > _ENTRY_RTOL * diagonal.mean()))
        estimates.append(((n * diagonal.mean()) ** 2 / squares, decay, density))
    errors = (
        np.std(estimates, axis=0, ddof=1) / np.sqrt(len(blocks)) if len(blocks) > 1 else np.zeros(3)
    )
    names = ("effective_rank", "eigenvalue_decay", "kernel_density")
    columns = dict(zip(names, np.mean(estimates, axis=0).tolist(), strict=True))
    return columns | dict(zip((f"{name}_error" for name in names), errors.tolist(), strict=True))


def at_optimum(box: BoxQP, x: Vector) -> dict[str, float]:
    """Describe the optimum `x` of a box QP with finite bounds."""
    width = box.ub - box.lb
    slack = np.minimum(x - box.lb, box.ub - x) / width
    free = np.flatnonzero(slack > _BOUND_RTOL)
    r = box.lagrangian_gradient(box.Q.matvec(x) + box.p)
    columns = {
        "fraction_free": free.size / x.size,
        # interior-point methods leave zero variables slightly positive
        "fraction_bounded": float(
            np.mean((slack <= _BOUND_RTOL) & (np.abs(x) > _BOUND_RTOL * width))
        ),
        "strict_complementarity": float(np.maximum(slack, np.abs(r)).min()),
        "start_distance": float(np.linalg.norm(x - box.first_point())),
    }
    if 0 < free.size <= _MAX_FREE:
        Q, (A, _) = box.Q.block(free, free), box.equality_rows()
        if A is not None:
            null_space = scipy.linalg.null_space(A.toarray()[:, free])
            Q = null_space.T @ Q @ null_space
        values = np.linalg.eigvalsh(Q) if Q.size else np.ones(1)
        positive = values[0] > _RANK_RTOL * values[-1]
        columns["condition_number_free"] = float(values[-1] / values[0]) if positive else np.inf
    if box.gram.is_linear or box.gram.n <= _MAX_MATVEC_SAMPLES:
        columns["largest_eigenvalue"] = largest_eigenvalue(box.Q.matvec, box.n, 1e-3)
    return columns


def distinct(X: Matrix) -> int:
    """Return the number of distinct rows of `X` (n, d), dense or CSR."""
    if isinstance(X, np.ndarray):
        return len(np.unique(X, axis=0))
    ends = pairwise(X.indptr)
    return len({X.indices[a:b].tobytes() + X.data[a:b].tobytes() for a, b in ends})
