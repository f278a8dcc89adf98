"""Parameters chosen by cross-validation: the mean test score of each model over its folds.

A data set with `folds: 5` and `fold: [0, 1, 2, 3, 4]` is a grid over scikit-learn's splits; each run's
`test_accuracy` is its score on the held-out fold (fraction of correct labels, R² for a regression).
Models are compared within one data set, formulation and solver (Stone 1974; Hastie, Tibshirani &
Friedman 2009, section 7.10).
"""

import pandas as pd

from dualgap.experiments.analysis.labels import names_of, specifications, words_of

CHOICE = ["dataset", "formulation", "solver"]
_OF_A_MODEL = ("words", "kernel", "C", "epsilon", "lam", "nu")


def mean_scores(results: pd.DataFrame) -> pd.DataFrame:
    """Return one row per model that was run on folds, the best of each choice first.

    Columns: dataset (with the options that distinguish equal names), formulation, solver (these three
    are a choice); model (the problem without its fold), words (of its name), kernel, C, epsilon, lam,
    nu; folds (the number of solved ones: others have no score), mean, error (standard error of the
    mean), best (of its choice, among those solved on most folds). Models without any score are omitted.

    Parameters
    ----------
    results : some of `Results.runs`.
    """
    runs = results.assign(solver=results["configuration"])
    # scores do not depend on the host, and the folds may be spread over several hosts
    words = words_of(results, {"fold", "host"})
    models, fold_names = names_of(results, {"fold", "host"}), names_of(results, {"host"})
    folds = [name for name in fold_names if fold_names[name] != models[name]]
    held_out = runs[runs["problem_id"].isin(folds)]
    if held_out.empty:
        columns = [*CHOICE, "model", *_OF_A_MODEL]
        return pd.DataFrame(columns=[*columns, "folds", "mean", "error", "best"])
    nu = {name: spec["parameters"].get("nu") for name, spec in specifications(results).items()}
    scored = held_out.assign(
        # different files, labels or samples may have the same name
        dataset=held_out["problem_id"].map(
            {name: name_words[0] for name, name_words in words.items()}
        ),
        nu=held_out["problem_id"].map(nu).astype(float),
        words=held_out["problem_id"].map(words),
        model=held_out["problem_id"].map(models),
        fold=held_out["problem_id"].map(fold_names),
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
    all_folds = order[order["folds"] == order.groupby(CHOICE)["folds"].transform("max")]
    return order.assign(best=order.index.isin(all_folds.drop_duplicates(CHOICE).index))
