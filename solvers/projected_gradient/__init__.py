"""Projected gradient methods for the box QP.

    min ½xᵀQx + pᵀx  s.t. Σ_{i∈g} aᵢxᵢ = delta_g for every group g, lb ≤ x ≤ ub

One step is x ← Π(x − λg) with g = Qx + p and Π the exact projection onto the feasible set. The
variants differ in λ and in what they add:

- plain: λ = rate/L, with L ≥ ‖Q‖ from power iterations (Levitin & Polyak 1966).
- accelerated: the same step from a point extrapolated along the last one (Beck & Teboulle 2009),
  restarted when momentum points uphill (O'Donoghue & Candès 2015, the gradient scheme). Restarts make
  it faster, but no theorem bounds it then.
- barzilai_borwein: λ = sᵀs/sᵀy and sᵀy/yᵀy in turn for the last step s and y = Qs, with a line search
  that lets the objective rise now and then (Birgin, Martínez & Raydan 2000, SPG2); a step that it
  turns down is made the exact minimiser, as the objective is quadratic (Dai & Fletcher 2006). Of
  many variables it moves some hundreds at a time (Serafini, Zanghirati & Zanni 2005).
- notebook: the gradient ascent of Anderson's lecture notes on the hard margin's dual, which puts a
  penalty step α ← α − s(yᵀα)y in place of the equality, and then clips at 0. Its fixed point is the
  optimum of another problem: no intercept, and a constant added to the kernel.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal, get_args

import numpy as np

from dualgap.problems.dataset import Vector
from dualgap.problems.forms import BoxQP, FormPoint
from dualgap.problems.validation import check_choice, check_positive
from dualgap.solvers.base import Solver
from dualgap.solvers.needs import Need
from dualgap.solvers.numerics.claims import is_near
from dualgap.solvers.projected_gradient.steps import (
    Box,
    accelerated,
    barzilai_borwein,
    minimise_by_gradients,
    plain,
)
from dualgap.solvers.smo.cache import compile_rows
from dualgap.solvers.smo.decomposition import minimise

Variant = Literal["plain", "accelerated", "barzilai_borwein", "notebook"]

_DENSE = 8000  # samples up to which the Gram matrix is computed once, if it fits in memory
_LEAST_IN_SUBSETS = 500  # variables from which barzilai_borwein moves some at a time


def _is_hard_margin(form: BoxQP) -> bool:
    return form.a is not None and not np.isfinite(form.ub).any()


@dataclass(frozen=True)
class ProjectedGradient(Solver):
    """Projected gradient for any box QP, in four variants.

    Attributes
    ----------
    variant : "plain", "accelerated", "barzilai_borwein" or "notebook".
    tol : stop when the maximal violating pair is at or below it (LIBSVM's meaning, and without a
        claim if the relative duality gap is still above 1e-2, as for SMO).
        The notebook's points are off the equality: it stops when no variable moves by more than
        tol times its step.
    max_iter : steps after which it stops without a claim.
    rate : plain, accelerated: the step in units of 1/L, None for 1. notebook: the step is rate/n,
        None for 0.1; above 2 its penalty step diverges. barzilai_borwein takes None only.
    restart : whether accelerated is restarted; without, its published bound holds.
    cache_size : megabytes for kernel rows, where some variables are moved at a time.
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
    warm_up_size: ClassVar = _LEAST_IN_SUBSETS
    warm_up_settings: ClassVar = {"tol": 0.1}
    source: ClassVar[str] = "Birgin, Martínez & Raydan 2000; O'Donoghue & Candès 2015"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice(self.variant, "variant", get_args(Variant))
        if not self.restart and self.variant != "accelerated":
            raise ValueError(
                f"restart: only the accelerated variant is restarted; leave it out for {self.variant}"
            )
        if self.rate is not None:
            check_positive(self.rate, "rate")
            if self.variant == "barzilai_borwein":
                raise ValueError(
                    f"rate: barzilai_borwein finds its own steps; leave out rate={self.rate!r}, "
                    "or take variant plain, accelerated or notebook"
                )

    def worst_case(self, k: Vector, problem: Mapping[str, float]) -> Vector | None:
        """Return L‖x₀ − x*‖²/(2k), accelerated without restarts 2L‖x₀ − x*‖²/(k + 1)².

        Beck & Teboulle 2009, theorems 3.1 and 4.4. None for steps above 1/L, and with restarts: each
        begins at a distance from x* that no theorem bounds by the first. On breast_cancer (lam = 0.001)
        the restarted method was seen at twice the bound of the other.
        """
        rate = self.rate or 1.0
        size = problem["largest_eigenvalue"] * problem["start_distance"] ** 2 / rate
        if rate > 1 or (self.variant == "accelerated" and self.restart):
            return None
        bounds = {"plain": size / (2 * k), "accelerated": 2 * size / (k + 1) ** 2}
        return bounds.get(self.variant)

    def prepare(self, form: BoxQP) -> BoxQP:
        """Compile what small problems may not call."""
        if self._in_subsets(form):
            compile_rows(form.gram, form.n, on_demand=False)
        return form

    def _in_subsets(self, form: BoxQP) -> bool:
        """Whether rows of K are worth having, and every variable has its place in the equality."""
        many = form.n >= _LEAST_IN_SUBSETS and not form.gram.is_linear
        in_equality = form.a is None or (bool((form.a != 0).all()) and form.groups is None)
        return self.variant == "barzilai_borwein" and many and in_equality

    def iterates(self, form: BoxQP) -> Iterator[FormPoint]:
        """Yield after every step, or after all steps on some of the variables."""
        if self._in_subsets(form):
            limits = self.tolerance, None, int(self.max_iter), self.cache_size
            yield from minimise(form, minimise_by_gradients, *limits)
            return
        if not form.gram.is_linear and form.gram.fits and form.gram.n <= _DENSE:
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
            ended = converged or count == self.max_iter
            yield FormPoint(alpha.copy(), iterations=count, claim="stopped" if ended else "none")
            if ended:
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
            if violation <= self.tolerance and is_near(form, x, g):
                yield FormPoint(x.copy(), iterations=count, claim="optimal")
                return
            if violation <= self.tolerance or count >= self.max_iter:
                break
            yield FormPoint(x.copy(), iterations=count)
        yield FormPoint(x.copy(), iterations=count, claim="stopped")
