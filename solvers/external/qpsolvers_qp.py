"""Quadratic programs through qpsolvers, one interface to many back ends.

    min ½xᵀPx + qᵀx  s.t. Gx ≤ h, A x = b_eq, lb ≤ x ≤ ub

Caron et al., "qpsolvers: Quadratic Programming Solvers in Python". The back ends: Clarabel (interior
point, Goulart & Chen 2024), PIQP (proximal interior point, Schwan et al. 2023), OSQP and SCS (operator
splitting, Stellato et al. 2020, O'Donoghue 2021), ProxQP and QPALM (augmented Lagrangian, Bambade et
al. 2022, Hermans et al. 2022), ECOS (interior point for cones, Domahidi et al. 2013), DAQP, HiGHS and
quadprog (active sets, Arnström et al. 2022, Huangfu & Hall 2018, Goldfarb & Idnani 1983); and Gurobi and
MOSEK, which need a licence.

Not here: HPIPM and qpOASES, as no wheel on PyPI has the module that qpsolvers needs; and OSQP in jaxopt,
which is no longer maintained.
"""

import importlib
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
import scipy

from dualgap.problems.forms import QP, Claim, FormPoint
from dualgap.problems.validation import check_choice
from dualgap.solvers.base import NotInstalled
from dualgap.solvers.cvxopt_qp import inequality_rows
from dualgap.solvers.external.quadprog_steps import quadprog_answer, ridge
from dualgap.solvers.needs import CONVEX, Need
from dualgap.solvers.numerics.backends import (
    BACKENDS,
    BackendQP,
    Call,
    proxqp_gap,
    proxqp_infeasibility,
)
from dualgap.solvers.numerics.quadratic import (
    ScaledQP,
    answer_of,
    point_of_failure,
    scaled,
    unbounded_claim,
)


