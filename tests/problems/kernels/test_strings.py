"""The spectrum kernel, against counts of common substrings."""

from collections import Counter

import numpy as np
import pytest
import scipy.sparse as sp

from dualgap.problems import Spectrum, encode_strings

rng = np.random.default_rng(4)
STRINGS = ["".join(rng.choice(list("ACGT"), rng.integers(0, 25))) for _ in range(20)] + [
    "",
    "A",
    "AAAAAA",
    "ACGT",
]
X = encode_strings(STRINGS)


@pytest.mark.parametrize("k", [1, 2, 3, 5, 30])
def test_the_spectrum_counts_common_substrings(k):
    counts = [Counter(s[i : i + k] for i in range(len(s) - k + 1)) for s in STRINGS]
    expected = [[sum(a[u] * b[u] for u in a) for b in counts] for a in counts]
    np.testing.assert_array_equal(Spectrum(k)(X, X), expected)
    sparse = sp.csr_array(X)
    np.testing.assert_array_equal(Spectrum(k)(sparse[:5], sparse), expected[:5])


def test_strings_are_encoded_by_their_letters():
    np.testing.assert_array_equal(encode_strings(["ba", ""], "abc", 3), [[2, 1, 0], [0, 0, 0]])


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Spectrum(0), "k: must be a whole number of 1 or more, got 0"),
        (lambda: Spectrum(2, normalize=1), "normalize: must be True or False"),
        (lambda: Spectrum(2).check(X - 1), "needs rows of letter numbers"),
        (lambda: Spectrum(2).check(0.5 * X), "needs rows of letter numbers .* got 1.5"),
        (lambda: Spectrum(2).check(X[:, ::-1]), "X: a string has a letter after its end"),
        (lambda: encode_strings(["abd"], "abc"), "alphabet: 'd' is not in 'abc'"),
        (lambda: encode_strings(["abd"], width=2), "width: must be at least 3"),
    ],
)
def test_an_invalid_string_is_refused_by_name(build, message):
    with pytest.raises(ValueError, match=message):
        build()
