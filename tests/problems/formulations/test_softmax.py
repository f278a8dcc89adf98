"""The softmax loss and its risk: against the definitions, and the logistic loss for two classes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dualgap.problems import ERM, Point, SoftmaxERM, certify, describe, reduce
from dualgap.problems.formulations.softmax import Softmax, probabilities, project_to_simplex
from dualgap.problems.losses import Logistic

rng = np.random.default_rng(0)
X = rng.standard_normal((30, 3))
Y = np.where(X[:, 0] + rng.standard_normal(30) > 0, 1.0, -1.0)
TARGETS = X @ [1.0, -2.0, 0.5] + 2.0 + 0.3 * rng.standard_normal(30)
CLASSES = np.digitize(TARGETS, [1.0, 3.0])
LAM, N = 0.05, 30
C = 1 / (N * LAM)
SOFTMAX = SoftmaxERM(X, CLASSES, LAM)


@given(seed=st.integers(0, 1000))
def test_the_bounds_of_softmax_are_the_definitions(seed):
    local = np.random.default_rng(seed)
    p = probabilities(local.standard_normal((N, 3)))
    alpha, w = C * (np.eye(3)[CLASSES] - p), local.standard_normal((3, 3))
    c = certify(SOFTMAX, Point(alpha, w))
    scores = X @ w
    odds = np.exp(scores - scores.max(axis=1, keepdims=True))
    losses = -np.log(odds[np.arange(N), CLASSES] / odds.sum(axis=1))
    dual = -0.5 * ((X.T @ alpha) ** 2).sum() - C * (p * np.log(p)).sum()
    assert c.primal_objective == pytest.approx(0.5 * (w**2).sum() + C * losses.sum())
    assert c.dual_objective == pytest.approx(dual)
    assert c.point.alpha.shape == (N, 3)
    assert np.allclose(c.point.alpha, alpha)


def test_softmax_variables_off_the_simplex_are_projected():
    c = certify(SOFTMAX, Point(np.ones((N, 3))))
    p = np.eye(3)[CLASSES] - c.point.alpha / C
    assert c.projection_distance > 0
    assert c.primal_residual > 0
    assert np.isfinite(c.dual_objective)
    assert np.allclose(p.sum(axis=1), 1.0)
    assert (p >= -1e-15).all()


def test_softmax_points_have_a_geometry():
    c = certify(SOFTMAX, Point(w=rng.standard_normal((3, 3))))
    geometry = describe(SOFTMAX, c)
    assert geometry.decision.shape == geometry.decision_function(X).shape == (N, 3)
    assert set(geometry.kinds) <= {"zero", "free", "bounded"}
    with pytest.raises(ValueError, match="not separated by a single hyperplane"):
        _ = geometry.distances


@pytest.mark.parametrize("y", [Y, TARGETS, np.zeros(N)])
def test_softmax_classes_are_counted_from_zero(y):
    with pytest.raises(ValueError, match="y: classes must be 0, 1"):
        SoftmaxERM(X, y, LAM)


def test_a_softmax_point_of_the_wrong_size_is_refused():
    with pytest.raises(ValueError, match="w: has 3 entries, expected 9"):
        certify(SOFTMAX, Point(w=np.ones(3)))


def test_it_has_an_erm_form():
    form = reduce(SOFTMAX, ERM).form
    assert np.allclose(form.C, C)
    assert form.loss == SOFTMAX.loss


SCORES = np.random.default_rng(0).normal(0, 3, (40, 4))


SCORED = np.arange(40) % 4 + 0.0


def test_softmax_of_two_classes_is_the_logistic_loss():
    f = SCORES[:, 0]
    pair, y = np.column_stack([np.zeros(40), f]), (SCORED > 1).astype(float)
    assert np.allclose(Softmax(2).value(y, pair), Logistic().value(2 * y - 1, f), rtol=1e-13)


def test_softmax_meets_fenchel_and_young():
    loss = Softmax(4)
    g = loss.subgradient(SCORED, SCORES)
    tight = loss.value(SCORED, SCORES) + loss.conjugate(SCORED, g) - (g * SCORES).sum(axis=1)
    other = probabilities(SCORES[::-1]) - loss.unit(SCORED)
    loose = loss.value(SCORED, SCORES) + loss.conjugate(SCORED, other)
    assert np.abs(tight).max() <= 1e-13
    assert (loose >= (other * SCORES).sum(axis=1)).all()
    assert loss.in_domain(SCORED, g).all()
    assert not loss.in_domain(SCORED, g + 0.1).any()


def test_softmax_curvature_matches_differences():
    loss, v, h = Softmax(4), SCORES[::-1], 1e-6
    slopes = [loss.subgradient(SCORED, SCORES + e * v) for e in (h, -h)]
    bend = (slopes[0] - slopes[1]) / (2 * h)
    assert np.allclose(loss.curvature_times(SCORED, SCORES, v), bend, atol=1e-8)


def test_the_projection_onto_the_simplex_is_nearest():
    p = project_to_simplex(SCORES)
    assert np.allclose(p.sum(axis=1), 1.0)
    assert (p >= 0).all()
    alternatives = probabilities(np.random.default_rng(1).normal(0, 3, (200, 4)))
    nearest = ((SCORES[:, None] - alternatives) ** 2).sum(axis=2).min(axis=1)
    assert (((SCORES - p) ** 2).sum(axis=1) <= nearest + 1e-12).all()
    assert np.allclose(project_to_simplex(p), p)