@dataclass(frozen=True)
class QPSolversQP(BackendQP):
    """A convex QP through qpsolvers.

    Attributes
    ----------
    backend : clarabel, daqp, ecos, gurobi, highs, mosek, osqp, piqp, proxqp, qpalm, quadprog or scs.
    tol : passed as every tolerance of the back end, which defines its meaning. HiGHS accepts none below
        1e-10, and its active set adds 1e-7 to P's diagonal, which its interior-point method, HiPO, does
        not: where the package highspy-extras adds that, it is called first. Gurobi accepts none below
        1e-9; quadprog has no tolerance: it is exact except for a ridge of 1.5e-8 times P's mean
        diagonal, see `quadprog_steps`, and for limits looser by 1e-9 if it finds no point. ECOS needs
        the same ridge, and its tolerance is that of a cone program with the objective as a variable.
    max_iter : limit on the back end's iterations; None for its default, but 100,000 for HiGHS, which
        has none and can cycle, and 1,000,000 for OSQP and SCS, whose own end before the tolerance.
        These two are called with fewer first, and then with other changes of OSQP's step size, or
        without SCS's acceleration. Clarabel, DAQP, Gurobi, HiGHS and MOSEK do not report their number
        of iterations; quadprog has no limit.
    settings : instead of `tol`, the settings of this name in qpbenchmark: high_accuracy,
        mid_accuracy and low_accuracy are absolute tolerances of 1e-9, 1e-6 and 1e-3, with relative ones
        of 0; default leaves the back end's own. MOSEK and quadprog have the same in all of them. They
        hold in the units in which `solve` states a problem.
    """

    backend: str = "clarabel"

    settings: str | None = None

    accuracies: ClassVar = {
        "default": None,
        "low_accuracy": 1e-3,
        "mid_accuracy": 1e-6,
        "high_accuracy": 1e-9,
    }
    choices: ClassVar = tuple(name for name in BACKENDS if name != "cvxopt")
    source: ClassVar[str] = "Caron et al., qpsolvers"
    needs: ClassVar = (
        Need(
            "max_iter=None with quadprog, which has no limit on its iterations",
            lambda _, solver: solver.max_iter is None or solver._backend.limit,
        ),
        Need(
            "P ≠ 0 with ECOS and quadprog, which factorise it",
            lambda form, solver: (
                solver.backend not in ("ecos", "quadprog") or form.P.diagonal().any()
            ),
        ),
        CONVEX,
    )
    single_threaded: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.settings is None:
            return
        check_choice(self.settings, "settings", self.accuracies)
        if self.tol is not None:
            raise ValueError(f"settings: {self.settings} states the tolerances; leave out tol")

    def aimed_at(self, target_gap: float, bounded: bool = True) -> Self:
        """Return the solver with its tolerance set for a relative gap, unless it has one or settings."""
        return self if self.settings else super().aimed_at(target_gap, bounded)

    def _tolerances(self, tol: float) -> dict[str, Any]:
        if self.settings is None:
            return super()._tolerances(tol)
        accuracy, backend = self.accuracies[self.settings], self._backend
        values = dict.fromkeys(backend.absolute, accuracy) | dict.fromkeys(backend.relative, 0.0)
        return values if accuracy else {}

    def _calls(self) -> list[Call]:
        return [Call({}, self.tolerance)] if self.settings else super()._calls()

    def prepare(self, form: QP) -> QP:
        """Import qpsolvers and its back ends; raise NotInstalled if one or its licence is missing."""
        try:
            available = importlib.import_module("qpsolvers").available_solvers
        except ImportError:
            available = []
        if self.backend not in available:
            raise NotInstalled(
                f"qpsolvers with the back end {self.backend} needs: "
                f"pip install qpsolvers {self._backend.package}"
            )
        check_licence(self.backend)
        return form

    def iterates(self, form: QP) -> Iterator[FormPoint]:
        """Yield once, at the end."""
        qpsolvers = importlib.import_module("qpsolvers")
        qp = scaled(form)
        with warnings.catch_warnings():
            # about sparse copies, and about failures, which the claim shows
            warnings.simplefilter("ignore")
            arrays = bounds_as_rows(qp) if self.backend == "ecos" else qp
            problem = qpsolvers.Problem(*_matrices(arrays, self._backend.matrices))
            try:
                tol, answer = self._solve(qpsolvers, problem)
            except Exception as error:  # each back end raises its own exceptions
                yield point_of_failure(form, self.backend, error)
                return
        # qpsolvers' z and y are the multipliers of Gx ≤ h and A x = b_eq in every back end
        info, z = answer.extras.get("info"), answer.z
        if self.backend == "ecos" and form.G is not None and z is not None:
            z = z[: form.G.shape[0]]
        # the status of the back end, "" if qpsolvers does not return it; ECOS calls it infostring
        names = (name for name in ("status", "infostring") if name in answer.extras)
        status = str(answer.extras.get(next(names, ""), getattr(info, "status", ""))).lower()
        claim: Claim = "optimal" if answer.found else "stopped"
        unbounded = ("dual infeasible", "dual_infeasible", "dualinfeasible", "unbounded")
        is_exact = "almost" not in status and "close to" not in status
        if is_exact and status.endswith(unbounded):
            claim = unbounded_claim(form)
        elif is_exact and status.endswith("infeasible"):
            claim = "infeasible"
        # if the back end does not report its iterations, its limit or 0
        field = self._backend.iterations
        iterations = getattr(info, field, answer.extras.get(field))
        if iterations is None:
            iterations = self.max_iter or 0 if status == "maxiterations" else 0
        point = answer_of(form, qp, answer.x, z, answer.y, int(np.ravel(iterations)[0]), claim)
        yield self._at_tolerance(point, tol)

    def _solve(self, qpsolvers: Any, problem: Any) -> tuple[float, Any]:
        """Return tolerance and answer of the first call that finds an optimum, or of the last one."""
        failure, latest = None, None
        for tol, options in self._attempts():
            try:
                answer = self._call(qpsolvers, problem, options)
            except MemoryError:
                raise
            except Exception as error:  # each back end raises its own exceptions
                failure = failure or error
                continue
            if answer.found:
                return tol, answer
            latest = tol, answer
        if latest is None:
            assert failure is not None
            raise failure
        return latest

    def _call(self, qpsolvers: Any, problem: Any, options: dict[str, Any]) -> Any:
        """Return the answer with `options`, or with others where ProxQP or quadprog need them."""
        if self.backend in ("piqp", "proxqp"):
            names = [name for name in ("eps_abs", "eps_rel") if name in options]
            options |= {name.replace("_", "_duality_gap_"): options[name] for name in names}
        if self.backend == "proxqp" and self.settings is None:
            options |= proxqp_gap(options)
        elif self.backend == "proxqp" and self.settings != "default":
            options["check_duality_gap"] = True
        if self.backend == "mosek":
            options = {"mosek": mosek_parameters(options)}
        if self.backend == "quadprog":
            return quadprog_answer(qpsolvers, problem, self.time_limit)
        # not solve_problem, which has an argument `solver`, as HiGHS has an option
        solve = qpsolvers.solvers.solve_function[self.backend]
        answer = solve(problem, initvals=None, verbose=False, **options)
        if self.backend == "proxqp" and not answer.found:
            answer = proxqp_at_finer_infeasibility(problem, answer, options)
        return answer


