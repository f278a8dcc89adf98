"""Parameters chosen by cross-validation: the mean test score of each model over its folds.

    python -m experiments.analysis.cross_validation runs/cross_validation

A data set with `folds: 5` and `fold: [0, 1, 2, 3, 4]` is a grid over scikit-learn's splits; each run's
`test_accuracy` is its score on the part held out (share of right labels, R² for a regression). Models
are compared within one data set, formulation and solver (Stone 1974; Hastie, Tibshirani & Friedman
2009, section 7.10). This writes cross_validation.md into the folder of the run.
"""

from __future__ import annotations

import re
from pathlib import Path

import click
import pandas as pd

from experiments.output.tables import solver_labels
from experiments.store.folder import load_results

_FOLD = r"\bfold=\d+(?:, )?"
_CHOICE = ["dataset", "formulation", "solver"]
_FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)


def mean_scores(results: pd.DataFrame) -> pd.DataFrame:
    """Return one row for each model that was run on folds, the best of a choice first.

    Columns: dataset, formulation, solver (a choice); model (the problem without its fold), kernel, C,
    epsilon, lam; folds (how many the certificate calls solved: others have no score), mean, error
    (standard error of the mean), best (of its choice, among those solved on all folds). Models without
    any score are left out.
    """
    labelled = results.assign(solver=solver_labels(results))
    held_out = labelled[labelled["problem_id"].str.contains(_FOLD)]
    if held_out.empty:
        columns = [*_CHOICE, "model", "kernel", "C", "epsilon", "lam"]
        return pd.DataFrame(columns=[*columns, "folds", "mean", "error", "best"])
    scored = held_out.assign(
        model=held_out["problem_id"].map(without_fold),
        score=held_out["test_accuracy"].where(held_out["verdict"] == "solved"),
    )
    table = scored.groupby([*_CHOICE, "model"], sort=False).agg(
        kernel=("kernel", "first"),
        C=("C", "first"),
        epsilon=("epsilon", "first"),
        lam=("lam", "first"),
        folds=("score", "count"),
        mean=("score", "mean"),
        error=("score", "sem"),
    )
    table = table[table["folds"] > 0].reset_index()
    order = table.sort_values("mean", ascending=False, kind="stable")
    order = order.sort_values(_CHOICE, kind="stable").reset_index(drop=True)
    whole = order[order["folds"] == order.groupby(_CHOICE)["folds"].transform("max")]
    return order.assign(best=order.index.isin(whole.drop_duplicates(_CHOICE).index))


def without_fold(problem: str) -> str:
    """Return a problem's name with the number of its fold left out."""
    return re.sub(_FOLD, "", problem).replace(", )", ")").replace("()", "")


def to_markdown(scores: pd.DataFrame) -> str:
    """Return a table for each choice, the best model in bold."""
    parts = ["# Cross-validation\n"]
    for choice, rows in scores.groupby(_CHOICE, sort=False):
        dataset, formulation, solver = choice if isinstance(choice, tuple) else (choice, "", "")
        cells = pd.DataFrame(
            {
                "model": rows["model"].where(~rows["best"], "**" + rows["model"] + "**"),
                "score": [
                    f"{m:.4f} ± {e:.4f}" for m, e in zip(rows["mean"], rows["error"], strict=True)
                ],
                "folds": rows["folds"],
            }
        )
        table = cells.to_markdown(index=False, disable_numparse=True)
        parts.append(f"## {dataset}, {formulation}, {solver}\n\n{table}\n")
    parts.append("Mean over the folds of the score on the part held out, ± its standard error.\n")
    return "\n".join(parts)


@click.command()
@click.argument("folder", type=_FOLDER)
def main(folder: Path) -> None:
    """Compare the models in the FOLDER of a run by cross-validation."""
    path = folder / "cross_validation.md"
    path.write_text(to_markdown(mean_scores(load_results(folder))))
    click.echo(path)


if __name__ == "__main__":
    main()
