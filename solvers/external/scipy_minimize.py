"""SciPy's general constrained minimisers on the dual.

    min ½xᵀQx + pᵀx  s.t. Σ_{i∈g} aᵢxᵢ = delta_g for every group g, lb ≤ x ≤ ub

`slsqp`: sequential least squares programming (Kraft 1988); each iteration factorises a dense n×n model.
`trust-constr`: a trust-region interior-point method (Byrd, Hribar & Nocedal 1999) with Q as its Hessian;
its answer keeps a distance to the bounds and is projected.
"""

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Literal, get_args

import numpy as np
import scipy

from dualgap.problems.dataset import Vector
from dualgap.problems.forms import BoxQP, FormPoint
from dualgap.problems.kernels import Block
from dualgap.problems.validation import check_choice
from dualgap.solvers.base import Solver
from dualgap.solvers.needs import at_most
from dualgap.solvers.numerics.claims import has_small_gap

Method = Literal["slsqp", "trust-constr"]


@dataclass(frozen=True)
class ScipyMinimize(Solver):
    """`scipy.optimize.minimize` on any box QP of up to 1000 variables.

    Attributes
    ----------
    method : "slsqp" or "trust-constr".
    tol : SciPy's tolerance: for SLSQP on the change of the objective, for trust-constr on the
        Lagrangian's gradient and the barrier parameter.
    max_iter : limit on its iterations.
    """

    method: Method = "slsqp"
    tol: float | None = None
    max_iter: int = 300

    form: ClassVar = BoxQP
    # both factorise dense matrices of this order in every iteration
    needs: ClassVar = (at_most(1000),)
    source: ClassVar[str] = "Kraft 1988; Byrd, Hribar & Nocedal 1999; SciPy"
    packages: ClassVar = (("scipy.optimize", "scipy"),)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice(self.method, "method", get_args(Method))

    def iterates(self, form: BoxQP) -> Iterator[FormPoint]:
        """Yield once, at the end."""
        optimize, (A, _) = scipy.optimize, form.equality_rows()
        Q, p = form.Q.dense(), form.p
        start = np.zeros(form.n) if form.start is None else form.start
        equality = (
            () if A is None else optimize.LinearConstraint(A.toarray(), form.delta, form.delta)
        )
        is_slsqp = self.method == "slsqp"
        tolerances = ("ftol",) if is_slsqp else ("gtol", "barrier_tol")
        options = {"maxiter": self.max_iter} | dict.fromkeys(tolerances, self.tolerance)

        def objective(x: Vector) -> tuple[float, Vector]:
            Qx = Q @ x
            return 0.5 * float(x @ Qx) + float(p @ x), Qx + p

        def hessian(_: Vector) -> Block:
            return Q

        with warnings.catch_warnings():
            # about steps clipped to the bounds, and flat quasi-Newton steps
            warnings.simplefilter("ignore")
            result = optimize.minimize(
                objective,
                form.project(start),
                method=self.method,
                jac=True,
                bounds=optimize.Bounds(form.lb, form.ub),
                constraints=equality,
                options=options if is_slsqp else options | {"xtol": 0.0},
                hess=None if is_slsqp else hessian,
            )
        x = form.project(result.x)
        # with features of 1e8 it stops at its starting point
        # SciPy's status codes
        statuses = {"slsqp": (0,), "trust-constr": (1, 2)}[self.method]
        optimal = result.status in statuses and has_small_gap(form, x, Q @ x + p)
        yield FormPoint(x, iterations=int(result.nit), claim="optimal" if optimal else "stopped")
