"""What all estimators share: `certificate_`, computed when it is first read.

It is of the problems and points that `fit` kept, so of exactly what was trained, whatever happens to the
arrays that were given to `fit`. Computing it takes about as long as predicting all samples.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from problems import Certificate, Formulation, Point, certify

Problem = Callable[[], Formulation]


class CertifiedEstimator(BaseEstimator):  # pyright: ignore[reportUntypedBaseClass]
    """Base of the estimators."""

    intercept_: Any
    _answers: list[tuple[Problem, Point]]
    _certificates: list[Certificate]

    def __getstate__(self) -> dict[str, Any]:
        """Leave the training samples out; certificates that were read stay."""
        return {k: v for k, v in super().__getstate__().items() if k != "_answers"}

    @property
    def certificate_(self) -> Certificate | list[Certificate]:
        """What the answer is worth; of several problems (more than two classes) a list, one for each.

        It is of the dual variables with their best intercept, which `intercept_` is up to `tol`; of
        linear machines of the weights too. Computed when it is first read, from the samples that were
        given to `fit`: they are kept for it, but not pickled.
        """
        check_is_fitted(self)
        if "_certificates" not in vars(self):
            if "_answers" not in vars(self):
                raise AttributeError(
                    "certificate_: the samples were left behind when this was pickled; "
                    "read certificate_ before"
                )
            self._certificates = [certify(problem(), point) for problem, point in self._answers]
        return self._certificates[0] if len(self._certificates) == 1 else self._certificates

    def _forget(self) -> None:
        """Begin a new fit, without answers or certificates."""
        self._answers = []
        self.__dict__.pop("_certificates", None)
