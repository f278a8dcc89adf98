"""The point z, the scores f = Kz that determine every gradient, and their rounding errors.

f is kept for all variables. Rows of K in float32 add rounding errors to it with every change of z;
their size is estimated as they occur. Scores near the margin are recomputed in float64 as soon as these
errors dominate the violation, and before optimality is claimed. Later changes are small, and so are
their errors: this is iterative refinement (Wilkinson 1963), which needs only float32 rows up to the
last digits. Errors are tracked per score, as a score may come near the margin later.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dualgap.problems.dataset import Indices, Vector
from dualgap.problems.gram.tiles import Tiles
from dualgap.solvers.smo.conditions import Gap, duality_gap, slopes
from dualgap.solvers.smo.contradictions import JoinedForm
from dualgap.solvers.smo.matrix import Matrix, RowCache
from dualgap.solvers.smo.problem import terms_of
from dualgap.solvers.smo.tuning import TUNING


class Scores:
    """The point and the scores of all variables, at first with rows in float32 if those suffice.

    Attributes
    ----------
    form, constant : the problem, and what its objective lacks. matrix : K of its variables.
    terms : those of the form, with the scores of the centres added to the costs.
    equalities : their number. b : their multipliers, computed from the last active variables.
    z, f : the point and its scores. up, down : their slopes at the last `violation`.
    refreshes : their number.
    """

    def __init__(self, joined: JoinedForm, tiles: Tiles) -> None:
        self.tiles, self.form = tiles, (form := joined.form)
        self.terms, self.equalities = terms_of(form), form.sums.size
        self.z, self.f = form.first_point(), np.zeros(form.n)
        self.b = np.zeros(max(1, self.equalities))
        self.refreshes, self.constant = 0, joined.constant
        single = form.is_bounded and tiles.precise(np.float32)
        self.matrix = Matrix(tiles, form, np.float32 if single else np.float64)
        self._rounding = max(1e-7, tiles.rounding(np.float32)) if single else 0.0
        if joined.low.size:
            of_centres = self.matrix.exact_scores(np.arange(form.n), joined.centre)
            self.terms = self.terms._replace(q=form.q + of_centres)
            self.constant += 0.5 * float(joined.centre @ of_centres)

    def compute(self, rows: RowCache | None) -> None:
        """Compute all scores, from `rows` where these are those of all variables."""
        n, support = self.form.n, np.flatnonzero(self.z)
        self.f = np.zeros(n)
        if rows is not None:
            support = support[~rows.add_to(self.f, support, self.z[support])]
        if support.size:
            self.f += self.matrix.products(np.arange(n), support, self.z[support])
        self._diagonal = np.abs(self.matrix.diagonal(np.arange(n)))
        if self.tiles.kernel.is_psd is not True:  # values of K may exceed its diagonal
            self._diagonal = np.maximum(self._diagonal, self.tiles.largest)
        self._stale, self._fresh = np.zeros(n), 0.0
        self._gap: Gap | None = None  # of z and f, if computed
        self.note_change(np.arange(n), self.z)

    def switch_to_float64(self) -> None:
        """Let K be in float64 from now on; the scores have to be computed again."""
        self.matrix = Matrix(self.tiles, self.form, np.float64)

    @property
    def errors(self) -> Vector:
        """Standard deviation of the rounding error of each score, assuming independent errors."""
        return np.sqrt(self._stale + self._fresh * self._diagonal)

    @property
    def noise(self) -> float:
        """The largest error of a score that rounding may have put on the wrong side of the margin."""
        errors = self.errors
        return float(errors[self.nearness() >= -TUNING.error_sigmas * errors].max(initial=0.0))

    def note_change(self, members: Indices, change: Vector) -> None:
        """Record the rounding error of a change of z that was added to f through float32 rows.

        It is relative to the values of K; |Kₜⱼ|² ≤ Kₜₜ Kⱼⱼ for semidefinite K.
        """
        if self.matrix.in_single:
            self._fresh += self._rounding**2 * float(change**2 @ self._diagonal[members])

    def violation(self) -> float:
        """Return the maximal violation over all variables."""
        terms = self.terms
        self.up, self.down, _, violation = slopes(self.f, self.z, terms, self.equalities)
        return violation

    def relative_gap(self, rounding: float = 0.0) -> float:
        """Return (gap + rounding) / |dual objective|; inf if a bound is infinite."""
        if self._gap is None:
            self._gap = duality_gap(self.terms, self.form.sums, self.z, self.f, self.constant)
        return self._gap.relative(rounding)

    def nearness(self) -> Vector:
        """Return the violation of each variable's condition; negative if it is satisfied.

        A free variable has two conditions; the larger deviation counts.
        """
        b = self.b[self.terms.groups]
        rise, fall = self.up - b, b - self.down
        both = np.abs(np.maximum(rise, fall))
        return np.where(np.isinf(rise), fall, np.where(np.isinf(fall), rise, both))

    def absorb(self, members: Indices, z: Vector, f: Vector, b: Vector) -> Iterator[None]:
        """Copy back the active variables, and update all other scores."""
        change = z - self.z[members]
        self.z[members], self.f[members], self.b, self._gap = z, f, b, None
        if members.size == self.form.n:
            return
        inactive = np.ones(self.form.n, np.bool_)
        inactive[members] = False
        updated, moved = np.flatnonzero(inactive), np.flatnonzero(change)
        for at in range(0, moved.size, 2048):  # columns of K between two pauses
            batch = moved[at : at + 2048]
            self.f[updated] += self.matrix.products(updated, members[batch], change[batch])
            yield

    def doubtful(self, violation: float) -> Indices:
        """Return the variables for which rounding may hide whether they violate by `violation`."""
        errors = self.errors
        candidates = self.nearness() >= -(2 * TUNING.error_sigmas * errors + violation)
        return np.flatnonzero(candidates & (errors > 0.05 * violation))

    def doubtful_for_gap(self, gap: float) -> Indices:
        """Return the variables whose rounding errors may hide that the relative gap exceeds `gap`.

        In the gap, the error of a score is multiplied by the width of the variable's box.
        """
        errors, terms = self.errors, self.terms
        candidates = self.nearness() >= -TUNING.error_sigmas * errors
        rounding = float(errors[candidates] @ (terms.hi - terms.lo)[candidates])
        certain = self.relative_gap(rounding) <= 1.1 * gap
        return np.flatnonzero(candidates & (errors > 0) & (not certain))

    def refresh(self, chosen: Indices) -> Iterator[None]:
        """Recompute the scores of the chosen variables in float64, pausing now and then."""
        step = max(1, 2**27 // max(1, np.count_nonzero(self.z)))  # 2²⁷ values of K between pauses
        for at in range(0, chosen.size, step):
            if at:
                yield
            batch = chosen[at : at + step]
            self.f[batch] = self.matrix.exact_scores(batch, self.z)
        self._stale += self._fresh * self._diagonal
        self._stale[chosen] = self._fresh = 0.0
        self._gap = None
        self.refreshes += 1
