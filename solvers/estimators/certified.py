"""What all estimators share: `certificate_`, computed when it is first read.

It is of the problems and points that `fit` kept, so of exactly what was trained, whatever happens to the
arrays that were given to `fit`. Computing it takes about as long as predicting all samples.
"""

from __future__ import annotations

from typing import Any

from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from problems import Certificate, Point, certify
from problems.certificates.certificate import summed
from solvers.estimators.answers import Problem


class CertifiedEstimator(BaseEstimator):  # pyright: ignore[reportUntypedBaseClass]
    """Base of the estimators."""

    intercept_: Any
    _answers: list[tuple[Problem, Point]]
    _certificate: Certificate

    def __getstate__(self) -> dict[str, Any]:
        """Leave the training samples out; a certificate that was read stays."""
        return {k: v for k, v in super().__getstate__().items() if k != "_answers"}

    @property
    def certificate_(self) -> Certificate:
        """What the answer is worth; of several problems (more than two classes) their sum.

        Its `parts` are those of each problem then. It is of the dual variables with their best
        intercept, which `intercept_` is up to `tol`; of linear machines of the weights too. Computed
        when it is first read, from the samples that were given to `fit`: they are kept for it, but not
        pickled.
        """
        check_is_fitted(self)
        if "_certificate" not in vars(self):
            if "_answers" not in vars(self):
                raise AttributeError(
                    "certificate_: the samples were left behind when this was pickled; "
                    "read certificate_ before"
                )
            parts = [certify(problem(), point) for problem, point in self._answers]
            self._certificate = parts[0] if len(parts) == 1 else summed(parts)
        return self._certificate

    def _forget(self) -> None:
        """Begin a new fit, without answers or a certificate."""
        self._answers = []
        self.__dict__.pop("_certificate", None)
