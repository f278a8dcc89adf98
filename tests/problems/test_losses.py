"""Losses: their conjugates, derivatives and steps against the definitions."""

import numpy as np
import pytest
from flint import arb, ctx
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from dualgap.problems.arithmetic import Balls, Intervals
from dualgap.problems.losses import (
    LOSSES,
    EpsilonInsensitive,
    Hinge,
    Logistic,
    Perceptron,
    Squared,
    SquaredEpsilonInsensitive,
    SquaredHinge,
)

SCALAR = {
    "hinge": Hinge(),
    "squared_hinge": SquaredHinge(),
    "logistic": Logistic(),
    "perceptron": Perceptron(),
    "squared": Squared(),
    "epsilon_insensitive": EpsilonInsensitive(0.3),
    "squared_epsilon_insensitive": SquaredEpsilonInsensitive(0.3),
}
SMOOTH = {name: loss for name, loss in SCALAR.items() if loss.is_smooth}
moderate = st.floats(-20.0, 20.0)


def one(value):
    return np.array([float(value)])


def target(loss, y):
    return one(y if loss.is_regression else (1.0 if y >= 0 else -1.0))


def inside(loss, y, ratio):
    """A slope s at which the conjugate is finite, for a share in (0, 1)."""
    if isinstance(loss, (SquaredHinge, Hinge, Perceptron, Logistic)):
        reach = 4.0 if isinstance(loss, SquaredHinge) else 1.0
        return -y * reach * ratio
    reach = 1.0 if isinstance(loss, EpsilonInsensitive) else 4.0
    return one(reach * (2 * ratio - 1))


def test_every_loss_is_registered_by_its_name():
    assert set(SCALAR) == set(LOSSES)
    assert all(LOSSES[name] is type(loss) for name, loss in SCALAR.items())


FORMULAS = {
    "hinge": lambda y, f: np.maximum(0, 1 - y * f),
    "squared_hinge": lambda y, f: np.maximum(0, 1 - y * f) ** 2,
    "logistic": lambda y, f: np.log(1 + np.exp(-y * f)),
    "perceptron": lambda y, f: np.maximum(0, -y * f),
    "squared": lambda y, f: 0.5 * (y - f) ** 2,
    "epsilon_insensitive": lambda y, f: np.maximum(0, np.abs(y - f) - 0.3),
    "squared_epsilon_insensitive": lambda y, f: np.maximum(0, np.abs(y - f) - 0.3) ** 2,
}


@pytest.mark.parametrize("name", SCALAR)
def test_the_value_is_the_formula_of_the_notes(name):
    y = np.repeat([-1.0, 1.0], 50)
    f = np.tile(np.linspace(-3, 3, 50), 2)
    assert np.allclose(SCALAR[name].value(y, f), FORMULAS[name](y, f), rtol=1e-14, atol=1e-15)


