"""Certificates of solved CVXPY problems that are QPs: bounds independent of the solver."""

from typing import Any

import numpy as np
import scipy

from dualgap.problems import Certificate, ConvexQP, certify
from dualgap.problems.quadratic.certificate import without_point
from dualgap.solvers.base import import_optional
from dualgap.solvers.cvxopt_qp import CvxoptQP
from dualgap.solvers.running.solving import solve


def certify_cvxpy(problem: Any) -> Certificate:
    """Return proven bounds on the optimum of a `cvxpy.Problem`, from the values of its variables.

    CVXPY reduces the problem to min ½uᵀPu + qᵀu, Au = b, Fu ≤ g, where u are the problem's variables and
    auxiliary ones of CVXPY (for |x|, a maximum or a sum of squares). The auxiliary ones are set to their
    best values, and u is certified like any answer to a `ConvexQP`. A maximum is certified as the
    minimum of the negative; constants of the objective are left out. If CVXPY reports the problem as
    infeasible or unbounded, the certificate proves that, or has no bounds.

    Raises
    ------
    ValueError
        If it is not a QP, a variable has no value (solve it first), or CVXPY stores only some of its
        entries.
    """
    cp = import_optional("cvxpy", "certify_cvxpy", "cvxpy")
    unsolved = [variable.name() for variable in problem.variables() if variable.value is None]
    has_none = problem.status in cp.settings.INF_OR_UNB  # as the solver claims
    if unsolved and not has_none:
        raise ValueError(f"problem: {', '.join(unsolved)} has no value; call problem.solve() first")
    try:
        data, chain, _ = problem.get_problem_data(cp.OSQP)
    except (cp.error.SolverError, cp.error.DCPError) as error:
        raise ValueError(f"problem: must be a QP, and CVXPY reports: {error}") from None
    sides: dict[str, Any] = {}
    for (matrix, limit), (rows, values) in {
        ("A", "b_eq"): ("A", "b"),
        ("G", "h"): ("F", "G"),
    }.items():
        if data[values].size:
            sides |= {matrix: data[rows], limit: data[values]}
    P = scipy.sparse.csr_array(data["P"])
    bounds = {"lb": data.get("lower_bounds"), "ub": data.get("upper_bounds")}
    qp = ConvexQP((P + P.T) / 2, data["q"], **sides, **bounds)
    if unsolved:
        reason = f"CVXPY reports the problem as {problem.status}, which is not proven"
        return without_point(qp.program, reason)
    u, has_value = np.zeros(qp.n), np.zeros(qp.n, bool)
    parameters = data[cp.settings.PARAM_PROB]
    for variable in problem.variables():
        key = variable.id
        for step in chain.reductions:  # CVXPY replaces variables with signs or bounds
            key = getattr(step, "var_id_map", {}).get(key, [key])[0]
        first, value = parameters.var_id_to_col.get(key), np.ravel(variable.value, order="F")
        if first is None or parameters.id_to_var[key].size != value.size:
            raise ValueError(
                f"problem: CVXPY replaces {variable.name()} by other variables; state its attributes "
                "(symmetric, diag, sparsity) as constraints instead"
            )
        columns = slice(first, first + value.size)
        u[columns], has_value[columns] = value, True
    if not has_value.all():
        fixed, free = np.flatnonzero(has_value), np.flatnonzero(~has_value)
        tied = np.flatnonzero(np.diff(scipy.sparse.csr_array(qp.A[:, free]).indptr))
        reduced = ConvexQP(
            qp.P[free][:, free],
            qp.q[free] + qp.P[free][:, fixed] @ u[fixed],
            qp.G[:, free],
            # violation allowed to inequalities that fixed variables alone decide
            qp.h - qp.G[:, fixed] @ u[fixed] + 1e-7,
            qp.A[tied][:, free],
            (qp.b_eq - qp.A[:, fixed] @ u[fixed])[tied],
            qp.lb[free],
            qp.ub[free],
        )
        answer = solve(reduced, CvxoptQP()).point.x
        u[free] = 0.0 if answer is None else answer
    return certify(qp, u)
