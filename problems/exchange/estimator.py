"""scikit-learn estimators saved by skops: `skops.io.dump(model, "model.skops")`.

Unlike a pickle such a file cannot run code: skops only builds known types, and names those it refuses.
"""

import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from dualgap.problems.dataset import Vector
from dualgap.problems.exchange.words import quote
from dualgap.problems.formulations.formulation import SampleProblem
from dualgap.problems.formulations.nu.nu_svc import NuSVC
from dualgap.problems.kernels import as_dense


def read_estimator(path: Path, limit_bytes: int, problem: SampleProblem) -> dict[str, Vector]:
    """Return coefs and index, or w, and b of an estimator such as SVC, SVR, LinearSVC or SGDClassifier.

    LIBSVM divides the answer to ν-SVC by ρ; for a `NuSVC` it is multiplied by ρ again.

    Raises
    ------
    ValueError
        If the file unpacks to more than `limit_bytes`, or is not such an estimator of two classes.
    """
    try:
        from skops.io import load  # noqa: PLC0415 - optional
    except ImportError:
        raise ValueError("needs skops: pip install skops") from None
    try:
        with zipfile.ZipFile(path) as archive:
            size = sum(info.file_size for info in archive.infolist())
        if size > limit_bytes:
            raise ValueError(f"unpacks to {size} bytes, expected at most {limit_bytes}")
        model: Any = load(path)
        if list(getattr(model, "classes_", [-1, 1])) not in ([-1, 1], [0, 1]):
            raise ValueError(f"its classes are {quote(model.classes_)}, expected -1 and +1")
        parts = {"b": model.intercept_}
        if hasattr(model, "support_"):
            coefs, rho = as_dense(model.dual_coef_), 1.0
            if isinstance(problem, NuSVC) and type(model).__name__ == "NuSVC":
                rho = np.abs(problem.risk.costs).sum() / np.abs(coefs).sum()
            parts = {"b": rho * model.intercept_, "coefs": rho * coefs, "index": model.support_ + 1}
        else:
            parts |= {"w": model.coef_}
    except Exception as error:  # skops raises many types for corrupt files
        raise ValueError(f"is not a supported estimator: {quote(error)}") from None
    return {name: np.asarray(value, np.float64).ravel() for name, value in parts.items()}
