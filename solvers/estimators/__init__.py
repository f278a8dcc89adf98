"""Support vector machines as scikit-learn knows them, solved and certified by this package.

    from dualgap.solvers.estimators import SVC, SVR, LinearSVC, LinearSVR, NuSVC, NuSVR, OneClassSVM

They take scikit-learn's parameters and have its attributes, and more: `certificate_` says what the
answer is worth, `solver=` is a `Solver` or its name, `callback=` sees certified progress. scikit-learn
is imported with the first of them, and not by `import dualgap.solvers`.

`SVC`, `SVR`   the dual with any kernel and an unregularised intercept: up to 1000 samples by the whole
               Gram matrix, above by SMO, or by dual coordinate descent where the kernel is linear
`NuSVC`, `NuSVR`, `OneClassSVM`   with nu in place of C, of epsilon, of labels; likewise, but by SMO
`LinearSVC`, `LinearSVR`   weights w with an intercept that is regularised (one more feature, which is
               constant) or, with intercept_scaling=inf, not; dual coordinate descent, and Newton's
               method for squared losses; near rows for Dask's collections and `Blocks`
`CertifiedSVCCV`   `SVC` with the best C of an interval, by cross-validation at every C

Weights of classes and of samples multiply C. Samples of weight 0 are left out before anything else.
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
    """Import the estimators when one is asked for."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    room = "linear" if name.startswith("Linear") else "classes"
    room = "cross_validated" if name == "CertifiedSVCCV" else room
    return getattr(importlib.import_module(f"{__name__}.{room}"), name)
