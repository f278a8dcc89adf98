"""The point x of a block of a box QP, its derived quantities, and the ways to improve it.

Coordinate descent (`epoch`) cheaply finds roughly where every variable ends, but converges only
linearly. Proximal steps (`proximal_step`) then converge superlinearly, as each is solved by Newton's
method on all free variables at once and weakens the proximal term: x ← the minimum with
Σ (xₖ − cₖ)²·Qₖₖ/(2σ) added, with growing σ (Rockafellar 1976). Where systems for these are large, steps
on a face (`face_step`) take their place. All treat an equality aᵀx = delta by an augmented Lagrangian.
"""

from collections import Counter
from collections.abc import Iterator
from typing import Self

import numpy as np

from dualgap.problems.box import best_multiplier, gap_terms, middle, project, violating_pair
from dualgap.problems.dataset import Indices, Vector
from dualgap.problems.gram.threads import Pool
from dualgap.solvers.dual_coordinate_descent.blocks import (
    ALONE,
    VariableBlock,
    combine,
    epoch,
    scores,
)
from dualgap.solvers.dual_coordinate_descent.face import Face
from dualgap.solvers.dual_coordinate_descent.proximal import ProximalStep
from dualgap.solvers.dual_coordinate_descent.tuning import TUNING


class Descent:
    """The current point and the quantities that both methods update.

    Attributes
    ----------
    x, w, t : the point, Mᵀx and aᵀx − delta. nu : the multiplier of the equality.
    count : "epochs" and "newton_steps" so far.
    unit : scale of the relative duality gap; None for the dual objective.
    is_large : whether a Newton step may cost so much that epochs and steps on a face come first.
    factor_is_cheap : whether the factor of a Newton step costs less than five epochs.
    reach : 1/(Qₖₖ + ρaₖ²), the scale of steps. across : mean of Qₖₖ·(ub − lb), at least 1.
    active : the variables that may still move. may_shrink : whether their number may decrease.
    violation, gap : last measured violation and relative duality gap.
    stuck : whether the last proximal step could not be solved for any σ.
    pool : threads that share long loops.
    between_pauses : number of epochs or Newton steps between two pauses, above 1 if they are short.
    """

    def __init__(
        self,
        block: VariableBlock,
        delta: float,
        equality: bool,
        x: Vector,
        count: Counter[str] | None = None,
        unit: float | None = None,
        pool: Pool = ALONE,
    ) -> None:
        self.unit, self.pool = unit, pool
        self.block, self.delta, self.equality, self.x = block, delta, equality, x
        self.count = Counter(epochs=0, newton_steps=0) if count is None else count
        curvature = float(block.diagonal.mean()) or 1.0
        width = block.ub - block.lb
        width = float(width[np.isfinite(width)].mean()) if np.isfinite(width).any() else np.inf
        self.w = np.zeros(block.rows.features)
        # ν must be able to move by about |p| when x moves by the width of its box, however small
        min_rho = float(np.abs(block.p).mean()) / width if width > 0 else 0.0
        self.rho = max(curvature, min_rho) if equality else 0.0
        self.largest_rho = 100.0 * self.rho
        self.is_large = min(x.size, self.w.size) > TUNING.large_system_equations
        diagonal = np.where(block.diagonal > 0, block.diagonal, curvature)
        self.reach = 1.0 / (diagonal + self.rho * block.a**2)
        self.across = max(1.0, curvature * width) if np.isfinite(width) else 1.0
        self.nu, self.sigma, self.may_shrink = 0.0, TUNING.first_sigma, True
        self.largest_sigma = TUNING.max_sigma * self.across
        self.active = np.arange(x.size)
        self.guess: Vector | None = None
        self.violation = self.gap = np.inf
        self.stuck = False
        factor = min(x.size, self.w.size) ** 3 / TUNING.factor_per_entry
        self.factor_is_cheap = factor < 5 * block.rows.size
        pause = int(TUNING.entries_per_pause / (block.rows.size + factor))
        self.between_pauses = min(max(1, pause), 100)  # a few milliseconds for four samples
        self._recompute()

    def epochs(self, number: int, rng: np.random.Generator) -> Iterator[None]:
        """Run epochs of coordinate descent, each in a new random order of the remaining variables.

        Long epochs also pause in between, so that time limits hold.
        """
        entries = max(1.0, self.block.rows.size / self.x.size)
        pause = max(1, int(TUNING.entries_per_pause / entries))
        block, x, active = self.block, self.x, self.active
        if active.size < x.size:
            block, x = block.take(active).gathered(), x[active]
        order, high, low, size = np.arange(x.size), np.inf, -np.inf, TUNING.neighbours
        for _ in range(number):
            blocks = order[: order.size // size * size].reshape(-1, size)
            order = np.append(blocks[rng.permutation(len(blocks))], order[blocks.size :])
            bounds = (high if high > 0 else np.inf, low if low < 0 else -np.inf)
            high = low = 0.0
            staying: list[Indices] = []
            for first in range(0, order.size, pause):
                turn = order[first : first + pause]
                stay, highest, lowest, self.t = epoch(
                    block, turn, x, self.w, self.t, self.nu, self.epoch_rho, *bounds
                )
                if x is not self.x:
                    self.x[active] = x
                staying.append(turn[:stay])
                high, low = max(high, highest), min(low, lowest)
                if first + pause < order.size:
                    yield
            order = np.concatenate([order[:0], *staying])
            self.nu += self.epoch_rho * self.t
            self.count["epochs"] += 1
            yield

    @property
    def epoch_rho(self) -> float:
        """The penalty ρ of the equality in epochs and steps on a face."""
        return self.rho / TUNING.penalty_divisor if self.is_large else self.rho

    def face_step(self, turn: int) -> None:
        """Move the variables strictly inside the box towards their minimum, more precisely each turn.

        Nothing is moved while they are far more than the features: most will then end at a bound.
        """
        x, active, rho = self.x[self.active], self.active, self.epoch_rho
        free = active[(x > self.block.lb[active]) & (x < self.block.ub[active])]
        if 0 < free.size <= TUNING.max_face_per_feature * self.w.size:
            block = self.block.take(free).gathered()
            slope = scores(block, self.w, self.nu + rho * self.t, self.pool) + block.p
            longest = max(TUNING.face_products, TUNING.max_face_reading // block.reading)
            products = min(TUNING.face_products * turn, longest)
            face = Face(block, rho, self.w.size, self.pool)
            step, w, t = face.step(self.x[free], slope, self.reach[free], products)
            self.x[free] = np.clip(self.x[free] + step, block.lb, block.ub)
            self.w += w
            self.t += t
            self.nu += rho * self.t

    def proximal_step(self) -> Iterator[None]:
        """Take one proximal step on the active variables, pausing after each Newton step."""
        active, everything = self.active, self.active.size == self.x.size
        block = self.block if everything else self.block.take(active).gathered()
        extra = [np.sqrt(self.rho) * self.t] if self.equality else []
        start = self.w if self.guess is None else self.guess
        step = ProximalStep(
            block,
            self.x[active],
            self.sigma * self.reach[active],
            np.append(self.w, extra),
            np.append(start, np.zeros(len(extra))),
            self.nu,
            self.rho,
            self.pool,
        )
        before = step.u
        for _ in step.run(50):
            self.count["newton_steps"] += 1
            yield
        if step.solved:
            self._accept(step, before)
            self.sigma = min(self.sigma * TUNING.growth, self.largest_sigma)
            self.rho = min(self.rho * TUNING.growth, self.largest_rho)
        else:
            self.guess = None
            self.sigma /= TUNING.growth**2
            self.stuck = self.sigma < 1e-6  # no σ helps

    def measure(self) -> Vector:
        """Measure violation and gap on all variables, and activate the violating ones.

        Returns the Lagrangian's gradient.
        """
        self.balance()
        r = self._measure(self.block, self.x, self._scores(self.w) + self.block.p)
        held = np.where(r >= 0, self.x <= self.block.lb, self.x >= self.block.ub)
        held[self.active] = False
        active = np.flatnonzero(~held)
        if active.size > self.active.size:
            # new variables have far to go
            self.sigma = max(self.sigma / TUNING.setback, TUNING.first_sigma)
            self.may_shrink = False  # avoids cycles: a regression took 450 steps instead of 110
        self.active = active
        return r

    def narrow(self) -> Vector:
        """Measure violation and gap on all variables, and drop those that surely stay at a bound.

        Returns the Lagrangian's gradient. After one epoch, of w8a's 49,749 variables 6,400 are left.
        """
        block, x = self.block, self.x
        r = self._measure(block, x, self._scores(self.w) + block.p)
        held = np.where(r >= 0, x <= block.lb, x >= block.ub)
        self.active = np.flatnonzero(~held | (np.abs(r) <= TUNING.sure_share * np.abs(r).mean()))
        return r

    def balance(self) -> None:
        """Satisfy the equality exactly, by moving free variables only if possible."""
        block = self.block
        if self.equality:
            free = np.flatnonzero((self.x > block.lb) & (self.x < block.ub))
            lb, ub, a = block.lb[free], block.ub[free], block.a[free]
            remaining = self.delta - float(block.a @ self.x - a @ self.x[free])
            try:
                self.x[free] = project(self.x[free], lb, ub, a, remaining)
            except ValueError:
                self.x = project(self.x, block.lb, block.ub, block.a, self.delta)
        self._recompute()

    def start_from(self, sample: Self) -> None:
        """Predict x from a sample's w: at a bound unless the score is near 0."""
        block, self.nu, self.guess = self.block, sample.nu, sample.w
        u = self._scores(sample.w) + block.p + self.nu * block.a
        width = float(np.abs(u).mean()) or 1.0
        # a longer first step was three times as fast on 100,000 x 50 with C = 100
        self.sigma *= max(1.0, 0.1 * self.across)
        inside = 0.5 * (block.lb + block.ub) - (block.ub - block.lb) * (0.5 / width) * u
        self.x = project(inside, block.lb, block.ub, block.a if self.equality else None, self.delta)
        self._recompute()

    def lengthen(self, u: Vector) -> None:
        """Increase σ until few variables stay inside the box in the first step, with scores `u`.

        This saves Newton steps: 20,000 samples with 100 features took a third of the time.
        """
        block, max_free = self.block, TUNING.max_free_per_feature * self.w.size
        while self.sigma < TUNING.first_sigma * self.across:
            goal = self.x - self.sigma * self.reach * u
            if np.count_nonzero((goal > block.lb) & (goal < block.ub)) <= max_free:
                return
            self.sigma *= TUNING.growth

    def start_warm(self) -> None:
        """Start from the solution of a similar problem, whose box may differ.

        The first step must be able to cross the new box: with σ proportional to it, and variables
        surely at their lower bound shrunk, 20 values of C on a9a took 0.38 s instead of 0.69 s (cold:
        1.1 s). A feasible x is not changed; one product gives both ν and the first measurement.
        """
        self.sigma *= self.across
        block, width = self.block, self.block.ub - self.block.lb
        g = self._scores(self.w) + block.p
        # the ν of smallest gap, independent of x
        if self.equality and np.isfinite(width).all():
            constant = self.delta - float(block.a @ block.lb)
            self.nu = middle(*best_multiplier(g, block.a, width, constant))
        r = self._measure(block, self.x, g)
        sure = (self.x <= self.block.lb) & (r > TUNING.sure_score * np.abs(r).mean())
        self.active = np.flatnonzero(~sure)

    def _scores(self, w: Vector) -> Vector:
        """Return Mw."""
        return scores(self.block, w, 0.0, self.pool)

    def _recompute(self) -> None:
        """Recompute w and t, without the rounding errors of updates."""
        self.w = np.zeros(self.w.size)
        self.t = combine(self.block, self.x, self.w, self.pool) - self.delta

    def _accept(self, step: ProximalStep, before: Vector) -> None:
        """Move to the result of a proximal step, and shrink variables that will hardly move again.

        The check on all variables finds those that were shrunk too early; shrinking makes later steps up
        to ten times cheaper.
        """
        active, d = self.active, self.w.size
        self.x[active] = step.x
        self.w, self.guess = step.target[:d].copy(), step.v[:d]
        if self.equality:
            self.t = float(step.target[-1] / np.sqrt(self.rho))
            self.nu += float(np.sqrt(self.rho) * step.v[-1])
        self._measure(step.block, step.x, scores(step.block, self.w, 0.0, self.pool) + step.block.p)
        if self.may_shrink:  # by scores and their last change, relative to the sample norms
            norm = np.sqrt(self.reach[active])
            change = (np.abs(step.u - before) * norm).max(initial=0)
            staying = np.abs(step.u) * norm <= TUNING.watched_change * change
            staying[step.free] = True
            self.active = active[staying]

    def _measure(self, block: VariableBlock, x: Vector, g: Vector) -> Vector:
        """Measure violation and gap on a block with gradient g; return the Lagrangian's gradient."""
        below, above = x - block.lb, block.ub - x
        self.violation = violating_pair(g, block.a if self.equality else None, below, above)
        r = g + self.nu * block.a
        gap = np.inf
        if np.isfinite(block.ub).all():
            gap = float(gap_terms(r, below, above).sum()) + abs(self.nu * self.t)
        dual = 0.5 * float(self.w @ self.w) + float(self.block.p @ self.x)
        size = self.unit or abs(min(dual, 0.0))
        self.gap = gap / size if size > 0 else np.inf if gap > 0 else 0.0
        return r
