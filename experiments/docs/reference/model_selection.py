"""Ten-fold cross-validation over C: `cross_validate` at every C, GridSearchCV on a grid of 50.

    OMP_NUM_THREADS=1 python experiments/docs/reference/model_selection.py

writes model_selection.csv, which the page on choosing C shows. Each is run once with one thread; seconds
are CPU time without loading the data. The certified gap of a grid search is the largest of its
answers on all samples at the 50 values; that of `cross_validate` is the largest of any fold at any C.
"""

from itertools import chain
from pathlib import Path
from time import process_time

import numpy as np
import pandas as pd
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.svm import SVC

from dualgap.problems import RBF, Point, SoftMarginDual, certify, datasets
from dualgap.problems.problem import replace_fields
from dualgap.solvers import cross_validate

LOW, HIGH, FOLDS = 0.01, 100.0, 10
GRID = np.geomspace(LOW, HIGH, 50)
SETS = [  # name, options such as the number of samples, gamma
    ("a9a", {"limit": 1000, "seed": 0}, 0.05),
    ("usps", {"limit": 1000, "seed": 0, "positive": 9}, 0.0066),
    ("a9a", {"limit": 2000, "seed": 0}, 0.05),
]


def main() -> None:
    """Measure all methods on all data sets."""
    rows = []
    for name, options, gamma in SETS:
        data = datasets.load(name, **options)
        X = data.X if isinstance(data.X, np.ndarray) else data.X.toarray()
        problem = SoftMarginDual(X, data.y, kernel=RBF(gamma))
        cross_validate(problem, C=(1, 1.1), folds=2, gap=0.1)  # compile before timing
        for row in chain(ours(problem), grid_search(problem, gamma)):
            rows.append({"data": name, "samples": data.n} | row)
            pd.DataFrame(rows).to_csv(Path(__file__).with_suffix(".csv"), index=False)


def ours(problem):
    """Yield a row for `cross_validate` at two gaps, over the range of the grid."""
    for gap in (1e-2, 1e-3):
        started_at = process_time()
        result = cross_validate(problem, (LOW, HIGH), FOLDS, gap)
        seconds = process_time() - started_at
        worst = max(fold.path.table()["worst_gap"].max() for fold in result.folds)
        yield row(f"cross_validate, gap {gap:g}", "all", seconds, worst, result.error, result.value)


def grid_search(problem, gamma):
    """Yield a row for scikit-learn's grid search with default settings."""
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=0)
    started_at = process_time()
    search = GridSearchCV(SVC(gamma=gamma), {"C": GRID}, cv=folds).fit(problem.X, problem.y)
    seconds, worst = process_time() - started_at, 0.0
    for C in GRID:
        model = SVC(C=C, gamma=gamma).fit(problem.X, problem.y)
        beta = np.zeros(problem.n)
        beta[model.support_] = model.dual_coef_.ravel()
        worst = max(worst, certified_gap(problem, C, beta))
    error = 1 - search.best_score_
    yield row("GridSearchCV(SVC())", GRID.size, seconds, worst, error, search.best_params_["C"])


def certified_gap(problem, C, beta):
    """Return the certified relative gap of the coefficients `beta` at this C."""
    changed = replace_fields(problem, C=C)
    return certify(changed, Point(changed.risk.alpha(beta)), target_gap=np.inf).relative_gap


def row(method, values, seconds, worst, error, C):
    """Return a row of the table."""
    return {
        "method": method,
        "values of C": values,
        "CPU seconds": f"{seconds:.1f}",
        "largest certified gap": f"{worst:.1e}",
        "least error": f"{error:.4f}",
        "at C": f"{C:.3g}",
    }


if __name__ == "__main__":
    main()
