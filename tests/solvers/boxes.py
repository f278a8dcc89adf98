"""Box and kernel QPs with shifted boxes, and equalities of every shape, for solvers that take them."""

import numpy as np

from dualgap.problems import BoxQP, KernelQP, Linear
from dualgap.problems.gram.gram import Gram, SignedGram

SHAPES = (
    "no equality",
    "signs, from 0",
    "signs",
    "any coefficients",
    "a coefficient of 0",
    "two equalities",
    "two equalities and some in none",
)


KERNEL_SHAPES = ("no equality", "one equality", *SHAPES[-2:])


def shifted_kernel_qp(shape: str, d: int, seed: int, n: int = 30) -> KernelQP:
    """Return a kernel QP with sums ≠ 0, some lo > 0, eps > 0 where lo ≤ 0 ≤ hi, and K of rank d."""
    rng = np.random.default_rng(seed)
    lo = rng.uniform(-3, 1, n)
    hi = lo + rng.uniform(0.0, 4, n)
    eps = np.where((lo <= 0) & (hi >= 0), rng.choice([0.0, 0.3], n), 0.0)
    groups = np.arange(n) % 2 if shape.startswith("two") else np.zeros(n, np.intp)
    groups[5:8] = -1 if "none" in shape else groups[5:8]
    sums = np.bincount(groups + 1, rng.uniform(lo, hi))[1:]
    X = rng.standard_normal((n, d))
    X[:2] = 0.0
    several = groups if sums.size > 1 else None
    sums = np.zeros(0) if shape == "no equality" else sums
    return KernelQP(Gram(X, Linear()), rng.standard_normal(n), eps, lo, hi, sums, several)


def shifted_box(shape: str, d: int, seed: int, n: int = 30) -> BoxQP:
    """Return a box QP with delta ≠ 0, lb ≠ 0 but "from 0", and a Q of rank d, two of its rows 0."""
    rng = np.random.default_rng(seed)
    lb = np.zeros(n) if shape == "signs, from 0" else rng.uniform(-3, 1, n)
    ub = lb + rng.uniform(0.0, 4, n)
    a = rng.choice([-1.0, 1.0], n)
    if shape in ("any coefficients", "a coefficient of 0", "two equalities and some in none"):
        a *= rng.uniform(0.2, 3, n)
        a[0] *= shape != "a coefficient of 0"
    groups = np.arange(n) % 2 if shape.startswith("two") else np.zeros(n, np.intp)
    groups[5:8] = -1 if "none" in shape else groups[5:8]
    delta = np.bincount(groups + 1, a * rng.uniform(lb, ub))[1:]
    X = rng.standard_normal((n, d))
    X[:2] = 0.0
    Q, p = SignedGram(Gram(X, Linear()), rng.choice([-1.0, 1.0], n)), rng.standard_normal(n)
    if shape == "no equality":
        return BoxQP(Q, p, None, None, np.zeros(0), lb, ub)
    return BoxQP(Q, p, a, groups if delta.size > 1 else None, delta, lb, ub)
