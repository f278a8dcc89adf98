"""Near rows: samples in blocks, of which the driver holds w and a few rows, and nothing of size n.

    min ½‖w‖² + Σ Cᵢ·max(0, −uᵢ),   u = s·(Xw + b) + p   (hinge: s = y, p = −1; tube: s = ±1, p = ε ∓ y)

An iteration is two rounds; a round is one question to every block.

1. The blocks return the m variables whose u is nearest to the kink, one for all that are equal, with
   ΣC, as a choice among equal rows would leave the others with a wrong x; and of all others
   v = Σ C[u<0]·mᵢ and H = Σ C/(2|u|)·mᵢmᵢᵀ, the Hessian of the quadratic majoriser of the hinge
   (Groenen et al. 2008).
2. The driver minimises ½‖w'‖² + (γ/2)(w'−w)ᵀH(w'−w) − vᵀw' + Σ_near Cᵢ·max(0, −uᵢ(w')), for several γ,
   by dual coordinate descent and proximal Newton steps on the rows ML⁻ᵀ, LLᵀ = I + γH. The blocks return
   the objective along each segment from w to w', and the sums of dual variables that follow from the
   model (`DualRule`). They are feasible whatever happened, so each round has a duality gap of its own.

The best (γ, t) gives the next w; γ is halved where t ≥ 1 and doubled where t is short.

With an unregularised intercept b is one more weight, on which I is 0. Then Σβ = 0 has to hold: the near
variables, which cost little to move, take what the others leave.

Smooth losses have one round an iteration, and no near rows: Newton's method with the true Hessian.
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
from dualgap.problems.validation import check_choice, check_whole
from dualgap.solvers.base import SHARE_OF_GAP, Solver, import_optional
from dualgap.solvers.dual_coordinate_descent import DualCoordinateDescent
from dualgap.solvers.dual_coordinate_descent.blocks import VariableBlock
from dualgap.solvers.dual_coordinate_descent.descent import Descent
from dualgap.solvers.near_rows import rounds
from dualgap.solvers.near_rows.checkpoint import Checkpoint
from dualgap.solvers.near_rows.engines import engine_of
from dualgap.solvers.near_rows.rounds import FEW_STEPS, STEPS, Far, Rows, total
from dualgap.solvers.near_rows.state import State, norm2
from dualgap.solvers.numerics.rows import as_rows, read_only

MOST_FEATURES = 2000  # whose H takes 32 MB of each answer
_FACTORS = (1.0, 0.3, 0.05)  # of γ, the models that are solved in one iteration
_FIRST_GAMMA, _LARGEST_GAMMA = 0.1, 10.0
_ACCURACY = 0.002  # of the gap, to which a model is solved
_INNER_STEPS = 400
_NEAR, _LEAST_NEAR, _MOST_NEAR = 100, 20_000, 2**25  # variables a feature, in all; entries in all
_PATIENCE = 20  # iterations without a better objective or bound
_log = logging.getLogger("dualgap")


@dataclass(frozen=True)
class NearRows(Solver):
    """Near rows for hinge and tube, Newton's method for smooth losses, on samples in blocks.

    Attributes
    ----------
    tol : relative gap, by its own sums, at which it stops.
    near : variables that are sent to the driver in each iteration; None for 100 a feature, at least
        20,000, and at most what takes 256 MB.
    engine : "here" reads one block after another in this process; "dask" sends them to workers.
    address : that of a Dask scheduler, `tcp://host:port`; None for a cluster on this machine.
    workers, memory_limit : of that cluster: one a core and no limit by default; such as "700MiB".
    checkpoints : a folder where each iteration leaves w, γ and dual variables, so that a run that is
        killed goes on from there if it is started again with the same samples and settings; the time
        of such a row is that of its rest. None leaves nothing; experiments give runs on blocks one each.
    max_iter : rounds after which it stops without a claim.
    seed : of the rows that it starts from.
    """

    tol: float | None = None
    near: int | None = None
    engine: Literal["here", "dask"] = "here"
    address: str | None = None
    workers: int | None = None
    memory_limit: str | None = None
    checkpoints: str | None = None
    max_iter: int = 300
    seed: int = 0

    form: ClassVar = Sharded
    tol_share: ClassVar = SHARE_OF_GAP
    source: ClassVar[str] = "Groenen, Nalbantov & Bioch 2008 (majoriser); Hsieh et al. 2008"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice(self.engine, "engine", ("here", "dask"))
        for name in ("near", "workers"):
            if getattr(self, name) is not None:
                check_whole(getattr(self, name), name)
        given = [n for n in ("address", "workers", "memory_limit") if getattr(self, n) is not None]
        if self.engine == "here" and given:
            raise ValueError(f"{given[0]}: is of a Dask cluster; give engine='dask' too")
        if self.address is not None and len(given) > 1:
            raise ValueError(f"{given[1]}: the scheduler at `address` has its own; leave it out")

    def refuses(self, form: Sharded) -> str | None:
        """It needs a loss of one score, dual variables 0 ≤ x ≤ C, and no more weights than a Hessian."""
        scalar = isinstance(form.loss, ScalarLoss) and not isinstance(form.loss, Perceptron)
        pieces = form.loss.dual_pieces(np.ones(1)) if scalar else None
        if not scalar or any((p.low, p.high) != (0.0, 1.0) for p in pieces or ()):
            return (
                f"near rows takes the hinge, the tube and smooth losses, not the {form.loss.name}"
            )
        if form.blocks.d > MOST_FEATURES:
            return (
                f"near rows sends a matrix of d² entries from each block: of up to {MOST_FEATURES} "
                f"features, and these samples have {form.blocks.d}"
            )
        if self.engine == "dask" and isinstance(form.blocks.source, ArraySource):
            return (
                "engine dask reads each block where a worker is, and these samples are in this "
                "process's memory: give them as files, a Dask array or a generator, or engine: here"
            )
        return None

    def prepare(self, form: Sharded) -> Sharded:
        """Import Dask if it is asked for, and compile the loops on a small problem of the same kind."""
        if self.engine == "dask":
            import_optional("distributed", "engine: dask", "dualgap[dask]")
        _compile(form.loss, form.intercept, form.blocks.sparse)
        return form

    def iterates(self, form: Sharded) -> Iterator[FormPoint]:
        """Yield after each round, with the weights and the dual variables that are best so far."""
        yield from self.points(form)

    def points(self, form: Sharded, quiet: bool = False) -> Iterator[FormPoint]:
        """Yield as `iterates` does, if asked for without a line in the log for each round."""
        where = self.engine, form, self.address, self.workers, self.memory_limit
        with engine_of(*where) as engine:
            state, written = State(form, engine), list[Vector]()
            kept = Checkpoint(self.checkpoints, form, self.near, self.seed)
            if stored := kept.read():
                state.restore(stored)
            for _ in self._rounds(state):
                reached, spent = state.gap <= self.tolerance, engine.rounds >= self.max_iter
                stopped = spent or state.idle > _PATIENCE
                if not quiet:
                    _log.info("round %d: relative gap %.2g", engine.rounds, state.gap)
                yield state.point("optimal" if reached else "stopped" if stopped else "none")
                if reached or stopped:
                    kept.remove()
                    return
                if state.place is not written:
                    written = state.place
                    kept.write(state.numbers())
            kept.remove()
            yield state.point("stopped")

    def _rounds(self, state: State) -> Iterator[None]:
        """Go on until curvature is so large that float64 does not hold the 1 beside it."""
        smooth = state.form.loss.dual_pieces(np.ones(1)) is None
        try:
            yield from self._newton(state) if smooth else self._near_rows(state)
        except np.linalg.LinAlgError:
            state.note = (
                "float64 does not hold ½‖w‖² beside the losses: scale the features, or C, down"
            )

    def _near_rows(self, state: State) -> Iterator[None]:
        form, engine, d = state.form, state.engine, state.form.blocks.d
        variables = form.n * len(form.loss.dual_pieces(np.ones(1)) or ())
        m = self.near or min(max(_NEAR * d, _LEAST_NEAR), _MOST_NEAR // d)
        share = min(1.0, m / variables)
        if not state.place:
            state.w = self._from_sample(state, share)
            state.place = [state.w, np.array([_FIRST_GAMMA])]
            yield
        w, gamma = state.place[0], float(state.place[1][0])
        known = DualRule.unpacked(state.place[2], d) if len(state.place) > 2 else None
        while True:
            answers = engine.map(rounds.nearest, w, share, known)
            near, far = Rows(*_stacked([a[0] for a in answers])), total([a[1] for a in answers])
            state.saw(w, sum(a[3] for a in answers))
            if state.primal == 0.0:
                yield  # no dual variables are needed: the optimum is at least 0
            if state.primal == np.inf:
                raise np.linalg.LinAlgError
            accuracy = float(np.clip(_ACCURACY * state.gap, 1e-10, 1e-4))
            H = sum(a[2] for a in answers)
            models = self._models(form, near, far, H, w, gamma, accuracy * state.primal)
            for model in models:
                state.bounded(DualRule.at(w), near._replace(x=model.x), far)
            yield
            rules = [near.rule(w, model.w - w, model.gamma, model.x) for model in models]
            answers = engine.map(rounds.compared, w, [model.w for model in models], rules)
            values: Any = sum(a[0] for a in answers)
            for c, model in enumerate(models):
                values[c] += [0.5 * norm2(w + t * (model.w - w)) for t in STEPS]
                sums = total([a[1][c] for a in answers])
                state.bounded(rules[c], near._replace(x=model.x), sums)
            c, j = np.unravel_index(int(values.argmin()), values.shape)
            t, best = float(STEPS[j]), models[c]
            known = rules[c]
            if not form.intercept:  # where it is one, `bounded` balances the near variables
                sums, near = total([a[1][c] for a in answers]), near._replace(x=best.x)
                (refit,) = self._models(form, near, sums, 0.0 * H, w, 0.0, accuracy * state.primal)
                state.bounded(known, near._replace(x=refit.x), sums)
            if t == 0.0:
                gamma = min(10.0 * gamma, _LARGEST_GAMMA)
            else:
                gamma = best.gamma * (0.5 if t >= 1.0 else 2.0 if t < 0.4 else 1.0)
            w = w + t * (best.w - w)
            state.reached(w, float(values[c, j]))
            state.place = [w, np.array([gamma]), known.packed()]
            yield

    def _from_sample(self, state: State, share: float) -> Vector:
        """Return the optimum of a share of all samples, drawn at random."""
        form, engine = state.form, state.engine
        X, y, C = _stacked(engine.map(rounds.drawn, share, self.seed))
        pieces = form.loss.dual_pieces(y)
        assert pieces is not None
        sign, cost = (
            np.concatenate([getattr(p, name) for p in pieces]) for name in ("sign", "cost")
        )
        row_of = np.tile(np.arange(y.size), len(pieces))
        block = _variables(X, row_of, sign, cost, (C / share)[row_of])
        _, z, b = _minimised(block, np.zeros(sign.size), form.intercept, 1e-3)
        unused = np.zeros(form.blocks.d - z.size)  # the last features, which no drawn row has
        return np.concatenate([z, unused, [b]])

    def _models(
        self, form: Sharded, near: Rows, far: Far, H: Any, w: Vector, gamma: float, accuracy: float
    ) -> list[_Model]:
        """Return the minimum of the model for each γ, from the largest; of each the next begins."""
        v, x, models = far.v.sum(axis=0), near.x, list[_Model]()
        rest = bool(H[-1, -1] > 0)  # whether some variables are far
        size = w.size if form.intercept and rest else w.size - 1
        M = near.X.toarray() if scipy.sparse.issparse(near.X) else near.X
        if size == w.size:
            M = np.column_stack([M, np.ones(len(M))])
        for factor in _FACTORS if rest else (1.0,):
            own = gamma * factor
            A = own * H[:size, :size]
            A[np.diag_indices(w.size - 1)] += 1.0
            L = np.linalg.cholesky(A)
            right = own * (H[:size] @ w) + v[:size] if size == w.size else v[:size].copy()
            if size < w.size:
                right += own * (H[:size, :size] @ w[:size])
            shift = scipy.linalg.solve_triangular(L, right, lower=True)
            Z = np.ascontiguousarray(scipy.linalg.solve_triangular(L, M.T, lower=True).T)
            cost = near.sign * (Z @ shift) + near.cost
            block = _variables(Z, np.arange(len(Z)), near.sign, cost, near.C)
            x, z, b = _minimised(block, x, form.intercept and not rest, accuracy, 1.0)
            end = scipy.linalg.solve_triangular(L.T, shift + z, lower=False)
            models.append(_Model(end if size == w.size else np.append(end, b), x, own))
        return models

    def _newton(self, state: State) -> Iterator[None]:
        form, engine = state.form, state.engine
        size = form.blocks.d + form.intercept
        if not state.place:
            state.place = [self._newton_start(state)] * 2
        w, end = state.place
        while True:
            answers = engine.map(rounds.smooth, w, end)
            values: Any = sum(a[0] for a in answers)
            values += [0.5 * norm2(w + t * (end - w)) for t in FEW_STEPS]
            state.bounded(DualRule.at(end), None, total([a[2] for a in answers]))
            j = int(values.argmin())
            best, full = float(FEW_STEPS[j]), bool(np.isclose(FEW_STEPS[j], 1.0))
            whole = np.array_equal(w, end)
            state.reached(w + best * (end - w), float(values[j]))
            state.place = [w, end]
            yield
            if not full and not whole:
                # where no step is better the next one is shorter than any that was looked at
                w = end = w + (best or float(FEW_STEPS[1]) ** 2) * (end - w)
                continue
            w, H = end, np.sum([a[3] for a in answers], axis=0)[:size, :size]
            gradient = -np.sum([a[1] for a in answers], axis=0)[:size]
            gradient[: form.blocks.d] += w[:-1]
            H[np.diag_indices(form.blocks.d)] += 1.0
            H[-1, -1] += 1e-12 * (1.0 + abs(H[-1, -1]))  # an intercept that no sample holds
            step = np.zeros(w.size)
            step[:size] = scipy.linalg.cho_solve(scipy.linalg.cho_factor(H), -gradient)
            end = w + step

    def _newton_start(self, state: State) -> Vector:
        """Return the optimum of some of the samples, by the same method; 0 where they are few."""
        form, d = state.form, state.form.blocks.d
        m = self.near or min(max(_NEAR * d, _LEAST_NEAR), _MOST_NEAR // d)
        if m >= 0.5 * form.n:
            return np.zeros(d + 1)
        share = m / form.n
        X, y, C = _stacked(state.engine.map(rounds.drawn, share, self.seed))
        sample = Blocks.of_arrays(X, y, C / share, y.size)
        few = replace(form, blocks=sample, C=1.0)
        own = NearRows(tol=1e-3, near=y.size)
        *_, last = own.points(few, quiet=True)
        assert last.x is not None
        return np.append(last.x, last.b or 0.0)


@cache
def _compile(loss: Any, intercept: bool, sparse: bool) -> None:
    """Run all loops on a small problem, once for each kind in a process."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((64, 3)), np.where(np.arange(64) % 3 == 0, 1.0, -1.0)
    like: Any = scipy.sparse.csr_array(X) if sparse else X
    form = Sharded(Blocks.of_arrays(like, y, None, 64), 1.0, loss, intercept)
    for near in (10, 100):
        for _ in NearRows(near=near).points(form, quiet=True):
            pass


