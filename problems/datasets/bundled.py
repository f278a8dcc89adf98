"""Real data sets included in scikit-learn: nothing to download.

Labels are scikit-learn's numbers 0, 1, ...; `positive` also accepts the name of a class.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dualgap.problems.datasets.source import Raw, Source


@dataclass(frozen=True, kw_only=True)
class _Bundled(Source):
    kind: ClassVar[str] = "bundled"
    classes: ClassVar[int] = 2

    def read(self) -> Raw:
        """Read scikit-learn's copy by the loader of the same name."""
        import sklearn.datasets  # noqa: PLC0415 - slow to import

        bunch: Any = getattr(sklearn.datasets, f"load_{self.title()}")()
        names = np.asarray(bunch.get("target_names", ()))
        words = tuple(str(name) for name in names) if names.dtype.kind == "U" else ()
        X, y = np.asarray(bunch.data, dtype=np.float64), np.asarray(bunch.target)
        return Raw(X, y, words, tuple(bunch.feature_names))


@dataclass(frozen=True, kw_only=True)
class BreastCancer(_Bundled):
    """Breast cancer Wisconsin (diagnostic): 0 malignant, 1 benign, which becomes +1."""

    size: ClassVar[str] = "569 x 30"
    origin: ClassVar[str] = "scikit-learn, UCI CC BY 4.0"


@dataclass(frozen=True, kw_only=True)
class Digits(_Bundled):
    """Handwritten digits of 8 x 8 pixels, ten classes: needs `positive`."""

    size: ClassVar[str] = "1797 x 64"
    origin: ClassVar[str] = "scikit-learn, UCI CC BY 4.0, 10 classes"
    classes: ClassVar[int] = 10


@dataclass(frozen=True, kw_only=True)
class Wine(_Bundled):
    """Chemical analysis of wines, three classes: needs `positive`."""

    size: ClassVar[str] = "178 x 13"
    origin: ClassVar[str] = "scikit-learn, UCI CC BY 4.0, 3 classes"
    classes: ClassVar[int] = 3


@dataclass(frozen=True, kw_only=True)
class Iris(_Bundled):
    """Fisher's irises, three classes: needs `positive`."""

    size: ClassVar[str] = "150 x 4"
    origin: ClassVar[str] = "scikit-learn, UCI CC BY 4.0, 3 classes"
    classes: ClassVar[int] = 3


@dataclass(frozen=True, kw_only=True)
class Diabetes(_Bundled):
    """Progression of diabetes after one year (regression; Efron et al., 2004)."""

    task: ClassVar = "regression"
    size: ClassVar[str] = "442 x 10"
    origin: ClassVar[str] = "scikit-learn, Efron et al. 2004"
