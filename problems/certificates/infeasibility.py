"""Exact proof that no hyperplane separates the samples of a hard-margin problem.

By Gordan's theorem either some (w, b) has yᵢ(wᵀφ(xᵢ) + b) > 0 for every i, or there are weights with
    α ≥ 0,  1ᵀα = 1,  Σ αᵢyᵢφ(xᵢ) = 0,  and yᵀα = 0 with an intercept.
Two equal samples with opposite labels are such weights for any kernel. Else, for a finite feature map,
Σ αᵢyᵢm(xᵢ) = 0 is asked for every monomial m of it. A linear program in floating point says which
samples and about which weights; as many weights as there are equations are then solved for in
rationals, and every equation is verified on the stored numbers (Dhiflaoui et al. 2003, "Certifying
and repairing solutions to large LPs").
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import reduce
from itertools import combinations_with_replacement
from math import comb

import numpy as np
from flint import fmpq, fmpq_mat, fmpz_mat, nmod_mat
from numpy.typing import NDArray

from dualgap.problems.dataset import Matrix, Vector
from dualgap.problems.dual_problem.dual import DualProblem
from dualgap.problems.kernels import Block, Precomputed, as_dense, uses_gram_matrix

Exact = NDArray[np.object_]
_MOST_MONOMIALS = 600  # an exact solution of so many equations takes some seconds
_MOST_ENTRIES = 10**7  # samples times monomials
_LP_SECONDS = 30.0
_PRIME = 2**61 - 1  # ranks modulo this are right but for a chance of about 1e-18
_DEPENDENT = 1e-6  # a row this close to the span of others is treated as dependent in float64
_ROUNDS = 8  # of 60 bits each
_SHIFT = 60
_NEGLIGIBLE = 1e-9  # relative weight below which a sample is left out
_CACHE = "_infeasibility_proof"


@dataclass(frozen=True, eq=False)
class Proof:
    """Exact convex weights of samples that no hyperplane separates.

    Attributes
    ----------
    indices : the samples with a weight above 0.
    weights : their weights, exact rationals that sum to one.
    """

    indices: tuple[int, ...]
    weights: tuple[fmpq, ...]

    def check(self, problem: DualProblem) -> bool:
        """Return whether the weights hold exactly over the problem's stored numbers."""
        if any(w <= 0 for w in self.weights) or sum(self.weights, fmpq(0)) != 1:
            return False
        signed = [w * int(problem.y[i]) for i, w in zip(self.indices, self.weights, strict=True)]
        rows, totals = problem.X[np.array(self.indices)], dict[bytes, fmpq]()
        for key, value in zip(_row_keys(rows), signed, strict=True):
            totals[key] = totals.get(key, fmpq(0)) + value
        # where the weights of equal samples cancel, no function of the samples undoes it
        if all(v == 0 for v in totals.values()) and _are_one_sample(problem, self.indices):
            return True
        degrees = _degrees(problem)
        if degrees is None:
            return False
        exact = np.array(
            [[fmpq(*v.as_integer_ratio()) for v in row] for row in as_dense(rows)], object
        )
        values = [m.tolist() for m in _monomials(exact.T, degrees)]
        sums = fmpq_mat(values) * fmpq_mat([[v] for v in signed])
        return all(v == 0 for v in sums.entries())


def prove_infeasible(problem: DualProblem) -> Proof | None:
    """Return exact weights showing that no hyperplane separates the samples, None if not found.

    None is no proof of the opposite. The answer is remembered with the problem.

    Parameters
    ----------
    problem : any formulation; only those of the hard margin can be infeasible.
    """
    if not problem.may_be_infeasible:
        return None
    if not hasattr(problem, _CACHE):
        object.__setattr__(problem, _CACHE, _duplicates(problem) or _balanced(problem))
    return getattr(problem, _CACHE)


def _duplicates(problem: DualProblem) -> Proof | None:
    seen: dict[tuple[bytes, bool], int] = {}
    for i, key in enumerate(_row_keys(problem.X)):
        positive = bool(problem.y[i] > 0)
        other = seen.get((key, not positive))
        if other is not None and _are_one_sample(problem, (other, i)):
            return Proof((other, i), (fmpq(1, 2), fmpq(1, 2)))
        seen.setdefault((key, positive), i)
    return None


