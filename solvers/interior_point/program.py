"""A QP as the arguments of CVXOPT's `coneqp`, in the ways it can be solved, the fastest first.

    min ½xᵀPx + qᵀx  s.t. Gx + s = h, s ≥ 0, A x = b

With operators and a Newton system of its own where the structure is known, else as matrices with
CVXOPT's Cholesky factors, or, where those break down, with factors that pivot.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import scipy

from problems.gram.gram import SignedGram
from solvers.cvxopt_qp import inequality_rows, to_cvxopt
from solvers.interior_point.dual import DualSystem, dual_system
from solvers.interior_point.kkt import Bounds, System, kkt_solver, operators
from solvers.interior_point.primal import primal_system
from solvers.interior_point.shifted import DenseGram
from solvers.numerics.quadratic import ScaledQP

_PIVOTING_LIMIT = 3000  # rows and columns of G up to which a dense pivoted factor is affordable
_MOST_EQUALITIES = 10  # that are eliminated one by one


@dataclass(frozen=True, eq=False)
class Program:
    """What `coneqp` takes, in its own order.

    Attributes
    ----------
    refinement : steps of iterative refinement for each Newton system.
    start : where to begin, None for CVXOPT's own choice.
    """

    P: Any
    q: Any
    G: Any
    h: Any
    A: Any
    b: Any
    kktsolver: Any
    refinement: int
    start: dict[str, Any] | None = None


def programs(qp: ScaledQP) -> Iterator[Program]:
    """Yield the ways to solve `qp`; each is only built when it is asked for."""
    structured = structured_program(qp)
    if structured is not None:
        yield structured
        if isinstance(qp.operator, SignedGram) and not qp.operator.fits:
            return  # an answer is there, and the matrix would be too large
    yield from matrix_programs(qp)


def structured_program(qp: ScaledQP) -> Program | None:
    """Return `qp` with a Newton system that knows its structure; None where none is known."""
    A = np.zeros((0, qp.q.size)) if qp.A is None else qp.A.toarray()
    bounds = Bounds(qp.lb, qp.ub)
    system = dual_system(qp, bounds) or primal_system(qp, bounds)
    if system is None or A.shape[0] > _MOST_EQUALITIES:
        return None
    P, G = operators(system)
    h = bounds.sides if qp.h is None else np.concatenate([qp.h, bounds.sides])
    q, sides, A_eq, b = (to_cvxopt(M) for M in (qp.q, h, qp.A, qp.b_eq))
    start = _middle(qp) if _gains_from_the_middle(system) else None
    return Program(P, q, G, sides, A_eq, b, kkt_solver(system, A), 0, start)


def matrix_programs(qp: ScaledQP) -> Iterator[Program]:
    """Yield `qp` as CVXOPT's matrices, the finite bounds as rows of G, with its own factors."""
    from cvxopt import misc  # noqa: PLC0415 - slow to import

    rows, sides = inequality_rows(qp)
    P, q, G, h, A, b = (to_cvxopt(M) for M in (qp.P, qp.q, rows, sides, qp.A, qp.b_eq))
    no_rows = to_cvxopt(scipy.sparse.csc_array((0, qp.q.size)))
    dims = {"l": sides.size, "q": [], "s": []}
    pivoting = (misc.kkt_ldl,) if sum(rows.shape) <= _PIVOTING_LIMIT else ()
    for kkt in (misc.kkt_chol2, *pivoting):
        newton = partial(_factor_of, kkt(G, dims, no_rows if A is None else A), P)
        # without refinement these lose the last digits where P is singular
        yield Program(P, q, G, h, A, b, newton, refinement=1)


def _factor_of(factor: Any, P: Any, W: Any) -> Any:
    return factor(W, P)


def _gains_from_the_middle(system: System) -> bool:
    """Whether starting in the middle of the box saves iterations.

    Of a classification with an RBF kernel on 569 to 2000 samples it saved 1 of 12 at C = 1 and 7 of 21
    at C = 1e4, and the factor for CVXOPT's own start. It cost 4 of 13 with a linear kernel on separable
    samples, and 3 of 9 for regressions.
    """
    if not isinstance(system, DualSystem):
        return False
    return isinstance(system.kernel, DenseGram) and not system.twice


def _middle(qp: ScaledQP) -> dict[str, Any] | None:
    """Return the middle of the box with all multipliers 1; None without a box around everything."""
    half = (qp.ub - qp.lb) / 2
    if not np.isfinite(half).all() or not (half > 0).all():
        return None
    slacks = np.concatenate([half, half])
    start = {"x": qp.lb + half, "s": slacks, "z": np.ones(slacks.size)}
    return {name: to_cvxopt(values) for name, values in start.items()}