def bounds_as_rows(qp: ScaledQP) -> ScaledQP:
    """Return the problem with its finite bounds as rows of G, as ECOS takes no infinite ones."""
    G, h = inequality_rows(qp)
    free = np.full(qp.q.size, np.inf)
    rows = {"G": G, "h": h} if h.size else {"G": None, "h": None}
    return replace(qp, **rows, lb=-free, ub=free)


def check_licence(backend: str) -> None:
    """Raise NotInstalled if Gurobi or MOSEK has no valid licence."""
    try:
        if backend == "gurobi":
            importlib.import_module("gurobipy").Env()
        elif backend == "mosek":
            mosek = importlib.import_module("mosek")
            mosek.Env().checkoutlicense(mosek.feature.pts)
    except Exception as error:  # each package raises its own exceptions
        raise NotInstalled(f"{backend} has no valid licence: {error}") from None


def mosek_parameters(options: dict[str, Any]) -> dict[Any, Any]:
    """Return MOSEK's options by its constants, as CVXOPT, which calls it for qpsolvers, takes them."""
    mosek = importlib.import_module("mosek")
    constants = {**vars(mosek.dparam), **vars(mosek.iparam)}
    return {constants[name]: value for name, value in options.items()}


def proxqp_at_finer_infeasibility(problem: Any, answer: Any, options: dict[str, Any]) -> Any:
    """Return ProxQP's answer at a finer tolerance of infeasibility if it has one, else `answer`.

    qpsolvers cannot change its default, see `proxqp_infeasibility`.
    """
    if not str(answer.extras["info"].status).endswith("PRIMAL_INFEASIBLE"):
        return answer
    proxqp = importlib.import_module("proxsuite").proxqp
    conversions = importlib.import_module("qpsolvers.conversions")
    P, q, G, h, A, b, lb, ub = problem.unpack()
    sparse = scipy.sparse.issparse(P)
    rows = conversions.combine_linear_box_inequalities(G, h, lb, ub, q.size, sparse)
    C, upper, lower = rows
    n_equations, n_rows = (0 if M is None else M.shape[0] for M in (A, C))
    solver = (proxqp.sparse if sparse else proxqp.dense).QP(q.size, n_equations, n_rows)
    solver.init(H=P, g=q, A=A, b=b, C=C, l=lower, u=upper)
    for name, value in (options | proxqp_infeasibility(options)).items():
        setattr(solver.settings, name, value)
    solver.solve()
    results = solver.results
    if results.info.status != proxqp.QPSolverOutput.PROXQP_SOLVED:
        return answer
    z = results.z[: n_rows if lb is None and ub is None else n_rows - q.size]
    return replace(answer, found=True, x=results.x, y=results.y, z=z, extras={"info": results.info})


def _matrices(qp: ScaledQP, kind: str) -> tuple[Any, ...]:
    """Return P, q, G, h, A, b, lb, ub in the matrix format of the back end; None for missing bounds."""
    matrices: list[Any] = [qp.P, qp.G, qp.A]
    if kind == "dense" or (kind == "either" and not scipy.sparse.issparse(qp.P)):
        matrices = [M.toarray() if scipy.sparse.issparse(M) else M for M in matrices]
    else:  # qpsolvers does not support csc_array
        matrices = [None if M is None else scipy.sparse.csc_matrix(M) for M in matrices]
    P, G, A = matrices
    if kind == "dense":
        P = P.copy()  # kept for a second attempt
        P[np.diag_indices(qp.q.size)] += ridge(P)
    lb = qp.lb if np.isfinite(qp.lb).any() else None
    ub = qp.ub if np.isfinite(qp.ub).any() else None
    return P, qp.q, G, qp.h, A, qp.b_eq, lb, ub
