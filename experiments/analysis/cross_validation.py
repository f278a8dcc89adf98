"""Parameters chosen by cross-validation: the mean test score of each model over its folds.

A data set with `folds: 5` and `fold: [0, 1, 2, 3, 4]` is a grid over scikit-learn's splits; each run's
`test_accuracy` is its score on the held-out fold (share of right labels, R² for a regression). Models
are compared within one data set, formulation and solver (Stone 1974; Hastie, Tibshirani & Friedman
2009, section 7.10).
"""

import pandas as pd

from dualgap.experiments.analysis.labels import names_of, solver_labels, specifications, words_of

CHOICE = ["dataset", "formulation", "solver"]
_OF_A_MODEL = ("words", "kernel", "C", "epsilon", "lam", "nu")


def mean_scores(results: pd.DataFrame) -> pd.DataFrame:
    """Return one row for each model that was run on folds, the best of a choice first.

    Columns: dataset (with the options in which those of one name differ), formulation, solver (a
    choice); model (the problem without its fold), words (its own), kernel, C, epsilon, lam, nu; folds
    (how many the certificate calls solved: others have no score), mean, error (standard error of the
    mean), best (of its choice, among those solved on most folds). Models without any score are left out.
    """
    labelled = results.assign(solver=solver_labels(results))
    # scores are the same on every host, and each may have had some of the folds
    words = words_of(results, {"fold", "host"})
    models, named = names_of(results, {"fold", "host"}), names_of(results, {"host"})
    folds = [name for name in named if named[name] != models[name]]
    held_out = labelled[labelled["problem_id"].isin(folds)]
    if held_out.empty:
        columns = [*CHOICE, "model", *_OF_A_MODEL]
        return pd.DataFrame(columns=[*columns, "folds", "mean", "error", "best"])
    nu = {name: own["parameters"].get("nu") for name, own in specifications(results).items()}
    scored = held_out.assign(
        # other files, other labels or other samples may have one name
        dataset=held_out["problem_id"].map({name: own[0] for name, own in words.items()}),
        nu=held_out["problem_id"].map(nu).astype(float),
        words=held_out["problem_id"].map(words),
        model=held_out["problem_id"].map(models),
        fold=held_out["problem_id"].map(named),
        score=held_out["test_accuracy"].where(held_out["verdict"] == "solved"),
    )
    same = {name: (name, "first") for name in _OF_A_MODEL}
    folds_of = scored.groupby([*CHOICE, "model", "fold"], sort=False)
    each = folds_of.agg(**same, score=("score", "mean")).reset_index()  # of all repetitions
    table = each.groupby([*CHOICE, "model"], sort=False).agg(
        **same,
        folds=("score", "count"),
        mean=("score", "mean"),
        error=("score", "sem"),
    )
    table = table[table["folds"] > 0].reset_index()
    order = table.sort_values("mean", ascending=False, kind="stable")
    order = order.sort_values(CHOICE, kind="stable").reset_index(drop=True)
    whole = order[order["folds"] == order.groupby(CHOICE)["folds"].transform("max")]
    return order.assign(best=order.index.isin(whole.drop_duplicates(CHOICE).index))
