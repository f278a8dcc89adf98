"""Real data sets of scikit-learn, and which of their labels becomes +1."""

import pytest

from dualgap.problems import datasets
from dualgap.problems.dataset import check_labels

BUNDLED = [name for name in datasets.names() if ": bundled" in datasets.describe(name)]
POSITIVE = {"digits": 3, "wine": 0, "iris": "virginica"}


@pytest.mark.parametrize("name", BUNDLED)
def test_a_bundled_set_has_the_shape_in_its_description(name):
    data = datasets.load(name, positive=POSITIVE.get(name))
    assert f"{data.n} x {data.d}" in datasets.describe(name)
    assert data.name == name
    if name != "diabetes":
        check_labels(data.y, data.n)


def test_breast_cancer_maps_the_larger_label_to_plus_one():
    assert (datasets.load("breast_cancer").y == 1).sum() == 357
    assert (datasets.load("breast_cancer", positive="malignant").y == 1).sum() == 212
    assert (datasets.load("breast_cancer", positive=0).y == 1).sum() == 212


def test_more_than_two_classes_need_positive():
    with pytest.raises(ValueError, match=r"^positive: .*3 classes \(0 = setosa, 1 = vers.*becomes"):
        datasets.load("iris")
    with pytest.raises(ValueError, match=r"^positive: .*10 classes \(0, 1, 2"):
        datasets.load("digits")


@pytest.mark.parametrize("positive", [7, "rose", -1.0])
def test_positive_must_be_one_of_the_labels(positive):
    with pytest.raises(ValueError, match=r"^positive: .* is not a label; the labels are 0 = set"):
        datasets.load("iris", positive=positive)


def test_regression_refuses_positive():
    with pytest.raises(ValueError, match=r"^positive: diabetes is a regression data set"):
        datasets.make("diabetes", positive=1)


def test_features_and_classes_have_names():
    names = datasets.load("wine", positive="class_0", standardize=True).names
    assert names.features[:2] == ("alcohol, standardized", "malic_acid, standardized")
    assert names.classes == ("not class_0", "class_0")
    assert datasets.load("iris", multiclass=True).names.classes == (
        "setosa",
        "versicolor",
        "virginica",
    )
    assert datasets.load("diabetes").names.classes == ()
