"""Drop-in replacements of scikit-learn's support vector machines, solved and certified here.

    from dualgap.solvers.estimators import SVC, SVR, LinearSVC, LinearSVR, NuSVC, NuSVR, OneClassSVM

They have scikit-learn's parameters and attributes, and more: `certificate_` has bounds on the optimum,
`solver=` is a `Solver` or its name, `callback=` receives certified progress. scikit-learn is imported
with the first of them, not by `import dualgap.solvers`.

`SVC`, `SVR`   the dual with any kernel and an unregularised intercept: up to 1000 samples with the full
               Gram matrix, for more by SMO, or dual coordinate descent if the kernel is linear
`NuSVC`, `NuSVR`, `OneClassSVM`   with nu instead of C, epsilon or labels; above 1000 samples by SMO
`LinearSVC`, `LinearSVR`   weights w with an intercept that is regularised (one more constant feature)
               or, with intercept_scaling=inf, not; dual coordinate descent, and Newton's method for
               squared losses; near rows for Dask collections and `Blocks`
`CertifiedSVCCV`   `SVC` with the best C of an interval, by cross-validation at every C

Class and sample weights multiply C. Samples of weight 0 are left out first.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dualgap.solvers.estimators.classes import SVC, SVR, NuSVC, NuSVR, OneClassSVM
    from dualgap.solvers.estimators.cross_validated import CertifiedSVCCV
    from dualgap.solvers.estimators.linear import LinearSVC, LinearSVR

__all__ = [
    "SVC",
    "SVR",
    "CertifiedSVCCV",
    "LinearSVC",
    "LinearSVR",
    "NuSVC",
    "NuSVR",
    "OneClassSVM",
]


def __getattr__(name: str) -> Any:
    """Import an estimator on access."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = "linear" if name.startswith("Linear") else "classes"
    module = "cross_validated" if name == "CertifiedSVCCV" else module
    return getattr(importlib.import_module(f"{__name__}.{module}"), name)
