"""Near rows: samples in blocks, where the driver holds w and a few rows, but nothing of size n.

    min ½‖w‖² + Σ Cᵢ·max(0, −uᵢ),   u = s·(Xw + b) + p   (hinge: s = y, p = −1; tube: s = ±1, p = ε ∓ y)

An iteration has two rounds; a round makes one pass over the blocks.

1. The blocks return the m variables with u nearest to the kink; equal rows are merged, with the sum of
   their C, as a choice among them would leave the others with a wrong x. For all other variables the
   blocks return v = Σ C[u<0]·mᵢ and H = Σ C/(2|u|)·mᵢmᵢᵀ, the Hessian of the quadratic majoriser of the
   hinge (Groenen et al. 2008).
2. The driver minimises ½‖w'‖² + (γ/2)(w'−w)ᵀH(w'−w) − vᵀw' + Σ_near Cᵢ·max(0, −uᵢ(w')), for several γ,
   by dual coordinate descent and proximal Newton steps on the rows ML⁻ᵀ, LLᵀ = I + γH. The blocks return
   the objective along each segment from w to w', and the sums of the dual variables that the model
   implies (`DualRule`). These are always feasible, so that each round has a duality gap.

The best (γ, t) gives the next w; γ is halved if t ≥ 1 and doubled if t is short.

With an unregularised intercept b is one more weight, on which I is 0. Then Σβ = 0 has to hold: the near
variables, which cost little to move, balance the sum of the others.

Smooth losses have one round per iteration, without near rows: Newton's method with the true Hessian.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
import scipy

from dualgap.problems.blocks import ArraySource, Blocks, DualRule
from dualgap.problems.dataset import Vector
from dualgap.problems.forms import FormPoint, Sharded
from dualgap.problems.kernels import squared_norms
from dualgap.problems.losses import Perceptron, ScalarLoss
from dualgap.problems.projection import project
from dualgap.problems.validation import check_choice, check_integer
from dualgap.solvers.base import GAP_FRACTION, Solver, import_optional
from dualgap.solvers.dual_coordinate_descent import DualCoordinateDescent
from dualgap.solvers.dual_coordinate_descent.blocks import VariableBlock
from dualgap.solvers.dual_coordinate_descent.descent import Descent
from dualgap.solvers.near_rows import rounds
from dualgap.solvers.near_rows.engines import open_engine
from dualgap.solvers.near_rows.rounds import (
    NEWTON_STEPS,
    STEP_LENGTHS,
    FarSums,
    NearVariables,
    total,
)
from dualgap.solvers.near_rows.state import RoundState, norm2
from dualgap.solvers.needs import Need
from dualgap.solvers.numerics.rows import as_rows, read_only

MAX_FEATURES = 2000  # H then takes 32 MB of each answer
_log = logging.getLogger("dualgap")


def _has_unit_box(loss: Any) -> bool:
    """Whether the loss is of one score and its dual variables have 0 ≤ x ≤ C as their box."""
    if not isinstance(loss, ScalarLoss) or isinstance(loss, Perceptron):
        return False
    return all((p.low, p.high) == (0.0, 1.0) for p in loss.dual_pieces(np.ones(1)) or ())


@dataclass(frozen=True)
class NearRowsTuning:
    """Constants of near rows."""

    gamma_factors: tuple[float, ...] = (1.0, 0.3, 0.05)  # on γ, one per model of an iteration
    initial_gamma: float = 0.1
    max_gamma: float = 10.0
    model_gap_fraction: float = 0.002  # accuracy of a model's solution, relative to the gap
    max_inner_steps: int = 400  # to solve a model
    near_per_feature: int = 100  # near variables by default, with the two limits that follow
    min_near: int = 20_000
    max_near_entries: int = 2**25  # entries of their matrix, 256 MB
    max_idle_rounds: int = 20  # without a better objective or bound


TUNING = NearRowsTuning()


@dataclass(frozen=True)
class NearRows(Solver):
    """Near rows for hinge and tube, Newton's method for smooth losses, on samples in blocks.

    Attributes
    ----------
    tol : relative gap at which it stops, as computed from its sums.
    near : variables sent to the driver in each iteration; None for 100 per feature, at least 20,000, and
        at most 256 MB.
    engine : "here" reads one block after another in this process; "dask" uses the workers of a cluster.
    address : address of a Dask scheduler, `tcp://host:port`; None for a cluster on this machine.
    workers, memory_limit : of that cluster: by default one per core and no limit; such as "700MiB".
    max_iter : rounds after which it stops without a claim.
    seed : for drawing the rows of the starting point.
    """

    tol: float | None = None
    near: int | None = None
    engine: Literal["here", "dask"] = "here"
    address: str | None = None
    workers: int | None = None
    memory_limit: str | None = None
    max_iter: int = 300
    seed: int = 0

    form: ClassVar = Sharded
    needs: ClassVar = (
        Need("the hinge, the tube or a smooth loss", lambda form, _: _has_unit_box(form.loss)),
        Need(
            f"at most {MAX_FEATURES} features, as each block sends a matrix of d² entries",
            lambda form, _: form.blocks.d <= MAX_FEATURES,
        ),
        Need(
            "files, a Dask array or a generator with engine=dask, whose workers read the samples",
            lambda form, solver: (
                solver.engine != "dask" or not isinstance(form.blocks.source, ArraySource)
            ),
        ),
    )
    tol_share: ClassVar = GAP_FRACTION
    source: ClassVar[str] = "Groenen, Nalbantov & Bioch 2008 (majoriser); Hsieh et al. 2008"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice(self.engine, "engine", ("here", "dask"))
        for name in ("near", "workers"):
            if getattr(self, name) is not None:
                check_integer(getattr(self, name), name)
        cluster = "address", "workers", "memory_limit"
        options = [name for name in cluster if getattr(self, name) is not None]
        if self.engine == "here" and options:
            raise ValueError(f"{options[0]}: is only for a Dask cluster; set engine='dask' too")
        if self.address is not None and len(options) > 1:
            raise ValueError(f"{options[1]}: leave it out; the scheduler at `address` decides it")

    def prepare(self, form: Sharded) -> Sharded:
        """Import Dask if needed, and compile the loops on a small problem of the same kind."""
        if self.engine == "dask":
            import_optional("distributed", "engine: dask", "dualgap[dask]")
        _compile(form.loss, form.intercept, form.blocks.sparse)
        return form

    def iterates(self, form: Sharded) -> Iterator[FormPoint]:
        """Yield the best weights and dual variables so far after each round."""
        yield from self.points(form)

    def points(self, form: Sharded, quiet: bool = False) -> Iterator[FormPoint]:
        """Yield as `iterates` does, with a log line per round unless `quiet`."""
        options = self.engine, form, self.address, self.workers, self.memory_limit
        with open_engine(*options) as engine:
            state = RoundState(form, engine)
            for _ in self._rounds(state):
                converged, exhausted = state.gap <= self.tolerance, engine.rounds >= self.max_iter
                stopped = exhausted or state.idle > TUNING.max_idle_rounds
                if not quiet:
                    _log.info("round %d: relative gap %.2g", engine.rounds, state.gap)
                yield state.point("optimal" if converged else "stopped" if stopped else "none")
                if converged or stopped:
                    return
            yield state.point("stopped")

    def _near_count(self, d: int) -> int:
        default = max(TUNING.near_per_feature * d, TUNING.min_near)
        return self.near or min(default, TUNING.max_near_entries // d)

    def _rounds(self, state: RoundState) -> Iterator[None]:
        """Run all rounds; stop if the curvature is so large that float64 absorbs the 1 next to it."""
        smooth = state.form.loss.dual_pieces(np.ones(1)) is None
        try:
            yield from self._newton(state) if smooth else self._near_rows(state)
        except np.linalg.LinAlgError:
            state.note = "float64 does not resolve ½‖w‖²: scale the features, or C, down"

    def _near_rows(self, state: RoundState) -> Iterator[None]:
        form, engine, d = state.form, state.engine, state.form.blocks.d
        variables = form.n * len(form.loss.dual_pieces(np.ones(1)) or ())
        m = self._near_count(d)
        fraction = min(1.0, m / variables)
        w, gamma = self._solve_sample(state, fraction), TUNING.initial_gamma
        state.w = w
        previous: DualRule | None = None
        yield
        while True:
            answers = engine.map(rounds.find_nearest, w, fraction, previous)
            near = NearVariables(*_stack([a[0] for a in answers]))
            far = total([a[1] for a in answers])
            state.record_losses(w, sum(a[3] for a in answers))
            if state.primal == 0.0:
                yield  # optimal, as the objective is nonnegative
            if state.primal == np.inf:
                raise np.linalg.LinAlgError
            accuracy = float(np.clip(TUNING.model_gap_fraction * state.gap, 1e-10, 1e-4))
            H = sum(a[2] for a in answers)
            models = self._models(form, near, far, H, w, gamma, accuracy * state.primal)
            for model in models:
                state.record_bound(DualRule.at(w), near._replace(x=model.x), far)
            yield
            rules = [near.rule(w, model.w - w, model.gamma, model.x) for model in models]
            answers = engine.map(rounds.compare_models, w, [model.w for model in models], rules)
            values: Any = sum(a[0] for a in answers)
            for c, model in enumerate(models):
                values[c] += [0.5 * norm2(w + t * (model.w - w)) for t in STEP_LENGTHS]
                sums = total([a[1][c] for a in answers])
                state.record_bound(rules[c], near._replace(x=model.x), sums)
            c, j = np.unravel_index(int(values.argmin()), values.shape)
            t, best = float(STEP_LENGTHS[j]), models[c]
            previous = rules[c]
            if not form.intercept:  # with one, `record_bound` balances the near variables
                sums, near = total([a[1][c] for a in answers]), near._replace(x=best.x)
                (refit,) = self._models(form, near, sums, 0.0 * H, w, 0.0, accuracy * state.primal)
                state.record_bound(previous, near._replace(x=refit.x), sums)
            if t == 0.0:
                gamma = min(10.0 * gamma, TUNING.max_gamma)
            else:
                gamma = best.gamma * (0.5 if t >= 1.0 else 2.0 if t < 0.4 else 1.0)
            w = w + t * (best.w - w)
            state.record_objective(w, float(values[c, j]))
            yield

    def _solve_sample(self, state: RoundState, fraction: float) -> Vector:
        """Return the optimum for a random fraction of the samples."""
        form, engine = state.form, state.engine
        X, y, C = _stack(engine.map(rounds.draw_samples, fraction, self.seed))
        pieces = form.loss.dual_pieces(y)
        assert pieces is not None
        sign, cost = (
            np.concatenate([getattr(p, name) for p in pieces]) for name in ("sign", "cost")
        )
        row_of = np.tile(np.arange(y.size), len(pieces))
        block = _variable_block(X, row_of, sign, cost, (C / fraction)[row_of])
        _, z, b = _minimise_model(block, np.zeros(sign.size), form.intercept, 1e-3)
        unused = np.zeros(form.blocks.d - z.size)  # trailing features that no drawn row has
        return np.concatenate([z, unused, [b]])

    def _models(
        self, form: Sharded, near: NearVariables, far: FarSums, H: Any, w: Vector, gamma: float,
        accuracy: float,
    ) -> list[_Model]:  # fmt: skip
        """Return the minimum of the model for each γ, the largest first, each starting at the last."""
        v, x, models = far.v.sum(axis=0), near.x, list[_Model]()
        has_far = bool(H[-1, -1] > 0)  # whether some variables are far
        size = w.size if form.intercept and has_far else w.size - 1
        M = near.X.toarray() if scipy.sparse.issparse(near.X) else near.X
        if size == w.size:
            M = np.column_stack([M, np.ones(len(M))])
        for factor in TUNING.gamma_factors if has_far else (1.0,):
            model_gamma = gamma * factor
            A = model_gamma * H[:size, :size]
            A[np.diag_indices(w.size - 1)] += 1.0
            L = np.linalg.cholesky(A)
            right = model_gamma * (H[:size] @ w) + v[:size] if size == w.size else v[:size].copy()
            if size < w.size:
                right += model_gamma * (H[:size, :size] @ w[:size])
            shift = scipy.linalg.solve_triangular(L, right, lower=True)
            Z = np.ascontiguousarray(scipy.linalg.solve_triangular(L, M.T, lower=True).T)
            cost = near.sign * (Z @ shift) + near.cost
            block = _variable_block(Z, np.arange(len(Z)), near.sign, cost, near.C)
            x, z, b = _minimise_model(block, x, form.intercept and not has_far, accuracy, 1.0)
            end = scipy.linalg.solve_triangular(L.T, shift + z, lower=False)
            models.append(_Model(end if size == w.size else np.append(end, b), x, model_gamma))
        return models

    def _newton(self, state: RoundState) -> Iterator[None]:
        form, engine = state.form, state.engine
        size = form.blocks.d + form.intercept
        w = end = self._newton_start(state)
        while True:
            answers = engine.map(rounds.evaluate_smooth, w, end)
            values: Any = sum(a[0] for a in answers)
            values += [0.5 * norm2(w + t * (end - w)) for t in NEWTON_STEPS]
            state.record_bound(DualRule.at(end), None, total([a[2] for a in answers]))
            j = int(values.argmin())
            best, is_full_step = float(NEWTON_STEPS[j]), bool(np.isclose(NEWTON_STEPS[j], 1.0))
            is_start = np.array_equal(w, end)
            state.record_objective(w + best * (end - w), float(values[j]))
            yield
            if not is_full_step and not is_start:
                # if no step is better, try one shorter than all of these
                w = end = w + (best or float(NEWTON_STEPS[1]) ** 2) * (end - w)
                continue
            w, H = end, np.sum([a[3] for a in answers], axis=0)[:size, :size]
            gradient = -np.sum([a[1] for a in answers], axis=0)[:size]
            gradient[: form.blocks.d] += w[:-1]
            H[np.diag_indices(form.blocks.d)] += 1.0
            H[-1, -1] += 1e-12 * (1.0 + abs(H[-1, -1]))  # the intercept may have no curvature
            step = np.zeros(w.size)
            step[:size] = scipy.linalg.cho_solve(scipy.linalg.cho_factor(H), -gradient)
            end = w + step

    def _newton_start(self, state: RoundState) -> Vector:
        """Return the optimum for a random sample, by the same method; 0 if that is over half of all."""
        form, d = state.form, state.form.blocks.d
        m = self._near_count(d)
        if m >= 0.5 * form.n:
            return np.zeros(d + 1)
        fraction = m / form.n
        X, y, C = _stack(state.engine.map(rounds.draw_samples, fraction, self.seed))
        sample = Blocks.from_arrays(X, y, C / fraction, y.size)
        sample_form = replace(form, blocks=sample, C=1.0)
        solver = NearRows(tol=1e-3, near=y.size)
        *_, last = solver.points(sample_form, quiet=True)
        assert last.x is not None
        return np.append(last.x, last.b or 0.0)


@cache
def _compile(loss: Any, intercept: bool, sparse: bool) -> None:
    """Run all loops on a small problem, once per kind and process."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((64, 3)), np.where(np.arange(64) % 3 == 0, 1.0, -1.0)
    data: Any = scipy.sparse.csr_array(X) if sparse else X
    form = Sharded(Blocks.from_arrays(data, y, None, 64), 1.0, loss, intercept)
    for near in (10, 100):
        for _ in NearRows(near=near).points(form, quiet=True):
            pass


