"""Problems drawn at random, of few samples, every formulation and kernel, and the scales of data.

Problem `number` of a seed is the same however many are drawn before it: see `drawn`.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np
import scipy
from tests.differential.grouped import Grouped, Pinball
from tests.differential.kernel_drawing import KERNELS
from tests.differential.kernels import exact_gram, is_psd
from tests.differential.scales import SCALES, Rng, Sample, plain

from dualgap.problems import (
    SVDD,
    ChainMargin,
    Formulation,
    HardMarginDual,
    HardMarginPrimal,
    HingeERM,
    Kernel,
    Multiclass,
    NuSVC,
    NuSVR,
    OneClassSVM,
    OneVsOne,
    OneVsRest,
    RegularizedERM,
    SoftMarginDual,
    SoftMarginPrimal,
    SoftmaxERM,
    Spectrum,
    SVRDual,
    SVRPrimal,
    Vector,
)
from dualgap.problems.formulations.erm import WeightedERM
from dualgap.problems.formulations.softmax import Softmax
from dualgap.problems.losses import (
    EpsilonInsensitive,
    Hinge,
    Logistic,
    Loss,
    Perceptron,
    Squared,
    SquaredEpsilonInsensitive,
    SquaredHinge,
)


@dataclass(frozen=True)
class Drawn:
    """A problem with the words it is counted under."""

    number: int
    formulation: str
    kernel: str
    scale: str
    problem: Formulation


def drawn(seed: int, number: int) -> Drawn:
    """Return problem `number` of a seed; what a problem refuses, such as overflow, is drawn again."""
    rng = np.random.default_rng([seed, number])
    while True:
        problem = _draw(rng, number)
        if problem is not None:
            return problem


def _draw(rng: Rng, number: int) -> Drawn | None:
    sample, scale = plain(rng), str(rng.choice(list(SCALES)))
    formulation = str(rng.choice(list(FORMULATIONS), p=SHARES))
    drawing = FORMULATIONS[formulation]
    sample = sample.at(slice(drawing.max_samples))
    sample = replace(sample, **SCALES[scale](sample, rng))
    if rng.random() < 0.15:  # a second one, which the table does not name
        second = SCALES[str(rng.choice([name for name in SCALES if name != "extreme"]))]
        sample = replace(sample, **second(sample, rng))
    kernel = "linear" if drawing.is_linear else str(rng.choice(list(KERNELS)))
    with np.errstate(over="ignore", invalid="ignore"):
        try:
            instance = KERNELS[kernel](sample, rng)
            if kernel != "precomputed" and (scale == "wide and sparse" or rng.random() < 0.3):
                sample.X = scipy.sparse.csr_array(sample.X)
            problem = drawing.make(sample, instance, rng)
        except ValueError:
            return None
    risk = None if isinstance(problem, ChainMargin) else problem.parts[0].problem.risk
    if scale == "extreme" and risk is not None and isinstance(risk.loss, Logistic | Softmax):
        return None  # Newton's method adds one to a score in a step, and they go to hundreds
    if problem.may_be_infeasible and isinstance(instance, Spectrum) and instance.normalize:
        return None  # that roots cancel is not seen in balls
    may_be_zero = problem.may_be_infeasible or isinstance(problem, NuSVC | OneClassSVM | SVDD)
    if instance.is_psd is None and (risk is None or risk.terms is None or may_be_zero):
        K, error = exact_gram(problem.X, instance, 53)
        if error != 0 or not is_psd(K):
            return None  # its dual may have no largest value, or one that is 0 but for K's digits
    return Drawn(number, formulation, kernel, scale, problem)


def _epsilon(sample: Sample, rng: Rng) -> float:
    return float(rng.choice([0.0, 0.1, 1.0, 10.0])) * sample.unit


def _intercept(rng: Rng) -> bool:
    return bool(rng.random() < 0.65)


def _lam(sample: Sample) -> float:
    return 1.0 / (sample.n * float(np.max(sample.C)))


LOSSES: dict[str, Callable[[Sample, Rng], Loss]] = {
    "hinge": lambda s, rng: Hinge(),
    "squared_hinge": lambda s, rng: SquaredHinge(),
    "perceptron": lambda s, rng: Perceptron(),
    "squared": lambda s, rng: Squared(),
    "epsilon_insensitive": lambda s, rng: EpsilonInsensitive(_epsilon(s, rng)),
    "squared_epsilon_insensitive": lambda s, rng: SquaredEpsilonInsensitive(_epsilon(s, rng)),
    "logistic": lambda s, rng: Logistic(),
}
_SMOOTH = ("squared_hinge", "squared", "squared_epsilon_insensitive", "logistic")


def _risk(s: Sample, kernel: Kernel, rng: Rng, name: str = "") -> Formulation:
    """Return a risk of the loss of this name; of any smooth one, with weights, if there is none."""
    loss = LOSSES[name or str(rng.choice(list(_SMOOTH)))](s, rng)
    y = s.targets if loss.is_regression else s.labels
    if not name:
        return WeightedERM(s.X, y, s.C, loss, kernel, _intercept(rng))
    return RegularizedERM(s.X, y, _lam(s), loss, kernel, _intercept(rng))


def _grouped(s: Sample, kernel: Kernel, rng: Rng) -> Formulation:
    names: list[Loss] = [Hinge(), Perceptron(), EpsilonInsensitive(_epsilon(s, rng)), Pinball(0.25)]
    loss, C = names[int(rng.integers(len(names)))], float(np.max(s.C))
    y = s.targets if loss.is_regression else s.labels
    count = min(s.n, int(rng.integers(1, 3)))
    members = rng.permutation([*range(count), *rng.integers(-1, count, s.n - count)])
    low, high = loss.dual_range
    prices: list[float] = []
    for g in range(count):
        group_labels = y[members == g]
        ends = [(low, high) if loss.is_regression or v > 0 else (-high, -low) for v in group_labels]
        fraction = float(rng.choice([0.0, 0.25, 0.5]))
        side = sum(e[1] for e in ends) if rng.random() < 0.5 else sum(e[0] for e in ends)
        prices.append(fraction * C * float(side))
    return Grouped(s.X, y, C, tuple(members.tolist()), tuple(prices), loss, kernel)


def draw_nu(rng: Rng) -> float:
    """Return a nu: at the ends and between, and where nu·n is whole."""
    return float(rng.choice([1e-6, 0.25, 0.5, 2 / 3, 1.0, rng.uniform(0.01, 1.0)]))


def _nu_svc(s: Sample, kernel: Kernel, rng: Rng) -> Formulation:
    max_nu = 2 * min(int((s.labels > 0).sum()), int((s.labels < 0).sum())) / s.n
    return NuSVC(s.X, s.labels, max_nu * draw_nu(rng), kernel)


def _classes(s: Sample, rng: Rng) -> Vector:
    """Return as many classes as there are samples for, three at most, and each is there."""
    count = min(s.n, int(rng.integers(2, 4)))
    y = np.concatenate([np.arange(count), rng.integers(0, count, s.n - count)])
    return rng.permutation(y).astype(float)


def _several(s: Sample, kernel: Kernel, rng: Rng, strategy: type[Multiclass]) -> Formulation:
    loss = [Hinge(), SquaredHinge(), Logistic()][int(rng.integers(3))]
    C = s.C if isinstance(loss, Hinge) else float(np.max(s.C))
    return strategy(s.X, _classes(s, rng), C, kernel, _intercept(rng), loss)


def _chain(s: Sample, kernel: Kernel, rng: Rng) -> Formulation:
    length = int(rng.choice([k for k in range(1, s.n + 1) if s.n % k == 0]))
    return ChainMargin(s.X, _classes(s, rng), length, float(np.max(s.C)))


class Drawing(NamedTuple):
    """How a formulation is drawn.

    Attributes
    ----------
    max_samples : fewer where each has more states, classes or labellings. frequency : relative.
    """

    make: Callable[[Sample, Kernel, Rng], Formulation]
    max_samples: int = 5
    weight: int = 1
    is_linear: bool = False


FORMULATIONS = {
    "soft_margin_dual": Drawing(
        lambda s, k, rng: SoftMarginDual(s.X, s.labels, s.C, k, _intercept(rng)), weight=4
    ),
    "soft_margin_primal": Drawing(
        lambda s, k, rng: SoftMarginPrimal(s.X, s.labels, s.C, _intercept(rng)), is_linear=True
    ),
    "hard_margin_dual": Drawing(
        lambda s, k, rng: HardMarginDual(s.X, s.labels, k, _intercept(rng)), weight=2
    ),
    "hard_margin_primal": Drawing(
        lambda s, k, rng: HardMarginPrimal(s.X, s.labels, _intercept(rng)), is_linear=True
    ),
    "svr_dual": Drawing(
        lambda s, k, rng: SVRDual(s.X, s.targets, s.C, _epsilon(s, rng), k, _intercept(rng)), 4, 3
    ),
    "svr_primal": Drawing(
        lambda s, k, rng: SVRPrimal(s.X, s.targets, s.C, _epsilon(s, rng), _intercept(rng)),
        max_samples=4,
        is_linear=True,
    ),
    "hinge_erm": Drawing(
        lambda s, k, rng: HingeERM(s.X, s.labels, _lam(s), _intercept(rng)), is_linear=True
    ),
    "softmax_erm": Drawing(
        lambda s, k, rng: SoftmaxERM(s.X, _classes(s, rng), _lam(s)), is_linear=True
    ),
    "chain_margin": Drawing(_chain, max_samples=4, is_linear=True),
    "one_vs_rest": Drawing(partial(_several, strategy=OneVsRest)),
    "one_vs_one": Drawing(partial(_several, strategy=OneVsOne)),
    "weighted_erm": Drawing(_risk, max_samples=4),
    "grouped": Drawing(_grouped, max_samples=4),
    "one_class_svm": Drawing(lambda s, k, rng: OneClassSVM(s.X, draw_nu(rng), k)),
    "svdd": Drawing(lambda s, k, rng: SVDD(s.X, draw_nu(rng), k)),
    "nu_svc": Drawing(_nu_svc),
    "nu_svr": Drawing(lambda s, k, rng: NuSVR(s.X, s.targets, draw_nu(rng), s.C, k), max_samples=3),
    **{
        name: Drawing(partial(_risk, name=name), max_samples=4 if "epsilon" in name else 5)
        for name in LOSSES
    },
}
SHARES = np.array([float(kind_drawn.weight) for kind_drawn in FORMULATIONS.values()])
SHARES /= SHARES.sum()