class _Model(NamedTuple):
    """The minimum of a model: w' (d + 1), the near variables x (m,), and γ."""

    w: Vector
    x: Vector
    gamma: float


def _minimised(
    block: VariableBlock, x: Vector, equality: bool, accuracy: float, unit: float | None = None
) -> tuple[Vector, Vector, float]:
    """Return x, Mᵀx and the equality's multiplier of min ½‖Mᵀx‖² + pᵀx in a box, from `x`."""
    if not x.size:
        return x, np.zeros(block.rows.features), 0.0
    solver = DualCoordinateDescent(tol=1e-9, gap=accuracy)
    start = project(x, block.lb, block.ub, block.a, 0.0) if equality else x.copy()
    state, steps = Descent(block, 0.0, equality, start, unit=unit), 0
    for steps, _ in enumerate(solver.improvements(state, bool(x.any()))):
        if state.stuck or steps > _INNER_STEPS:
            state.balance()
            break
    return state.x, state.w, state.nu if equality else 0.0


def _variables(X: Any, row_of: Any, sign: Vector, cost: Vector, C: Vector) -> VariableBlock:
    """Return dual variables between 0 and C, with signs that an equality may have."""
    vectors = row_of, sign, cost, sign, np.zeros(sign.size), C, squared_norms(X)[row_of]
    return VariableBlock(as_rows(X), *(read_only(v) for v in vectors))


def _stacked(parts: list[Any]) -> list[Any]:
    """Return each column of the blocks' answers in one: samples, and vectors."""
    return [
        scipy.sparse.vstack(own, format="csr")
        if scipy.sparse.issparse(own[0])
        else np.concatenate(own)
        for own in zip(*parts, strict=True)
    ]