def _row_keys(X: Matrix) -> Iterator[bytes]:
    """Yield bytes that are equal exactly for equal rows (-0.0 is 0.0; CSR is canonical)."""
    if isinstance(X, np.ndarray):
        yield from (row.tobytes() for row in X + 0.0)
        return
    for start, stop in zip(X.indptr[:-1], X.indptr[1:], strict=True):
        yield X.indices[start:stop].tobytes() + X.data[start:stop].tobytes()


def _are_one_sample(problem: DualProblem, indices: Iterable[int]) -> bool:
    """Whether equal rows are equal samples: rows of a Gram matrix need equal entries here too."""
    if not uses_gram_matrix(problem.kernel):
        return True
    chosen = np.array(list(indices))
    return np.unique(Precomputed().bind(problem.X).block(chosen, chosen)).size == 1


def _degrees(problem: DualProblem) -> frozenset[int] | None:
    """Return the degrees of the monomials that must cancel; the intercept's is 0."""
    degrees = problem.kernel.monomials
    return None if degrees is None else degrees | ({0} if problem.intercept else frozenset())


def _monomials(features: Exact, degrees: Iterable[int]) -> Iterator[Exact]:
    """Yield the values (n,) of every monomial of these degrees, from exact `features` (d, n)."""
    one = features[0] * 0 + 1
    for degree in sorted(degrees):
        for chosen in combinations_with_replacement(range(len(features)), degree):
            yield reduce(np.multiply, [features[j] for j in chosen], one)


def _balanced(problem: DualProblem) -> Proof | None:
    degrees = _degrees(problem) or frozenset()
    count = sum(comb(problem.d + k - 1, k) for k in degrees)
    if not 0 < count <= min(_MOST_MONOMIALS, _MOST_ENTRIES / problem.n):
        return None
    # exactly independent rows yᵢm(xᵢ), each a multiple of a monomial's in whole numbers
    features = np.array([_whole_numbers(x) for x in as_dense(problem.X).T])
    labels = problem.y.astype(np.int64).astype(object)
    equations = np.array([m * labels for m in _monomials(features, degrees)])
    equations = equations[_pivots(fmpz_mat(equations.T.tolist()))]
    at_origin = np.flatnonzero((equations == 0).all(axis=0))
    if at_origin.size:
        return Proof((int(at_origin[0]),), (fmpq(1),))
    rows = _well_conditioned(equations)
    if rows is None:
        return None
    # about α ≥ 0, 1ᵀα = 1 with rows·α = 0 and few entries above 0
    target, free = np.append(np.zeros(len(rows)), 1.0), np.full(problem.n, np.inf)
    both = np.vstack([rows, np.ones(problem.n)])
    vertex = _linear_program(np.zeros(problem.n), both, target, free)
    if vertex is None:
        return None
    proof = _exact_proof(problem, equations, rows, vertex)
    if proof is not None:
        return proof
    interior = _interior(rows, vertex)  # the vertex had a weight that may be 0 but for rounding
    return None if interior is None else _exact_proof(problem, equations, rows, interior)


def _whole_numbers(x: Vector) -> Exact:
    """Return `x` (n,) times a power of two, in whole numbers."""
    mantissa, exponent = np.frexp(x)
    whole = (mantissa * 2.0**53).astype(np.int64)
    lowest = exponent[whole != 0].min(initial=2000)
    shift = np.where(whole != 0, exponent - lowest, 0)
    return _reduced(
        np.array([v << s for v, s in zip(whole.tolist(), shift.tolist(), strict=True)], object)
    )


def _reduced(whole: Exact) -> Exact:
    divisor = np.gcd.reduce(whole)
    return whole // divisor if divisor > 1 else whole


def _pivots(M: fmpz_mat) -> list[int]:
    """Return the first independent columns of `M`, found modulo a prime."""
    echelon, rank = nmod_mat(M, _PRIME).rref()
    pivots, column = list[int](), 0
    for row in range(rank):
        while not int(echelon[row, column]):
            column += 1
        pivots.append(column)
    return pivots


