"""The back ends of the packages that pass a QP on: their options, and the calls made in turn.

`BACKENDS` is the table; `BackendQP` makes options of it, and the calls within the limits of a solver.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Any, ClassVar, Literal, NamedTuple

from dualgap.problems.forms import FormPoint
from dualgap.problems.validation import check_choice
from dualgap.solvers.numerics.quadratic import MAX_CLAIMED_RESIDUAL, ConvexQPSolver


class Call(NamedTuple):
    """One of the calls of a back end that are made in turn until one finds an optimum.

    Attributes
    ----------
    options : those in which it differs from other calls.
    tol : a tolerance, at which it is made if that is coarser than the one asked for; 0 for that one.
    requires : module without which it is left out, besides the package; "" if there is none.
    limit : option that corresponds to `max_iter`; "" for that of the back end.
    """

    options: Mapping[str, Any]
    tol: float = 0.0
    requires: str = ""
    limit: str = ""


@dataclass(frozen=True)
class Backend:
    """The package of a back end, and the names of its options.

    Attributes
    ----------
    package : name of the package to install.
    absolute, relative, gaps : options that correspond to `tol`: absolute tolerances, relative ones, and
        those that qpbenchmark's settings leave alone.
    limit : option that corresponds to `max_iter`, "" if there is none.
    clock : option for the time limit in seconds, "" if there is none.
    max_iter : the limit if `max_iter` is None; None for the back end's default.
    finest_tol : smallest tolerance that it accepts.
    matrices : format in which qpsolvers passes P, G and A: sparse, dense, or either, which is that of P.
    iterations : name under which qpsolvers returns their number, "" if it does not.
    options : options with the same value in every call.
    accurate : options that make it more accurate, which qpbenchmark's settings leave alone.
    calls : with qpbenchmark's settings there is one instead, without options.
    """

    package: str
    absolute: tuple[str, ...]
    relative: tuple[str, ...]
    limit: str
    clock: str = ""
    max_iter: int | None = None
    finest_tol: float = 0.0
    matrices: Literal["sparse", "dense", "either"] = "sparse"
    iterations: str = ""
    gaps: tuple[str, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    accurate: Mapping[str, Any] = field(default_factory=dict[str, Any])
    calls: tuple[Call, ...] = (Call({}),)


def _rarer_changes_of_rho(interval: int) -> dict[str, Any]:
    return {
        "adaptive_rho": 1,
        "adaptive_rho_interval": interval,
        "adaptive_rho_tolerance": 2.0,
    }


BACKENDS = {
    "clarabel": Backend(
        "clarabel", ("tol_feas", "tol_gap_abs"), ("tol_gap_rel",), "max_iter", "time_limit"
    ),
    "cvxopt": Backend(
        "cvxopt",
        ("feastol",),
        (),
        "max_iters",
        gaps=("abstol", "reltol"),
        # it fails at tolerances below its rounding, with CVXPY's Cholesky factors earlier than with LDLᵀ
        calls=tuple(
            Call(options, tol)
            for tol in (0.0, 1e-8, 1e-7, 1e-6, 1e-5, MAX_CLAIMED_RESIDUAL)
            for options in ({}, {"kktsolver": "ldl"})
        ),
    ),
    "daqp": Backend("daqp", ("primal_tol", "dual_tol"), (), "iter_limit", "time_limit"),
    "ecos": Backend(
        "ecos",
        ("feastol",),
        (),
        "max_iters",
        matrices="dense",
        iterations="iter",
        gaps=("abstol", "reltol"),
    ),
    "gurobi": Backend(
        "gurobipy",
        ("FeasibilityTol", "OptimalityTol"),
        (),
        "BarIterLimit",
        "TimeLimit",
        finest_tol=1e-9,
        gaps=("BarConvTol",),
        options={"Threads": 1},
    ),
    "highs": Backend(
        "highspy",
        ("primal_feasibility_tolerance", "dual_feasibility_tolerance"),
        (),
        "qp_iteration_limit",
        "time_limit",
        100_000,
        finest_tol=1e-10,
        gaps=("ipm_optimality_tolerance",),
        # the interior-point method; the active set, which gives up some problems with its ridge or
        # without it; and both at HiGHS's default tolerance
        calls=tuple(
            call._replace(tol=tol)
            for tol in (0.0, 1e-7)
            for call in (
                Call(
                    {"solver": "hipo", "parallel": "off"},
                    requires="highspy_extras",
                    limit="ipm_iteration_limit",
                ),
                Call({}),
                Call({"qp_regularization_value": 0.0}),
            )
        ),
    ),
    "mosek": Backend(
        "mosek",
        (),
        (),
        "intpnt_max_iterations",
        "optimizer_max_time",
        gaps=("intpnt_qo_tol_pfeas", "intpnt_qo_tol_dfeas", "intpnt_qo_tol_rel_gap"),
        options={"num_threads": 1},
    ),
    "osqp": Backend(
        "osqp",
        ("eps_abs",),
        ("eps_rel",),
        "max_iter",
        "time_limit",
        1_000_000,
        iterations="iter",
        # rho changes as the error of the KKT conditions falls, until it falls no more; every 50
        # iterations, it may cycle, but it converges between changes that are thousands apart
        accurate={"adaptive_rho": 3},
        calls=(
            Call({"max_iter": 20_000}),
            Call(_rarer_changes_of_rho(2_000) | {"max_iter": 150_000}),
            Call(_rarer_changes_of_rho(10_000)),
        ),
    ),
    "piqp": Backend(
        "piqp", ("eps_abs",), ("eps_rel",), "max_iter", matrices="either", iterations="iter"
    ),
    "proxqp": Backend(
        "proxsuite",
        ("eps_abs",),
        ("eps_rel",),
        "max_iter",
        matrices="either",
        iterations="iter_ext",
    ),
    "qpalm": Backend(
        "qpalm", ("eps_abs",), ("eps_rel",), "max_iter", "time_limit", iterations="iter"
    ),
    "quadprog": Backend("quadprog", (), (), "", matrices="dense", iterations="iterations"),
    "scs": Backend(
        "scs",
        ("eps_abs",),
        ("eps_rel",),
        "max_iters",
        "time_limit_secs",
        1_000_000,
        iterations="iter",
        # Anderson acceleration, its default, keeps it from some optima
        calls=(Call({"max_iters": 50_000}), Call({"acceleration_lookback": 0})),
    ),
}


@dataclass(frozen=True)
class BackendQP(ConvexQPSolver):
    """Base class of the packages that pass a QP to one of several back ends.

    Attributes
    ----------
    time_limit : seconds after which Clarabel, DAQP, Gurobi, HiGHS, MOSEK, OSQP, QPALM and SCS stop, None
        for no limit; `solve` sets it to its own.
    """

    backend: str
    tol: float | None = None
    max_iter: int | None = None
    time_limit: float | None = None

    choices: ClassVar[tuple[str, ...]]

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice(self.backend, "backend", self.choices)

    @property
    def _backend(self) -> Backend:
        return BACKENDS[self.backend.lower()]

    def _tolerances(self, tol: float) -> dict[str, Any]:
        """Return the back end's options for a tolerance."""
        backend = self._backend
        names = (*backend.absolute, *backend.relative, *backend.gaps)
        return dict.fromkeys(names, tol) | dict(backend.accurate)

    def _options(self, tol: float, max_iter: int | None) -> dict[str, Any]:
        """Return the back end's options for a tolerance and an iteration limit."""
        options = self._tolerances(tol) | dict(self._backend.options)
        limit = self._backend.max_iter if max_iter is None else max_iter
        return options if limit is None else {**options, self._backend.limit: int(limit)}

    def _calls(self) -> list[Call]:
        """Return the calls that can be made, with their tolerances."""
        tol = max(self.tolerance, self._backend.finest_tol)
        return [
            call._replace(tol=max(tol, call.tol))
            for call in self._backend.calls
            if (call.tol == 0.0 or call.tol > tol) and is_installed(call.requires)
        ]

    def _attempts(self) -> Iterator[tuple[float, dict[str, Any]]]:
        """Yield tolerance and options of a call, and while time is left those of further ones."""
        start, spent_s, limit_s = perf_counter(), 0.0, self.time_limit
        for call in self._calls():
            options = self._options(call.tol, self.max_iter) | dict(call.options)
            if self.max_iter is not None:
                limit = call.limit or self._backend.limit
                options[limit] = min(options.get(limit, self.max_iter), int(self.max_iter))
            if limit_s is not None and self._backend.clock:
                options[self._backend.clock] = limit_s - spent_s
            yield call.tol, options
            spent_s = perf_counter() - start
            if limit_s is not None and spent_s >= limit_s:
                return

    def _at_tolerance(self, point: FormPoint, tol: float) -> FormPoint:
        """Return the point without a claim if `tol` is above the tolerance asked for."""
        if tol <= max(self.tolerance, self._backend.finest_tol) or point.claim == "stopped":
            return point
        note = f"{self.backend} failed at tol = {self.tolerance:g} and reached {tol:g}"
        return replace(point, claim="stopped", note=note)


def is_installed(module: str) -> bool:
    """Whether a module can be imported, or none is named."""
    return not module or importlib.util.find_spec(module) is not None


def proxqp_gap(options: dict[str, Any]) -> dict[str, Any]:
    """Return ProxQP's settings for a duality gap, without which nothing shows that z(h − Gx) = 0.

    The absolute gap is a thousandth of the tolerance, as an optimum may be far below one.
    """
    return {
        "check_duality_gap": True,
        "eps_duality_gap_abs": 1e-3 * options["eps_abs"],
        "eps_duality_gap_rel": options["eps_rel"],
    }


def proxqp_infeasibility(options: dict[str, Any]) -> dict[str, Any]:
    """Return ProxQP's settings at which no feasible problem seems infeasible, as many do at 1e-4.

    For an infeasible one ProxQP may then never end: a thousand iterations are the limit.
    """
    return {"eps_primal_inf": 1e-12, "max_iter": min(options.get("max_iter", 1000), 1000)}
