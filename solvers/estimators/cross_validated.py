"""`CertifiedSVCCV`: C and gamma chosen by cross-validation over all C of an interval."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.model_selection import check_cv
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from dualgap.problems import Certificate, Kernel, SoftMarginDual
from dualgap.problems.dataset import check_samples
from dualgap.problems.validation import short_repr
from dualgap.solvers import cross_validate
from dualgap.solvers.estimators.classes import SVC
from dualgap.solvers.estimators.inputs import as_integers
from dualgap.solvers.estimators.machines import SAMPLES


@dataclass(eq=False, repr=False, kw_only=True)
class CertifiedSVCCV(ClassifierMixin, BaseEstimator):
    """Binary `SVC` with the best C of *all* in an interval, by cross-validation.

    Like `GridSearchCV(SVC(), {"C": grid})`, but including all values between those of a grid: each fold
    has a certified path over C, see `solvers.cross_validate`.

    Parameters
    ----------
    C : the interval (low, high).
    kernel : "rbf", "linear", "poly", "sigmoid", or a kernel of `problems`.
    gamma : as for `SVC`, or a list, from which the best is chosen too.
    degree, coef0 : as for `SVC`.
    cv : number of folds, or a splitter, as for `GridSearchCV`.
    gap : largest relative gap of a path at any C; a smaller one narrows the band of the errors.

    Attributes
    ----------
    best_params_ : the best C and gamma. best_score_ : their accuracy on all held-out samples.
        best_index_ : their row in `cv_results_`.
    best_estimator_ : the `SVC` with them, trained on all samples; `certificate_` is its certificate.
    cv_results_ : arrays with a value for each gamma and each interval of C in which no score changes:
        `param_gamma`, `param_C_from`, `param_C_to`, `mean_test_score`, `rank_test_score`, and bounds
        on the score of the optimum at any C in it, `least_test_score` and `most_test_score`.
    statements_ : for each gamma, a sentence with the best result, and a bound for all other C.
    classes_, n_features_in_, feature_names_in_ : as for `SVC`.
    """

    C: Any = (0.01, 100.0)
    kernel: Any = "rbf"
    degree: Any = 3
    gamma: Any = "scale"
    coef0: Any = 0.0
    cv: Any = 5
    gap: Any = 1e-3

    def __sklearn_tags__(self) -> Any:
        """Declare that there are two classes, and that samples may be sparse."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.sparse = True
        return tags

    def fit(self, X: Any, y: Any) -> Self:
        """Choose among all C for samples `X` (n, d), dense or sparse, and two labels `y` (n,).

        Raises
        ------
        ValueError
            If an argument is invalid.
        NoPath
            If an answer has no bounds, as with a kernel that is not positive semidefinite.
        """
        X, y = validate_data(self, X, as_integers(y), **SAMPLES)
        check_classification_targets(y)
        self.classes_, labels = np.unique(y, return_inverse=True)
        if self.classes_.size != 2:
            raise ValueError(
                f"Only binary classification is supported; y has {self.classes_.size} "
                f"class{'es' if self.classes_.size > 1 else ''}"
            )
        samples, target = check_samples(X), np.where(labels == 1, 1.0, -1.0)
        folds = list(check_cv(self.cv, y, classifier=True).split(X, y))
        is_list = isinstance(self.gamma, list | tuple | np.ndarray)
        widths: list[Any] = list(self.gamma) if is_list else [self.gamma]
        if not widths:
            raise ValueError("gamma: must have at least one value, got an empty list")
        for gamma in widths:
            machine: Any = self._machine(gamma)
            machine._validate_params()
        if callable(self.kernel) and not isinstance(self.kernel, Kernel):
            raise ValueError(
                f"kernel: must be a name or a Kernel of dualgap, got {short_repr(self.kernel)}"
            )
        tables, self.statements_ = list[pd.DataFrame](), list[str]()
        for gamma in widths:
            problem = SoftMarginDual(samples, target, 1.0, self._machine(gamma).kernel_for(samples))
            result = cross_validate(problem, self.C, folds, self.gap)
            tables.append(result.table.assign(gamma=[gamma] * len(result.table), C=result.value))
            self.statements_.append(result.statement)
        table = pd.concat(tables, ignore_index=True)
        self.best_index_ = int(table["error"].to_numpy().argmin())
        best = table.iloc[self.best_index_]
        self.best_params_ = {"C": float(best["C"]), "gamma": best["gamma"]}
        self.best_score_ = 1.0 - float(best["error"])
        self.cv_results_ = {
            "param_gamma": table["gamma"].to_numpy(),
            "param_C_from": table["from"].to_numpy(),
            "param_C_to": table["to"].to_numpy(),
            "mean_test_score": 1.0 - table["error"].to_numpy(),
            "rank_test_score": table["error"].rank(method="min").to_numpy(np.int32),
            "least_test_score": 1.0 - table["most"].to_numpy(),
            "most_test_score": 1.0 - table["least"].to_numpy(),
        }
        self.best_estimator_ = self._machine(best["gamma"], best["C"]).fit(X, y)
        return self

    def _machine(self, gamma: Any, C: float = 1.0) -> SVC:
        return SVC(C=C, kernel=self.kernel, degree=self.degree, gamma=gamma, coef0=self.coef0)

    def decision_function(self, X: Any) -> Any:
        """Return f (m,), positive for the second of `classes_`."""
        check_is_fitted(self)
        return self.best_estimator_.decision_function(
            validate_data(self, X, reset=False, **SAMPLES)
        )

    def predict(self, X: Any) -> Any:
        """Return the labels (m,) that the best estimator predicts."""
        check_is_fitted(self)
        return self.best_estimator_.predict(validate_data(self, X, reset=False, **SAMPLES))

    @property
    def certificate_(self) -> Certificate:
        """The certificate of `best_estimator_`."""
        check_is_fitted(self)
        return self.best_estimator_.certificate_
