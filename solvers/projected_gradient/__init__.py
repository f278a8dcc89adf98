"""Projected gradient methods for the box QP.

    min ½xᵀQx + pᵀx  s.t. Σ_{i∈g} aᵢxᵢ = delta_g for every group g, lb ≤ x ≤ ub

One step is x ← Π(x − λg) with g = Qx + p and Π the exact projection onto the feasible set. The
variants differ in λ and in their extensions:

- plain: λ = rate/L, with L ≥ ‖Q‖ from power iterations (Levitin & Polyak 1966).
- accelerated: the same step from a point extrapolated along the last step (Beck & Teboulle 2009),
  restarted when momentum points uphill (O'Donoghue & Candès 2015, the gradient scheme). Restarts make
  it faster, but no theorem then bounds its error.
- barzilai_borwein: λ alternates between sᵀs/sᵀy and sᵀy/yᵀy for the last step s and y = Qs, with a
  nonmonotone line search (Birgin, Martínez & Raydan 2000, SPG2); a rejected step is replaced by the
  exact minimiser along it, as the objective is quadratic (Dai & Fletcher 2006). In large problems it
  moves a few hundred variables at a time (Serafini, Zanghirati & Zanni 2005).
- notebook: the gradient ascent of Anderson's lecture notes on the hard-margin dual, which replaces the
  equality by a penalty step α ← α − s(yᵀα)y, and then clips at 0. Its fixed point is the optimum of
  another problem: no intercept, and a constant added to the kernel.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar, Literal, get_args

import numpy as np

from dualgap.problems.forms import BoxQP, FormPoint
from dualgap.problems.validation import check_choice, check_positive
from dualgap.solvers.base import Solver
from dualgap.solvers.needs import Need
from dualgap.solvers.numerics.claims import has_small_gap
from dualgap.solvers.projected_gradient.steps import (
    Box,
    accelerated,
    barzilai_borwein,
    minimise_by_gradients,
    plain,
)
from dualgap.solvers.smo import RunLimits, minimise
from dualgap.solvers.smo.triangle import compile_triangle
from dualgap.solvers.smo.tuning import TUNING

Variant = Literal["plain", "accelerated", "barzilai_borwein", "notebook"]

_MIN_SUBSET_VARIABLES = 500  # from here on barzilai_borwein moves subsets


def _is_hard_margin(form: BoxQP) -> bool:
    return form.a is not None and not np.isfinite(form.ub).any()


@dataclass(frozen=True)
class ProjectedGradient(Solver):
    """Projected gradient for any box QP, in four variants.

    Attributes
    ----------
    variant : "plain", "accelerated", "barzilai_borwein" or "notebook".
    tol : stop when the violation of the maximal violating pair is at most `tol` (as in LIBSVM; nothing
        is claimed if the relative duality gap still exceeds 1e-2, as for SMO).
        The notebook's points violate the equality: it stops when no variable moves by more than tol
        times its step size.
    max_iter : number of steps after which to stop without a claim.
    rate : plain, accelerated: the step in units of 1/L, None for 1. notebook: the step is rate/n,
        None for 0.1; above 2 its penalty step diverges. barzilai_borwein accepts only None.
    restart : whether to restart the accelerated variant; without restarts its published bound holds.
    cache_size : megabytes for kernel rows, if subsets of variables are moved.
    """

    variant: Variant = "barzilai_borwein"
    tol: float | None = None
    max_iter: int = 100_000
    rate: float | None = None
    restart: bool = True
    cache_size: float = 1000.0

    form: ClassVar = BoxQP
    needs: ClassVar = (
        Need(
            "a hard margin with an intercept for the notebook's loop",
            lambda form, solver: solver.variant != "notebook" or _is_hard_margin(form),
        ),
    )
    warm_up_size: ClassVar = TUNING.max_one_set + 1
    warm_up_settings: ClassVar = {"tol": 0.1}
    source: ClassVar[str] = "Birgin, Martínez & Raydan 2000; O'Donoghue & Candès 2015"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice(self.variant, "variant", get_args(Variant))
        if not self.restart and self.variant != "accelerated":
            raise ValueError(
                f"restart: this applies only to the accelerated variant; omit it for {self.variant}"
            )
        if self.rate is not None:
            check_positive(self.rate, "rate")
            if self.variant == "barzilai_borwein":
                raise ValueError(
                    f"rate: barzilai_borwein finds its own steps; omit rate={self.rate!r}, "
                    "or use variant plain, accelerated or notebook"
                )

    def _in_subsets(self, form: BoxQP) -> bool:
        """Whether caching rows of K is worthwhile, and subsets can be moved along the equality."""
        worthwhile = form.n >= _MIN_SUBSET_VARIABLES and not form.gram.is_linear
        can_move = form.joined is not None and form.groups is None
        return self.variant == "barzilai_borwein" and worthwhile and can_move

    def prepare(self, form: BoxQP) -> BoxQP:
        """Compile the functions of Newton steps, which only some problems need."""
        if self._in_subsets(form):
            compile_triangle()
        return form

    def iterates(self, form: BoxQP) -> Iterator[FormPoint]:
        """Yield after every step, or after all steps on a subset of the variables."""
        if self._in_subsets(form):
            assert form.joined is not None
            limits = RunLimits(self.tolerance, None, int(self.max_iter), self.cache_size)
            for point in minimise(form.joined, minimise_by_gradients, limits):
                assert point.x is not None
                yield replace(point, x=form.joined.split_point(point.x))
            return
        # the Gram matrix is computed once
        if not form.gram.is_linear and form.gram.fits and form.gram.n <= 8000:
            form.gram.dense()  # every product with Q is then one with this matrix
        yield from self._ascent(form) if self.variant == "notebook" else self._at_once(form)

    def _ascent(self, form: BoxQP) -> Iterator[FormPoint]:
        """Yield after every step α ← max(0, α⁺ − s(yᵀα⁺)y), α⁺ = α + s(1 − Qα), s = rate/n."""
        assert form.a is not None
        y, s = form.a, (self.rate or 0.1) / form.n
        alpha = np.full(form.n, 0.5) if form.start is None else form.start.copy()
        for count in range(1, int(self.max_iter) + 1):
            with np.errstate(over="ignore", invalid="ignore"):  # too large a rate diverges
                raised = alpha + s * (1.0 - form.Q.matvec(alpha))
                new = np.maximum(0.0, raised - s * float(y @ raised) * y)
                converged = float(np.abs(new - alpha).max()) <= self.tolerance * s
            alpha = new
            final = converged or count == self.max_iter
            yield FormPoint(alpha.copy(), iterations=count, claim="stopped" if final else "none")
            if final:
                return

    def _at_once(self, form: BoxQP) -> Iterator[FormPoint]:
        x, rate, count = form.first_point(), self.rate or 1.0, 0
        equalities = form.a, form.groups, form.delta
        box = Box(form.Q.matvec, x, form.Q.matvec(x) + form.p, *equalities, form.lb, form.ub)
        match self.variant:
            case "plain":
                steps = plain(box, rate)
            case "accelerated":
                steps = accelerated(box, rate, self.restart)
            case _:
                steps = barzilai_borwein(box)
        for count, (x, g) in enumerate(steps):
            violation = form.violating_pair(g, x)
            if violation <= self.tolerance and has_small_gap(form, x, g):
                yield FormPoint(x.copy(), iterations=count, claim="optimal")
                return
            if violation <= self.tolerance or count >= self.max_iter:
                break
            yield FormPoint(x.copy(), iterations=count)
        yield FormPoint(x.copy(), iterations=count, claim="stopped")
