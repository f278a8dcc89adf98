"""The Fisher kernel, against the gradient of the likelihood by differences."""

import numpy as np
import pytest
from sklearn.mixture import GaussianMixture

from dualgap.problems import Fisher, FittedFisher, SoftMarginDual, Subset, datasets
from dualgap.solvers import SMO, solve

rng = np.random.default_rng(4)


def test_a_fisher_vector_is_the_gradient_of_the_log_likelihood():
    X = np.vstack([rng.standard_normal((60, 3)), 2 + 0.5 * rng.standard_normal((40, 3))])
    kernel = Fisher(2, seed=1).fit(X)
    weights, means = np.array(kernel.weights), np.array(kernel.means)
    widths = np.sqrt(kernel.variances)
    step = 1e-5

    def log_likelihood(logits, means, widths):
        mixture = GaussianMixture(2, covariance_type="diag")
        mixture.weights_ = np.exp(logits) / np.exp(logits).sum()
        mixture.means_, mixture.covariances_ = means, widths**2
        mixture.precisions_cholesky_ = 1 / widths
        return mixture.score_samples(X[:10])

    def gradient(which, shape):
        parts = []
        for index in np.ndindex(shape):
            values = []
            for sign in (1, -1):
                at = [np.log(weights), means.copy(), widths.copy()]
                at[which][index] += sign * step
                values.append(log_likelihood(*at))
            parts.append((values[0] - values[1]) / (2 * step))
        return np.array(parts).T.reshape(10, *shape)

    scaled_widths = widths / np.sqrt(weights)[:, None]
    expected = [
        gradient(0, (2,)) / np.sqrt(weights),
        gradient(1, (2, 3)) * scaled_widths,
        gradient(2, (2, 3)) * scaled_widths / np.sqrt(2),
    ]
    phi = np.hstack([part.reshape(10, -1) for part in expected])
    np.testing.assert_allclose(kernel.features(X[:10]), phi, rtol=1e-6, atol=1e-7)


def test_fishers_metric_makes_the_scores_of_distant_components_white():
    components = np.array([[-50.0, 0.0], [50.0, 20.0]])
    which = rng.random(200_000) < 0.3
    scale = np.where(which[:, None], [2.0, 0.5], [1.0, 3.0])
    X = components[which.astype(int)] + scale * rng.standard_normal((200_000, 2))
    variances = ((1.0, 9.0), (4.0, 0.25))
    phi = FittedFisher((0.7, 0.3), tuple(map(tuple, components.tolist())), variances).features(X)
    covariance = phi.T @ phi / 200_000
    np.testing.assert_allclose(covariance[2:, 2:], np.eye(8), atol=0.06)
    # the two logits are one parameter: their part of the metric has rank one
    np.testing.assert_allclose(np.linalg.eigvalsh(covariance[:2, :2]), [0, 1], atol=0.06)


def test_a_formulation_fits_the_fisher_kernel_once_to_its_samples():
    data = datasets.load("two_moons", n=120)
    problem = SoftMarginDual(data.X, data.y, 1.0, Fisher(4) + Subset(Fisher(2), (1,)))
    fitted = Fisher(4).fit(data.X) + Subset(Fisher(2).fit(data.X[:, [1]]), (1,))
    assert problem.kernel == fitted
    again = SoftMarginDual(data.X, data.y, 1.0, Fisher(4) + Subset(Fisher(2), (1,)))
    assert again.hash == problem.hash
    rows = np.array([5, 50])
    np.testing.assert_array_equal(
        Fisher(4).bind(data.X).cross(data.X[:3], rows), fitted.left(data.X[:3], data.X[rows])
    )
    solution = solve(problem, SMO(tol=1e-6))
    assert solution.verdict == "solved"
    assert np.mean(solution.decision_function(data.X) * data.y > 0) > 0.9


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Fisher(0), "components: must be a whole number of 1 or more"),
        (
            lambda: SoftMarginDual(np.eye(2), [1, -1], kernel=Fisher(3)),
            "components: must be at most 2",
        ),
        (lambda: Fisher()(np.eye(3), np.eye(3)), "Fisher is not fitted to training samples yet"),
        (lambda: Fisher().fit(np.eye(4)).check(np.eye(3)), "X: has 3 features, but the mixture 4"),
    ],
)
def test_a_bad_setting_is_refused_by_name(build, message):
    with pytest.raises(ValueError, match=message):
        build()
