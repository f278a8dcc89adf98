"""Exact proof that no hyperplane separates the samples of a hard-margin problem.

By Gordan's theorem either some (w, b) has yᵢ(wᵀφ(xᵢ) + b) > 0 for every i, or there are weights with
    α ≥ 0,  1ᵀα = 1,  Σ αᵢyᵢφ(xᵢ) = 0,  and yᵀα = 0 with an intercept.
Two equal samples with opposite labels give such weights for any kernel. Otherwise, for a finite feature
map, Σ αᵢyᵢm(xᵢ) = 0 must hold for each of its monomials m. A floating-point linear program selects the
samples and approximate weights; as many weights as there are equations are then solved for in rational
arithmetic, and every equation is verified on the stored numbers (Dhiflaoui et al. 2003, "Certifying and
repairing solutions to large LPs").
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
from dualgap.problems.kernels import Block, Precomputed, as_dense
from dualgap.problems.quadratic.constraints import LP_TIME_LIMIT_S
from dualgap.problems.risk.risk import Risk

Exact = NDArray[np.object_]
_SHIFT_BITS = 60  # precision gained per refinement


@dataclass(frozen=True, eq=False)
class Proof:
    """Exact convex weights that prove that no hyperplane separates the samples.

    Attributes
    ----------
    indices : the samples with positive weights.
    weights : their weights, exact rationals that sum to 1.
    """

    indices: tuple[int, ...]
    weights: tuple[fmpq, ...]

    def check(self, risk: Risk) -> bool:
        """Whether the weights meet all equations exactly on the problem's stored numbers."""
        if any(w <= 0 for w in self.weights) or sum(self.weights, fmpq(0)) != 1:
            return False
        signed = [w * int(risk.y[i]) for i, w in zip(self.indices, self.weights, strict=True)]
        rows, totals = risk.samples.X[np.array(self.indices)], dict[bytes, fmpq]()
        for key, value in zip(_row_keys(rows), signed, strict=True):
            totals[key] = totals.get(key, fmpq(0)) + value
        # if the weights of equal samples cancel, they do so for every feature map
        if all(v == 0 for v in totals.values()) and _are_one_sample(risk, self.indices):
            return True
        degrees = _degrees(risk)
        if degrees is None:
            return False
        exact = np.array(
            [[fmpq(*v.as_integer_ratio()) for v in row] for row in as_dense(rows)], object
        )
        values = [m.tolist() for m in _monomials(exact.T, degrees)]
        sums = fmpq_mat(values) * fmpq_mat([[v] for v in signed])
        return all(v == 0 for v in sums.entries())


def prove_infeasible(risk: Risk) -> Proof | None:
    """Return exact weights proving that no hyperplane separates the samples, None if not found.

    None does not prove the opposite. The result is cached in the risk.

    Parameters
    ----------
    risk : only that of a hard margin can be infeasible.
    """
    if not risk.is_hard:
        return None
    cache = "_infeasibility_proof"  # an attribute of the risk
    if not hasattr(risk, cache):
        proof = _proof_by_duplicates(risk) or _proof_by_equations(risk)
        object.__setattr__(risk, cache, proof)
    return getattr(risk, cache)


def _proof_by_duplicates(risk: Risk) -> Proof | None:
    first_index: dict[tuple[bytes, bool], int] = {}
    for i, key in enumerate(_row_keys(risk.samples.X)):
        positive = bool(risk.y[i] > 0)
        opposite = first_index.get((key, not positive))
        if opposite is not None and _are_one_sample(risk, (opposite, i)):
            return Proof((opposite, i), (fmpq(1, 2), fmpq(1, 2)))
        first_index.setdefault((key, positive), i)
    return None


def _row_keys(X: Matrix) -> Iterator[bytes]:
    """Yield bytes per row that are equal if and only if rows are (-0.0 is 0.0; CSR is canonical)."""
    if isinstance(X, np.ndarray):
        yield from (row.tobytes() for row in X + 0.0)
        return
    for start, stop in zip(X.indptr[:-1], X.indptr[1:], strict=True):
        yield X.indices[start:stop].tobytes() + X.data[start:stop].tobytes()


def _are_one_sample(risk: Risk, indices: Iterable[int]) -> bool:
    """Whether equal rows are equal samples; in a Gram matrix their mutual entries must be equal too."""
    if not risk.samples.kernel.uses_gram_matrix:
        return True
    chosen = np.array(list(indices))
    return np.unique(Precomputed().bind(risk.samples.X).block(chosen, chosen)).size == 1


def _degrees(risk: Risk) -> frozenset[int] | None:
    """Return the degrees of the monomials that must cancel; degree 0 is the intercept."""
    degrees = risk.samples.kernel.monomials
    return None if degrees is None else degrees | ({0} if risk.costs.size else frozenset())


def _monomials(features: Exact, degrees: Iterable[int]) -> Iterator[Exact]:
    """Yield the values (n,) of every monomial of these degrees in the exact `features` (d, n)."""
    one = features[0] * 0 + 1
    for degree in sorted(degrees):
        for chosen in combinations_with_replacement(range(len(features)), degree):
            yield reduce(np.multiply, [features[j] for j in chosen], one)


