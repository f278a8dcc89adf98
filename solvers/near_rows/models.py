"""Models of the objective near w, which the driver minimises exactly, and the starting point.

A model keeps the near variables as they are and replaces the others by the sums v of their dual
variables and their majoriser's Hessian H:
    min ½‖w'‖² + (γ/2)(w'−w)ᵀH(w'−w) − vᵀw' + Σ_near Cᵢ·max(0, −uᵢ(w'))
Its dual is a box QP in the near variables, on the rows ML⁻ᵀ with LLᵀ = I + γH.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy

from dualgap.problems.box import project
from dualgap.problems.dataset import Vector
from dualgap.problems.kernels import squared_norms
from dualgap.problems.risk.risk import Risk
from dualgap.solvers.dual_coordinate_descent import DualCoordinateDescent
from dualgap.solvers.dual_coordinate_descent.blocks import VariableBlock
from dualgap.solvers.dual_coordinate_descent.descent import Descent
from dualgap.solvers.near_rows.rounds import FarSums, NearVariables
from dualgap.solvers.numerics.rows import as_rows, read_only


class Model(NamedTuple):
    """The minimum of a model: w' (d + 1), the near variables x (m,), and γ."""

    w: Vector
    x: Vector
    gamma: float


def minimise_model(
    risk: Risk,
    nearest: NearVariables,
    far: FarSums,
    H: Any,
    w: Vector,
    gamma: float,
    accuracy: float,
) -> Model:
    """Return the minimum of the model with γ = `gamma`, starting at the near variables' x.

    Parameters
    ----------
    H : (d + 1, d + 1) majoriser's Hessian of the far variables, 0 without any.
    accuracy : largest duality gap of the model.
    """
    v, d, has_far = far.v.sum(axis=0), w.size - 1, bool(H[-1, -1] > 0)
    # b is one more weight if far variables give it curvature, else the multiplier of Σβ = 0
    size = d + 1 if risk.costs.size and has_far else d
    M = nearest.X.toarray() if scipy.sparse.issparse(nearest.X) else nearest.X
    if size > d:
        M = np.column_stack([M, np.ones(len(M))])
    curvature = gamma * H[:size, :size]
    right = curvature @ w[:size] + v[:size]
    curvature[np.diag_indices(d)] += 1.0
    L = np.linalg.cholesky(curvature)
    shift = scipy.linalg.solve_triangular(L, right, lower=True)
    Z = np.ascontiguousarray(scipy.linalg.solve_triangular(L, M.T, lower=True).T)
    cost = nearest.sign * (Z @ shift) + nearest.cost
    block = _variable_block(Z, np.arange(len(Z)), nearest.sign, cost, nearest.C)
    unit = _unit_of(nearest.cost)
    x, z, b = _solve_box(
        block, nearest.x, bool(risk.costs.size) and not has_far, unit, accuracy, 1.0
    )
    end = scipy.linalg.solve_triangular(L.T, shift + z, lower=False)
    return Model(end if size > d else np.append(end, b), x, gamma)


def solve_sample(risk: Risk, X: Any, y: Vector, C: Vector) -> Vector:
    """Return weights and intercept (d + 1,) that are optimal to 1e-3 for a sample with weights `C`."""
    terms = risk.loss.terms(y)
    assert terms is not None
    sides = terms.unit_sides()
    sign, cost = (np.concatenate([getattr(s, name) for s in sides]) for name in ("sign", "cost"))
    row_of = np.tile(np.arange(y.size), len(sides))
    block = _variable_block(X, row_of, sign, cost, C[row_of])
    _, z, b = _solve_box(block, np.zeros(sign.size), bool(risk.costs.size), _unit_of(cost), 1e-3)
    unused = np.zeros(risk.samples.d - z.size)  # trailing features that no drawn row has
    return np.concatenate([z, unused, [b]])


def _unit_of(cost: Vector) -> float:
    """Return a power of two of the size of the largest cost; 1 for the hinge."""
    return float(np.ldexp(1.0, np.frexp(np.abs(cost).max(initial=0.0) or 1.0)[1] - 1))


def _solve_box(
    block: VariableBlock,
    x: Vector,
    equality: bool,
    unit: float,
    accuracy: float,
    size: float | None = None,
) -> tuple[Vector, Vector, float]:
    """Minimise ½‖Mᵀx‖² + pᵀx in a box from `x` on; return x, Mᵀx and the equality's multiplier.

    Parameters
    ----------
    unit : of p, in which it is solved, as the tolerances of coordinate descent are absolute.
    accuracy : the gap of the solution, relative to `size`; None for the objective.
    """
    if not x.size:
        return x, np.zeros(block.rows.features), 0.0
    solver = DualCoordinateDescent(tol=1e-9, gap=accuracy)
    block = block._replace(p=read_only(block.p / unit), ub=read_only(block.ub / unit))
    x = x / unit
    start = project(x, block.lb, block.ub, block.a, 0.0) if equality else x.copy()
    state = Descent(block, 0.0, equality, start, unit=size and size / unit**2)
    for steps, _ in enumerate(solver.improvements(state, bool(x.any()))):
        if state.stuck or steps > 400:  # a less accurate minimum still gives valid bounds
            state.balance()
            break
    return unit * state.x, unit * state.w, unit * state.nu if equality else 0.0


def _variable_block(X: Any, row_of: Any, sign: Vector, cost: Vector, C: Vector) -> VariableBlock:
    """Return a block of dual variables between 0 and C, with `sign` as equality coefficients."""
    vectors = row_of, sign, cost, sign, np.zeros(sign.size), C, squared_norms(X)[row_of]
    return VariableBlock(as_rows(X), *(read_only(v) for v in vectors))
