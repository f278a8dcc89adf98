"""Data sets by name: what is listed, said of each, and refused."""

import re

import numpy as np
import pytest

from dualgap.problems import datasets
from dualgap.problems.dataset import Dataset


@pytest.mark.parametrize(
    ("name", "option", "value"),
    [
        ("two_moons", "n", 1),
        ("two_moons", "n", 2.5),
        ("two_moons", "n", True),
        ("two_moons", "n", "10"),
        ("two_moons", "seed", None),
        ("two_moons", "seed", -1),
        ("two_moons", "noise", -0.1),
        ("two_moons", "noise", float("nan")),
        ("two_moons", "standardize", "yes"),
        ("two_moons", "limit", 0),
        ("two_moons", "positive", True),
        ("two_moons", "positive", float("nan")),
        ("two_moons", "test_size", 1.0),
        ("two_moons", "test_size", -0.1),
        ("two_gaussians", "imbalance", 0),
        ("classification", "informative", 21),
        ("classification", "flip", 1.5),
        ("friedman", "d", 4),
        ("separable", "margin", 0.0),
        ("sparse_classification", "density", 0.0),
        ("regression", "outliers", 2),
        ("iris", "n_features", 0),
    ],
)
def test_bad_value_is_refused_by_the_name_of_its_option(name, option, value):
    with pytest.raises(ValueError, match=f"^{option}: must be "):
        datasets.make(name, **{option: value})


def test_numpy_numbers_are_accepted():
    assert datasets.load("two_moons", n=np.int64(5), noise=np.float32(0.5)).n == 5


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("brest_cancer", {}, "dataset: unknown name 'brest_cancer'; did you mean 'breast_cancer'?"),
        ("two_moons", {"nois": 1}, "two_moons: unknown option 'nois'; did you mean 'noise'?"),
        ("a9a", {"zzz": 1}, "a9a: unknown option 'zzz'; accepted are standardize, limit, "),
        ("a9a", {"name": "w8a"}, "a9a: unknown option 'name'; "),
        ("libsvm_file", {}, "libsvm_file: needs the option 'path'"),
    ],
)
def test_unknown_and_missing_words_are_named(name, options, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
        datasets.make(name, **options)


def test_every_description_is_one_line():
    lines = {name: datasets.describe(name) for name in datasets.names()}
    assert all(line.startswith(f"{name}: ") and "\n" not in line for name, line in lines.items())


def test_sources_are_frozen_and_equal_by_value():
    source = datasets.make("two_moons", n=10)
    assert source == datasets.TwoMoons(n=10)
    with pytest.raises(AttributeError):
        source.n = 20


def test_load_gives_a_data_set_that_is_read_only():
    data = datasets.load("two_moons", n=10)
    assert isinstance(data, Dataset)
    assert not data.X.flags.writeable
