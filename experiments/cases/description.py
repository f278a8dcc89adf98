"""What a problem is like at its optimum, for `describe: true`: measured on a certified answer, untimed.

Of K more than `_WHOLE` samples are not measured whole, but in `_BLOCKS` disjoint blocks of samples drawn
at random: the mean over the blocks stands, and its standard error beside it, 0 where K was whole.
"""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import scipy.linalg
from scipy.sparse.linalg import LinearOperator, eigsh

from dualgap.problems import Matrix, Vector
from dualgap.problems.forms import BoxQP
from dualgap.problems.kernels import Block
from dualgap.solvers import Solution

_WHOLE, _BLOCKS, _BLOCK = 1000, 4, 250  # samples; blocks; samples of a block
_MOST_FREE = 2000  # variables whose eigenvalues are computed
_MOST_PRODUCTS = 10_000  # samples up to which products with a kernel's K are affordable
_AT_BOUND = 1e-8  # of the distance of the bounds
_NEGLIGIBLE = 1e-6  # of the mean diagonal of K
_NULL = 1e-12  # of the largest eigenvalue


def described(solution: Solution) -> dict[str, float]:
    """Return the columns `DESCRIBED` that the problem of a solved run has; {} where it is not solved."""
    problem, alpha = solution.problem, solution.alpha
    if (
        solution.verdict != "solved"
        or alpha is None
        or problem.outputs > 1
        or not problem.has_samples
    ):
        return {}
    gram = problem.gram()
    found = {
        "total_weight": float(problem.weight.sum()),
        "loss_at_zero": float(problem.weight @ problem.loss.value(problem.y, np.zeros(problem.n))),
        "radius": float(np.sqrt(gram.diagonal().max())),
        "duplicates": 1.0 - distinct(problem.X) / problem.n,
    }
    order = np.random.default_rng(0).permutation(problem.n)
    whole = problem.n <= _WHOLE
    drawn = [order] if whole else [order[i * _BLOCK : (i + 1) * _BLOCK] for i in range(_BLOCKS)]
    found |= spectrum([gram.block(rows, rows) for rows in drawn], problem.n)
    if problem.pieces is not None and problem.is_bounded:
        box = problem.to_box(gram).form
        found |= at_optimum(box, problem.to_box_variables(alpha))
    return found


def spectrum(blocks: Sequence[Block], n: int) -> dict[str, float]:
    """Return what diagonal blocks of the Gram matrix of n samples tell of it, with standard errors."""
    of_each = list[tuple[float, ...]]()
    for K in blocks:
        diagonal, beside = np.diag(K), K[~np.eye(len(K), dtype=bool)]
        squares = n * np.mean(diagonal**2) + n * (n - 1) * np.mean(beside**2)
        values = np.linalg.eigvalsh(K)[::-1]
        values = values[values > _NULL * values[0]]
        places = np.log(np.arange(1, values.size + 1))
        decay = -np.polyfit(places, np.log(values), 1)[0] if values.size > 1 else np.inf
        density = float(np.mean(np.abs(beside) > _NEGLIGIBLE * diagonal.mean()))
        of_each.append(((n * diagonal.mean()) ** 2 / squares, decay, density))
    errors = (
        np.std(of_each, axis=0, ddof=1) / np.sqrt(len(blocks)) if len(blocks) > 1 else np.zeros(3)
    )
    names = ("effective_rank", "eigenvalue_decay", "kernel_density")
    found = dict(zip(names, np.mean(of_each, axis=0).tolist(), strict=True))
    return found | dict(zip((f"{name}_error" for name in names), errors.tolist(), strict=True))


def at_optimum(box: BoxQP, x: Vector) -> dict[str, float]:
    """Return what the optimum `x` of a box QP with finite bounds is like."""
    width = box.ub - box.lb
    room = np.minimum(x - box.lb, box.ub - x) / width
    free = np.flatnonzero(room > _AT_BOUND)
    r = box.lagrangian_gradient(box.Q.matvec(x) + box.p)
    found = {
        "share_free": free.size / x.size,
        # interior points leave a little of what is 0
        "share_bounded": float(np.mean((room <= _AT_BOUND) & (np.abs(x) > _AT_BOUND * width))),
        "strict_complementarity": float(np.maximum(room, np.abs(r)).min()),
        "start_distance": float(np.linalg.norm(x - box.first_point())),
    }
    if 0 < free.size <= _MOST_FREE:
        Q, (A, _) = box.Q.block(free, free), box.equality_rows()
        if A is not None:
            keeping = scipy.linalg.null_space(A.toarray()[:, free])
            Q = keeping.T @ Q @ keeping
        values = np.linalg.eigvalsh(Q) if Q.size else np.ones(1)
        positive = values[0] > _NULL * values[-1]
        found["condition_free"] = float(values[-1] / values[0]) if positive else np.inf
    if box.gram.is_linear or box.gram.n <= _MOST_PRODUCTS:
        product = LinearOperator((box.n, box.n), matvec=box.Q.matvec, dtype=np.float64)
        start = np.random.default_rng(0).standard_normal(box.n)
        L = eigsh(product, k=1, v0=start, tol=1e-3, return_eigenvectors=False)[0]
        found["largest_eigenvalue"] = float(L)
    return found


def distinct(X: Matrix) -> int:
    """Return how many of the rows of `X` (n, d), dense or CSR, are different from one another."""
    if isinstance(X, np.ndarray):
        return len(np.unique(X, axis=0))
    ends = pairwise(X.indptr)
    return len({X.indices[a:b].tobytes() + X.data[a:b].tobytes() for a, b in ends})
