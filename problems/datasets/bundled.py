"""Real data sets that come with scikit-learn: nothing to download.

Labels are scikit-learn's numbers 0, 1, ...; `positive` also takes the name of a class.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from problems.datasets.source import Raw, Source


@dataclass(frozen=True, kw_only=True)
class BreastCancer(Source):
    """Breast cancer Wisconsin (diagnostic): 0 malignant, 1 benign, which becomes +1."""

    size: ClassVar[str] = "569 x 30"
    kind: ClassVar[str] = "bundled"
    origin: ClassVar[str] = "scikit-learn, UCI CC BY 4.0"

    def read(self) -> Raw:
        """Read scikit-learn's copy."""
        return _bundled("load_breast_cancer")


@dataclass(frozen=True, kw_only=True)
class Digits(Source):
    """Handwritten digits of 8 x 8 pixels, ten classes: needs `positive`."""

    size: ClassVar[str] = "1797 x 64"
    kind: ClassVar[str] = "bundled"
    origin: ClassVar[str] = "scikit-learn, UCI CC BY 4.0, 10 classes"

    def read(self) -> Raw:
        """Read scikit-learn's copy."""
        return _bundled("load_digits")


@dataclass(frozen=True, kw_only=True)
class Wine(Source):
    """Chemical analysis of wines, three classes: needs `positive`."""

    size: ClassVar[str] = "178 x 13"
    kind: ClassVar[str] = "bundled"
    origin: ClassVar[str] = "scikit-learn, UCI CC BY 4.0, 3 classes"

    def read(self) -> Raw:
        """Read scikit-learn's copy."""
        return _bundled("load_wine")


@dataclass(frozen=True, kw_only=True)
class Iris(Source):
    """Fisher's irises, three classes: needs `positive`."""

    size: ClassVar[str] = "150 x 4"
    kind: ClassVar[str] = "bundled"
    origin: ClassVar[str] = "scikit-learn, UCI CC BY 4.0, 3 classes"

    def read(self) -> Raw:
        """Read scikit-learn's copy."""
        return _bundled("load_iris")


@dataclass(frozen=True, kw_only=True)
class Diabetes(Source):
    """Progression of diabetes after one year (regression; Efron et al., 2004)."""

    task: ClassVar = "regression"
    size: ClassVar[str] = "442 x 10"
    kind: ClassVar[str] = "bundled"
    origin: ClassVar[str] = "scikit-learn, Efron et al. 2004"

    def read(self) -> Raw:
        """Read scikit-learn's copy."""
        return _bundled("load_diabetes")


def _bundled(loader: str) -> Raw:
    import sklearn.datasets  # noqa: PLC0415 - slow to import

    bunch: Any = getattr(sklearn.datasets, loader)()
    names = np.asarray(bunch.get("target_names", ()))
    words = tuple(str(name) for name in names) if names.dtype.kind == "U" else ()
    return Raw(np.asarray(bunch.data, dtype=np.float64), np.asarray(bunch.target), words)