@pytest.mark.parametrize("name", SCALAR)
@given(y=moderate, ratio=st.floats(0.01, 0.99))
def test_the_conjugate_is_the_legendre_transform(name, y, ratio):
    loss = SCALAR[name]
    y = target(loss, y)
    s = inside(loss, y, ratio)

    def below(f):
        return float((loss.value(y, one(f)) - s * f)[0])

    lowest = minimize_scalar(below, bounds=(-60, 60), method="bounded", options={"xatol": 1e-10})
    kinks = [y[0] - 0.3, y[0] + 0.3, y[0], 1.0, -1.0, 0.0]
    supremum = -min(lowest.fun, *map(below, kinks))
    assert loss.conjugate(y, s)[0] == pytest.approx(supremum, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("name", SCALAR)
@given(y=moderate, f=moderate, ratio=st.floats(0.0, 1.0))
def test_fenchel_and_youngs_inequality_is_tight_at_the_subgradient(name, y, f, ratio):
    loss = SCALAR[name]
    y, f = target(loss, y), one(f)
    anywhere = (
        loss.value(y, f) + loss.conjugate(y, inside(loss, y, ratio)) - inside(loss, y, ratio) * f
    )
    g = loss.subgradient(y, f)
    at_slope = loss.value(y, f) + loss.conjugate(y, g) - g * f
    assert anywhere[0] >= -1e-9
    assert abs(at_slope[0]) <= 1e-9 * (1 + float((g * f)[0]) ** 2)


@pytest.mark.parametrize("name", ["hinge", "perceptron", "epsilon_insensitive"])
@given(y=moderate, ratio=st.floats(0.01, 0.99))
def test_fenchel_young_is_tight_at_the_kink_for_any_coefficient(name, y, ratio):
    loss = SCALAR[name]
    y = target(loss, y)
    s = inside(loss, y, ratio)
    f = np.where(-s > 0, *loss.kinks(y))  # β = −C·s
    assert abs((loss.value(y, f) + loss.conjugate(y, s) - s * f)[0]) <= 1e-12 * (
        1 + float(abs(f[0]))
    )


@pytest.mark.parametrize("name", SCALAR)
def test_the_conjugate_is_infinite_outside_its_domain(name):
    loss, y = SCALAR[name], one(1.0)
    outside = {"squared": [], "squared_epsilon_insensitive": [], "squared_hinge": [0.1]}
    either = [-1.1, 1.1] if loss.is_regression else [0.1, -1.1]
    assert not any(loss.in_domain(y, one(s)).any() for s in outside.get(name, either))


@pytest.mark.parametrize("name", SMOOTH)
@given(y=moderate, f=moderate)
def test_derivatives_match_differences(name, y, f):
    loss, h = SMOOTH[name], 1e-5
    y, f = target(loss, y), one(f)
    slope = (loss.value(y, f + h) - loss.value(y, f - h)) / (2 * h)
    assert loss.subgradient(y, f)[0] == pytest.approx(slope[0], rel=1e-6, abs=2e-5)
    bends = [(loss.subgradient(y, f + e) - loss.subgradient(y, f))[0] / e for e in (h, -h)]
    assert any(loss.curvature(y, f)[0] == pytest.approx(bend, abs=1e-4) for bend in bends)
    assert loss.curvature(y, f)[0] <= loss.smoothness * (1 + 1e-12)


@pytest.mark.parametrize("name", SCALAR)
@given(y=moderate, m=moderate, t=st.floats(0.0, 1e6))
def test_the_dual_step_solves_its_inclusion(name, y, m, t):
    """−s is a subgradient at f = m + t·s: Fenchel-Young is tight there."""
    loss = SCALAR[name]
    y, m = target(loss, y), one(m)
    s = loss.dual_step(y, m, one(t))
    f = m + t * s
    tight = loss.value(y, f) + loss.conjugate(y, -s) + s * f
    assert abs(tight[0]) <= 1e-12 * (1 + t) * (1 + float(abs(s[0]))) * (1 + float(abs(f[0])))


def test_the_logistic_loss_neither_overflows_nor_vanishes():
    y, f = np.array([1.0, 1.0, -1.0]), np.array([-1e4, 1e4, 40.0])
    assert np.array_equal(Logistic().value(y, f), [1e4, 0.0, 40.0])
    assert np.isfinite(Logistic().dual_step(y, f, np.array([1e12, 0.0, 1e-12]))).all()


def test_a_bad_tube_is_refused():
    with pytest.raises(ValueError, match="epsilon: must be"):
        EpsilonInsensitive(-1.0)


@pytest.mark.parametrize("name", SCALAR)
@given(y=moderate, f=moderate, ratio=st.floats(0.01, 0.99), wrong=st.sampled_from([0.0, 1e-9, 0.1]))
def test_every_arithmetic_holds_the_value_and_the_conjugate(name, y, f, ratio, wrong):
    loss = SCALAR[name]
    label, f = target(loss, y), one(f)
    s = inside(loss, label, ratio)
    for function, at in ((loss.value, f), (loss.conjugate, s)):
        value, held = function(label, at)[0], function(label, Intervals(at, wrong * abs(s)))
        with ctx.workprec(200):
            ball = function(Balls(label), Balls(at)).item()
            assert float(ball.rad()) <= 1e-30 * max(1.0, abs(value))
            assert float(ball.mid()) == pytest.approx(value, rel=1e-10, abs=1e-12)
            assert arb(float(held.mid[0]), float(held.rad[0])).contains(ball)
        assert held.rad[0] <= 1e-13 * (1 + abs(value)) or wrong