class _Model(NamedTuple):
    """The minimum of a model: w' (d + 1), the near variables x (m,), and γ."""

    w: Vector
    x: Vector
    gamma: float


def _minimise_model(
    block: VariableBlock, x: Vector, equality: bool, accuracy: float, unit: float | None = None
) -> tuple[Vector, Vector, float]:
    """Minimise ½‖Mᵀx‖² + pᵀx in a box from `x` on; return x, Mᵀx and the equality's multiplier."""
    if not x.size:
        return x, np.zeros(block.rows.features), 0.0
    solver = DualCoordinateDescent(tol=1e-9, gap=accuracy)
    start = project(x, block.lb, block.ub, block.a, 0.0) if equality else x.copy()
    state, steps = Descent(block, 0.0, equality, start, unit=unit), 0
    for steps, _ in enumerate(solver.improvements(state, bool(x.any()))):
        if state.stuck or steps > TUNING.max_inner_steps:
            state.balance()
            break
    return state.x, state.w, state.nu if equality else 0.0


def _variable_block(X: Any, row_of: Any, sign: Vector, cost: Vector, C: Vector) -> VariableBlock:
    """Return a block of dual variables between 0 and C, with `sign` as equality coefficients."""
    vectors = row_of, sign, cost, sign, np.zeros(sign.size), C, squared_norms(X)[row_of]
    return VariableBlock(as_rows(X), *(read_only(v) for v in vectors))


def _stack(parts: list[Any]) -> list[Any]:
    """Concatenate the blocks' answers, column by column."""
    return [
        scipy.sparse.vstack(column, format="csr")
        if scipy.sparse.issparse(column[0])
        else np.concatenate(column)
        for column in zip(*parts, strict=True)
    ]
