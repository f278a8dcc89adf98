"""Small convex QPs drawn at random, and their optima in rationals by enumeration of active sets."""

from fractions import Fraction
from itertools import combinations
from math import inf

import numpy as np
from flint import fmpq, fmpq_mat

from dualgap.problems import ConvexQP

KINDS = ("plain", "degenerate", "unbounded", "infeasible", "rank_deficient", "badly_scaled")


def drawn(seed):
    """Return the kind and the arrays of a problem of 1 to 3 variables."""
    rng = np.random.default_rng([9, seed])
    kind, n = KINDS[seed % len(KINDS)], int(rng.integers(1, 4))

    def draw_integers(*shape):
        return rng.integers(-4, 5, shape).astype(float)

    rank = int(rng.integers(0, n)) if kind in ("rank_deficient", "unbounded") else n
    B = draw_integers(n, rank)
    P, q = B @ B.T, draw_integers(n)
    G, center = draw_integers(int(rng.integers(0, 4)), n), draw_integers(n) / 2
    h = G @ center + np.abs(draw_integers(len(G)))
    A = draw_integers(int(rng.integers(0, n)), n)
    b = A @ center
    lb, ub = (np.where(rng.random(n) < 0.5, inf, np.abs(draw_integers(n))) for _ in range(2))
    lb, ub = center - lb, center + ub
    if kind == "degenerate":  # rows again, equations as two inequalities, no room
        G = np.vstack([G, G, A, -A])
        h = np.concatenate([h, h, b, -b])
        A, b = np.vstack([A, A]), np.concatenate([b, b])
        ub = np.where(rng.random(n) < 0.3, lb, ub)
        lb, ub = np.where(np.isfinite(ub), lb, center - inf), np.where(ub == -inf, inf, ub)
    if kind == "infeasible" and len(G):
        G, h = np.vstack([G, -G[:1]]), np.append(h, -h[0] - 1)
    if kind == "badly_scaled":
        s, t = (2.0 ** rng.integers(-15, 16, size) for size in (n, len(G)))
        P, q, A = P * s[:, None] * s, q * s, A * s
        G, h = G * s * t[:, None], h * t
        lb, ub = lb / s, ub / s
    return kind, {"P": P, "q": q, "G": G, "h": h, "A": A, "b_eq": b, "lb": lb, "ub": ub}


def rational(value):
    return fmpq(*Fraction(float(value)).as_integer_ratio())


def optimum(arrays):
    """Return the least value and where it is; None if there is no feasible point, −inf if no least."""
    if (arrays["lb"] > arrays["ub"]).any():
        return None
    minimum = _rational_minimum(arrays)
    if minimum is None and _rational_minimum(arrays, feasibility=True) is not None:
        return -inf
    return minimum


def _rational_minimum(arrays, feasibility=False):
    P, q, A, b = ([rational(v) for v in np.ravel(arrays[name])] for name in ("P", "q", "A", "b_eq"))
    n, zero = len(q), fmpq(0)
    P, A = ([row[i : i + n] for i in range(0, len(row), n)] for row in (P, A))
    if feasibility:
        P, q = [[zero] * n for _ in range(n)], [zero] * n
    rows = [
        ([rational(v) for v in g], rational(h))
        for g, h in zip(arrays["G"], arrays["h"], strict=True)
    ]
    for j in range(n):
        unit = [fmpq(int(i == j)) for i in range(n)]
        if np.isfinite(arrays["lb"][j]):
            rows.append(([-v for v in unit], -rational(arrays["lb"][j])))
        if np.isfinite(arrays["ub"][j]):
            rows.append((unit, rational(arrays["ub"][j])))
    rows = list({str(row): row for row in rows}.values())
    for size in range(n + 1):
        for chosen in combinations(rows, size):
            W = A + [row for row, _ in chosen]
            sides = b + [side for _, side in chosen]
            system = [P[i] + [w[i] for w in W] + [-q[i]] for i in range(n)]
            system += [w + [zero] * len(W) + [side] for w, side in zip(W, sides, strict=True)]
            solution = _solution(system)
            if solution is None:
                continue
            x, z = solution[:n], solution[n + len(A) :]
            inside = all(_dot(row, x) <= side for row, side in rows)
            if inside and all(v >= 0 for v in z):
                value = sum((x[i] * _dot(P[i], x) for i in range(n)), zero) / 2 + _dot(q, x)
                return value, [float(v.p) / float(v.q) for v in x]
    return None


def _dot(a, b):
    return sum((u * v for u, v in zip(a, b, strict=True)), fmpq(0))


def _solution(system):
    reduced, rank = fmpq_mat(system).rref()
    columns = len(system[0]) - 1
    x, at = [fmpq(0)] * columns, 0
    for row in range(rank):
        while at <= columns and reduced[row, at] == 0:
            at += 1
        if at == columns:
            return None
        x[at] = reduced[row, columns]
    return x


def problem_of(arrays):
    n = len(arrays["q"])
    shaped = {k: v for k, v in arrays.items() if k not in ("G", "h", "A", "b_eq")}
    for matrix, side in (("G", "h"), ("A", "b_eq")):
        if len(arrays[matrix]):
            shaped |= {matrix: arrays[matrix].reshape(-1, n), side: arrays[side]}
    return ConvexQP(**shaped)