def _well_conditioned(equations: Exact) -> Block | None:
    """Return float64 rows that span what the equations do, and are far from dependent.

    Rows that differ by rounding only (collinear features after standardising) are replaced by
    their exact difference to the others, so that what is left of them counts fully.
    """
    from scipy.linalg import qr, solve_triangular  # noqa: PLC0415 - slow to import, rarely used

    exact = equations.copy()
    for _ in range(_ROUNDS):
        bits = [max(int(v).bit_length() for v in row) for row in exact]
        rows = np.array([row / (1 << b) for row, b in zip(exact, bits, strict=True)], np.float64)
        _, R, order = qr(rows.T, mode="economic", pivoting=True, check_finite=False)
        diagonal = np.abs(np.diagonal(R))
        rank = int((diagonal > _DEPENDENT * diagonal[0]).sum())
        if rank == len(rows):
            return rows
        basis, rest = order[:rank], order[rank:]
        shares = solve_triangular(R[:rank, :rank], R[:rank, rank:])
        top = max(bits)
        scaled = np.array([exact[j] << (top - bits[j]) for j in basis])
        for k, share in zip(rest, shares.T, strict=True):
            whole = np.array([round(s * 2.0**_SHIFT) for s in share.tolist()], object)
            exact[k] = _reduced((exact[k] << (_SHIFT + top - bits[k])) - whole @ scaled)
    return None


def _interior(rows: Block, vertex: Vector) -> Vector | None:
    """Return about α ≥ 0 with rows·α = 0 and as many of some hundred samples at 1 or above as can be.

    With α = s + t, 0 ≤ s ≤ 1, t ≥ 0 that is the largest Σ s.
    """
    count, n = rows.shape
    drawn = np.random.default_rng(0).permutation(n)[: 4 * count + 100]
    chosen = np.union1d(drawn, np.flatnonzero(vertex > 0))
    cost = np.append(-np.ones(chosen.size), np.zeros(n))
    upper = np.append(np.ones(chosen.size), np.full(n, np.inf))
    both = np.hstack([rows[:, chosen], rows])
    solution = _linear_program(cost, both, np.zeros(count), upper)
    if solution is None:
        return None
    alpha = solution[chosen.size :]
    alpha[chosen] += solution[: chosen.size]
    return alpha


def _linear_program(cost: Vector, rows: Block, target: Vector, upper: Vector) -> Vector | None:
    from scipy.optimize import linprog  # noqa: PLC0415 - slow to import, rarely used

    bounds = np.column_stack([np.zeros(cost.size), upper])
    options = {"time_limit": _LP_SECONDS}
    result = linprog(cost, None, None, rows, target, bounds, method="highs-ds", options=options)
    return np.maximum(result.x, 0.0) if result.status == 0 else None


def _exact_proof(
    problem: DualProblem, equations: Exact, rows: Block, about: Vector
) -> Proof | None:
    """Return the proof with weights near `about`, or None if none of them is one.

    The weights of an independent set of samples, large ones first, are solved for exactly; the rest
    keep theirs. The equations then hold as far as they depend on these samples at all.
    """
    from scipy.linalg import qr  # noqa: PLC0415 - slow to import, rarely used

    support = np.flatnonzero(about > _NEGLIGIBLE * about.max(initial=0.0))
    if support.size == 0:
        return None
    order = qr(rows[:, support] * about[support], mode="r", pivoting=True)[1]
    support = support[order]
    columns = equations[:, support]
    solved = np.array(_pivots(fmpz_mat(columns.tolist())))
    kept = np.setdiff1d(np.arange(support.size), solved)
    if kept.size == 0:
        return None
    used = _pivots(fmpz_mat(columns[:, solved].T.tolist()))
    scale = 2.0**_SHIFT / about.max()
    fixed = np.array([round(v) for v in (about[support[kept]] * scale).tolist()], object)
    residual = columns[used][:, kept] @ fixed
    matrix = fmpz_mat(columns[used][:, solved].tolist())
    exact = matrix.solve(fmpz_mat([[-v] for v in residual])).entries()
    if any(v < 0 for v in exact):
        return None
    weights = [*exact, *map(fmpq, fixed)]
    total = sum(weights, fmpq(0))
    if total <= 0:
        return None
    indices = support[np.append(solved, kept)].tolist()
    used = sorted((i, w / total) for i, w in zip(indices, weights, strict=True) if w > 0)
    proof = Proof(tuple(i for i, _ in used), tuple(w for _, w in used))
    return proof if proof.check(problem) else None
