"""What a solved CVXPY problem is worth, if it is a QP: bounds that no solver has a say in."""

from typing import Any

import numpy as np
import scipy

from dualgap.problems import Certificate, ConvexQP, certify
from dualgap.solvers.base import optional
from dualgap.solvers.cvxopt_qp import CvxoptQP
from dualgap.solvers.running.loop import solve

_ROUNDED = 1e-7  # that inequalities between the problem's own variables may be violated by


def certify_cvxpy(problem: Any) -> Certificate:
    """Return proven bounds on the optimum of a `cvxpy.Problem`, from the values of its variables.

    CVXPY takes the problem to min ½uᵀPu + qᵀu, Au = b, Fu ≤ g, where u are its variables and some of
    CVXPY's own (of |x|, a maximum or a sum of squares). These get the best values for those of the
    problem, and (u) is certified as any answer to a `ConvexQP` is. A maximum is certified as the
    minimum of the negative; constants of the objective are left out. Of a problem that CVXPY says to
    be infeasible or unbounded the certificate proves that, or has no bounds.

    Raises
    ------
    ValueError
        If it is no QP, a variable has no value (solve it first), or CVXPY stores fewer of its entries.
    """
    cp = optional("cvxpy", "certify_cvxpy", "cvxpy")
    unsolved = [variable.name() for variable in problem.variables() if variable.value is None]
    has_none = problem.status in cp.settings.INF_OR_UNB  # the solver's claim: there is no optimum
    if unsolved and not has_none:
        raise ValueError(f"problem: {', '.join(unsolved)} has no value; call problem.solve() first")
    try:
        data, chain, _ = problem.get_problem_data(cp.OSQP)
    except (cp.error.SolverError, cp.error.DCPError) as error:
        raise ValueError(f"problem: CVXPY does not see it as a QP: {error}") from None
    sides: dict[str, Any] = {}
    for (matrix, limit), (rows, values) in {
        ("A", "b_eq"): ("A", "b"),
        ("G", "h"): ("F", "G"),
    }.items():
        if data[values].size:
            sides |= {matrix: data[rows], limit: data[values]}
    P = scipy.sparse.csr_array(data["P"])
    bounds = {"lb": data.get("lower_bounds"), "ub": data.get("upper_bounds")}
    whole = ConvexQP((P + P.T) / 2, data["q"], **sides, **bounds)
    if unsolved:
        return whole.without_point(f"CVXPY says that it is {problem.status}, which is not proven")
    u, known = np.zeros(whole.n), np.zeros(whole.n, bool)
    program = data[cp.settings.PARAM_PROB]
    for variable in problem.variables():
        key = variable.id
        for step in chain.reductions:  # CVXPY replaces variables that have signs or bounds
            key = getattr(step, "var_id_map", {}).get(key, [key])[0]
        first, value = program.var_id_to_col.get(key), np.ravel(variable.value, order="F")
        if first is None or program.id_to_var[key].size != value.size:
            raise ValueError(
                f"problem: CVXPY has other variables in the place of {variable.name()}; state what it "
                "is declared to be (symmetric, diag, sparsity) as constraints"
            )
        at = slice(first, first + value.size)
        u[at], known[at] = value, True
    if not known.all():
        own, rest = np.flatnonzero(known), np.flatnonzero(~known)
        tied = np.flatnonzero(np.diff(scipy.sparse.csr_array(whole.A[:, rest]).indptr))
        left = ConvexQP(
            whole.P[rest][:, rest],
            whole.q[rest] + whole.P[rest][:, own] @ u[own],
            whole.G[:, rest],
            whole.h - whole.G[:, own] @ u[own] + _ROUNDED,
            whole.A[tied][:, rest],
            (whole.b_eq - whole.A[:, own] @ u[own])[tied],
            whole.lb[rest],
            whole.ub[rest],
        )
        answer = solve(left, CvxoptQP()).point.alpha
        u[rest] = 0.0 if answer is None else answer
    return certify(whole, u)
