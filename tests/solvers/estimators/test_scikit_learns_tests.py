"""scikit-learn's own tests of its support vector machines, run with the classes of this package.

Those that fail are in `experiments/docs/reference/scikit_learn_tests.csv`, each with its reason, and are
expected to fail: the page of the documentation on the estimators shows that list. A test that comes to
pass, or is no longer there, has to leave it.
"""

import csv
import importlib.util
import re
from pathlib import Path
from types import ModuleType
from unittest import mock

import pytest
import sklearn.svm

from dualgap import experiments
from dualgap.solvers import estimators

MODULES = ("test_svm", "test_sparse", "test_bounds")
LIST = Path(experiments.__file__).parent / "docs" / "reference" / "scikit_learn_tests.csv"
with LIST.open(newline="", encoding="utf-8") as file:
    ROWS = list(csv.DictReader(file))
# "…" in a name stands for any text
EXCEPTIONS = [
    (re.compile(re.escape(name).replace("…", ".*")), row["reason"])
    for row in ROWS
    for name in row["tests"].split()
]
OURS = {
    name: getattr(estimators, name) for name in estimators.__all__ if hasattr(sklearn.svm, name)
}

# scikit-learn's tests expect warnings of their own, and were written to run with others
pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.exhaustive]


def with_our_classes(name: str) -> ModuleType:
    """Return a copy of one of scikit-learn's test modules in which our classes replace theirs."""
    spec = importlib.util.find_spec(f"sklearn.svm.tests.{name}")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    with mock.patch.multiple(sklearn.svm, **OURS):
        spec.loader.exec_module(module)
        ours = ModuleType("sklearn.svm")
        ours.__dict__.update(vars(sklearn.svm))
    if hasattr(module, "svm"):
        module.svm = ours
    return module


def listed(mark: pytest.Mark) -> pytest.Mark:
    """Return a mark whose arguments are lists: pytest warns of the iterators that scikit-learn gives."""
    if mark.name != "parametrize":
        return mark
    names, values = mark.args
    return pytest.mark.parametrize(names, list(values), **mark.kwargs).mark


for _module in map(with_our_classes, MODULES):
    for _name, _test in vars(_module).items():
        if _name.startswith("test_") and callable(_test):
            if hasattr(_test, "pytestmark"):
                _test.pytestmark = list(map(listed, _test.pytestmark))
            _of = _module.__name__.rsplit("_", 1)[-1]
            globals()[f"test_of_{_of}_{_name.removeprefix('test_')}"] = _test


@pytest.fixture
def global_random_seed() -> int:
    """The seed that scikit-learn's own runs use by default."""
    return 42


@pytest.fixture(autouse=True)
def _expected_failures(request: pytest.FixtureRequest) -> None:
    for pattern, reason in EXCEPTIONS:
        if pattern.fullmatch(request.node.name):
            request.applymarker(pytest.mark.xfail(reason=reason, strict=True))


def test_each_expected_failure_names_an_existing_test(request: pytest.FixtureRequest) -> None:
    names = [item.name for item in request.session.items]
    for pattern, reason in EXCEPTIONS:
        assert any(pattern.fullmatch(name) for name in names), reason