def _proof_by_equations(risk: Risk) -> Proof | None:
    degrees = _degrees(risk) or frozenset()
    count = sum(comb(risk.samples.d + k - 1, k) for k in degrees)
    # solving 600 equations exactly takes a few seconds; at most 10⁷ entries in all
    if not 0 < count <= min(600, 10**7 / risk.n):
        return None
    # exactly independent rows yᵢm(xᵢ), each scaled to integers
    features = np.array([_integers(x) for x in as_dense(risk.samples.X).T])
    labels = risk.y.astype(np.int64).astype(object)
    equations = np.array([m * labels for m in _monomials(features, degrees)])
    equations = equations[_pivots(fmpz_mat(equations.T.tolist()))]
    at_origin = np.flatnonzero((equations == 0).all(axis=0))
    if at_origin.size:
        return Proof((int(at_origin[0]),), (fmpq(1),))
    rows = _well_conditioned(equations)
    if rows is None:
        return None
    # α ≥ 0, 1ᵀα = 1, rows·α = 0 approximately, with few positive entries
    target, free = np.append(np.zeros(len(rows)), 1.0), np.full(risk.n, np.inf)
    both = np.vstack([rows, np.ones(risk.n)])
    vertex = _linear_program(np.zeros(risk.n), both, target, free)
    if vertex is None:
        return None
    proof = _exact_proof(risk, equations, rows, vertex)
    if proof is not None:
        return proof
    interior = _interior(rows, vertex)  # a weight of the vertex may be 0 up to rounding
    return None if interior is None else _exact_proof(risk, equations, rows, interior)


def _integers(x: Vector) -> Exact:
    """Return `x` (n,) scaled to coprime integers."""
    mantissa, exponent = np.frexp(x)
    integers = (mantissa * 2.0**53).astype(np.int64)
    lowest = exponent[integers != 0].min(initial=2000)
    shift = np.where(integers != 0, exponent - lowest, 0)
    return _coprime(
        np.array([v << s for v, s in zip(integers.tolist(), shift.tolist(), strict=True)], object)
    )


def _coprime(integers: Exact) -> Exact:
    divisor = np.gcd.reduce(integers)
    return integers // divisor if divisor > 1 else integers


def _pivots(M: fmpz_mat) -> list[int]:
    """Return the first independent columns of `M`.

    They are computed modulo a prime, and wrong with probability 1e-18.
    """
    echelon, rank = nmod_mat(M, 2**61 - 1).rref()
    pivots, column = list[int](), 0
    for row in range(rank):
        while not int(echelon[row, column]):
            column += 1
        pivots.append(column)
    return pivots


def _well_conditioned(equations: Exact) -> Block | None:
    """Return float64 rows with the span of the equations that are far from dependent.

    Rows within 1e-6 of the span of others (collinear features after standardising) are replaced by their
    exact residual.
    """
    from scipy.linalg import qr, solve_triangular  # noqa: PLC0415 - slow to import, rarely used

    exact = equations.copy()
    for _ in range(8):
        bits = [max(int(v).bit_length() for v in row) for row in exact]
        rows = np.array([row / (1 << b) for row, b in zip(exact, bits, strict=True)], np.float64)
        _, R, order = qr(rows.T, mode="economic", pivoting=True, check_finite=False)
        diagonal = np.abs(np.diagonal(R))
        rank = int((diagonal > 1e-6 * diagonal[0]).sum())
        if rank == len(rows):
            return rows
        basis, dependent = order[:rank], order[rank:]
        combinations = solve_triangular(R[:rank, :rank], R[:rank, rank:])
        top = max(bits)
        scaled = np.array([exact[j] << (top - bits[j]) for j in basis])
        for k, combination in zip(dependent, combinations.T, strict=True):
            factors = np.array([round(s * 2.0**_SHIFT_BITS) for s in combination.tolist()], object)
            exact[k] = _coprime((exact[k] << (_SHIFT_BITS + top - bits[k])) - factors @ scaled)
    return None


def _interior(rows: Block, vertex: Vector) -> Vector | None:
    """Return approximately α ≥ 0 with rows·α = 0 and as many αᵢ ≥ 1 as possible among some samples.

    That maximises Σ s with α = s + t, 0 ≤ s ≤ 1, t ≥ 0; a few hundred samples are drawn.
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
    options = {"time_limit": LP_TIME_LIMIT_S}
    result = linprog(cost, None, None, rows, target, bounds, method="highs-ds", options=options)
    return np.maximum(result.x, 0.0) if result.status == 0 else None


def _exact_proof(risk: Risk, equations: Exact, rows: Block, guess: Vector) -> Proof | None:
    """Return a proof with weights near `guess`, or None if there is none.

    The weights of an independent set of samples, large ones first, are solved for exactly; the others
    stay fixed. Equations that do not depend on these samples may fail, so the proof is checked.
    """
    from scipy.linalg import qr  # noqa: PLC0415 - slow to import, rarely used

    support = np.flatnonzero(guess > 1e-9 * guess.max(initial=0.0))
    if support.size == 0:
        return None
    order = qr(rows[:, support] * guess[support], mode="r", pivoting=True)[1]
    support = support[order]
    columns = equations[:, support]
    solved = np.array(_pivots(fmpz_mat(columns.tolist())))
    fixed = np.setdiff1d(np.arange(support.size), solved)
    if fixed.size == 0:
        return None
    used = _pivots(fmpz_mat(columns[:, solved].T.tolist()))
    scale = 2.0**_SHIFT_BITS / guess.max()
    fixed_weights = np.array([round(v) for v in (guess[support[fixed]] * scale).tolist()], object)
    residual = columns[used][:, fixed] @ fixed_weights
    matrix = fmpz_mat(columns[used][:, solved].tolist())
    exact = matrix.solve(fmpz_mat([[-v] for v in residual])).entries()
    if any(v < 0 for v in exact):
        return None
    weights = [*exact, *map(fmpq, fixed_weights)]
    total = sum(weights, fmpq(0))
    if total <= 0:
        return None
    indices = support[np.append(solved, fixed)].tolist()
    used = sorted((i, w / total) for i, w in zip(indices, weights, strict=True) if w > 0)
    proof = Proof(tuple(i for i, _ in used), tuple(w for _, w in used))
    return proof if proof.check(risk) else None
