"""Sequential minimal optimisation, in three nested levels.

    min ½zᵀKz + qᵀz + Σ tubeᵢ|zᵢ|  s.t. Σz = delta (or none), lo ≤ z ≤ hi

All variables: the scores f = Kz are kept for each, and say which may still have to move. Active
variables, some thousands: the problem is solved on these, with their own rows of K in memory, before
the other scores are brought up to date (Joachims 1999). Working set, 512 of the active: pairs of
variables move along the equality to the exact minimum in the box (Platt 1998), the pair with the
largest second-order gain first (Fan, Chen & Lin 2005), on a block of K that stays in the cache.

Each level spares the one above it, since kernel values are what takes the time: on a9a 1.2 times as
many are computed as a certificate needs, on ijcnn1 1.9 times. They are in float32. When the violation
comes down to their rounding errors, and before anything is claimed, the scores near the margin are
computed in float64, and what is left is solved with the same rows. Where the free variables are few and
settled, Newton steps in float64 end it; where refreshes help no more, all rows are in float64.

What each measure gained (two cores; rounds are what a solution costs where values are cheap):
- tiles of K on threads of our own, `problems.gram.tiles`: a sparse row of a9a meets dense columns in two
  fifths of the dense product's time
- pair steps without branches, `pairs`: 0.6 µs a step at 512 variables, from 15
- violators at random instead of the worst alone, `active`: cpusmall in a quarter of the rounds
- equal samples as one variable, in random order, `duplicates`: two thirds of a9a's values, and w8a to
  a gap of 1e-8 in a tenth of the time
- opposite labels of equal samples as one variable with a tube, `opposites`: 5000 samples of a9a with
  C = 100 in half the time
- up to 1024 variables as one working set: splice in less than half the time
- their rows when a step first needs them, `demand`: 1500 samples in half the time, breast_cancer in
  two thirds, in a new process in a quarter
- hardly any of the last working set in the next, `active`: c10, 10,000 samples in 100 features, C = 10,
  in 247 rounds of 312, w8a with C = 5 in 252 of 358
- working sets gathered by halves on both threads, `kept`: 0.4 ms for 1.3; new rows by ranges of columns,
  `problems.gram.tiles`: 60 of c10's in two thirds of the time
- kept rows added to the scores eight at a time, `kept`: 30 GB/s from 16, a third of a round's time
- scores refined as soon as errors show, `levels`, and Newton in float64 at the end: w8a with C = 5 to a
  gap of 1e-9 in 172 rounds of 2,733
- Newton steps from kept rows, `newton`: 8000 samples of a9a with C = 100 to 1e-6 in 365 rounds of 984

The time relative to the arithmetic lower bound: see the tables in results/bench_kernel_svc. Problems
whose support vectors are nearly all free stay farthest, at 10 to 30 times: their rows are added to the
scores some twenty times each, which takes longer than computing them. Above 4096 free variables a
factor takes longer than the rounds that it saves, and Newton steps compute K anew.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from problems.forms import BoxQP, FormPoint
from solvers.base import Solver
from solvers.numerics.warm_up import warm_up
from solvers.smo.active import MOST_ON_DEMAND, Active, compile_choice
from solvers.smo.levels import minimise
from solvers.smo.state import SINGLE_FROM


@dataclass(frozen=True)
class SMO(Solver):
    """Second-order SMO for any box QP, with or without the equality.

    Attributes
    ----------
    tol : stop when the maximal violating pair is at or below it (LIBSVM's meaning); without a claim
        if the relative duality gap is still above 1e-2, as it may be where C is huge.
    gap : stop also when the relative duality gap is at or below it; None never does, and a box with
        infinite bounds has no gap to go by.
    max_iter : steps after which it stops without a claim.
    cache_size : megabytes for kernel rows; None for all rows, or half of the memory that is available.
        The counter of the same name says what there was room for.
    """

    tol: float = 1e-3
    gap: float | None = None
    max_iter: int = 10_000_000
    cache_size: float | None = None

    form: ClassVar = BoxQP
    source: ClassVar[str] = "Platt 1998; Fan, Chen & Lin 2005; Joachims 1999"

    def refuses(self, form: BoxQP) -> str | None:
        """Every variable must take part in an equality, or none."""
        if form.groups is not None and (form.groups < 0).any():
            return "SMO moves pairs along equalities, and some variables here are in none"
        if form.a is not None and (form.a == 0).any():
            return "SMO needs every coefficient of the equality to be nonzero"
        return None

    def prepare(self, form: BoxQP) -> BoxQP:
        """Compile the steps, for both precisions."""
        # as one set in float64, with rows on demand, and with working sets, as far as the form needs it;
        # in its own size too, whose memory a process touches for the first time here
        own = min(form.n, MOST_ON_DEMAND + 1)
        for samples in sorted({32, SINGLE_FROM, own}):
            if samples <= max(own, 32):
                warm_up(SMO(tol=0.1), form, samples=samples)
        compile_choice()
        return form

    def iterates(self, form: BoxQP) -> Iterator[FormPoint]:
        """Yield every few rounds."""
        yield from minimise(form, Active, self.tol, self.gap, int(self.max_iter), self.cache_size)
