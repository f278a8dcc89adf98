"""A results folder: its runs, and the tables made from their records.

The folder has either sessions, or, if it is published, the tables as CSV.
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from dualgap.experiments.cases.plan import RunKey
from dualgap.experiments.cases.schedule import Round
from dualgap.experiments.files.specs import (
    ProblemSpec,
    build_problem,
    user_class_file,
    user_class_names,
)
from dualgap.experiments.records.columns import CLOCK_RESOLUTION_S, COLUMNS, FILES, TRACE_COLUMNS
from dualgap.experiments.records.outcomes import outcome_of, stop_reason
from dualgap.experiments.records.tables import datapackage, to_csv_bytes, with_column_types
from dualgap.experiments.store import disk
from dualgap.experiments.store.logs import RecordedRuns
from dualgap.experiments.store.manifest import (
    ARTIFACTS,
    StoreError,
    common_columns,
    write_manifest,
)
from dualgap.experiments.store.merging import merge_sessions
from dualgap.experiments.store.schema import safe_name
from dualgap.problems import Dataset, Geometry, Point, SampleProblem
from dualgap.problems.dataset import Names
from dualgap.problems.html_table import format_number, html_table


class RunFolder(RecordedRuns):
    """The contents of a results folder, as tables; each is made once, on first use."""

    @classmethod
    def of(cls, recorded: RecordedRuns) -> RunFolder:
        """Return the folder of recorded runs, without reading its logs again."""
        folder = cls(recorded.path)
        vars(folder).update(vars(recorded))
        return folder

    @classmethod
    def merge(
        cls, folders: Iterable[str | os.PathLike[str]], out: Path | str, force: bool = False
    ) -> RunFolder:
        """Merge folders into a new one, which is created completely, with its tables, or not at all.

        Parameters
        ----------
        folders : `RunFolder`s or paths.
        force : merge even if code, libraries or data differ, which the manifest then records.

        Raises
        ------
        StoreError
            If a folder has no sessions, a run differs between two folders, or `out` is not empty or was
            created by another command in the meantime.
        OSError
            If it cannot be written.
        """
        sources = list(map(RecordedRuns, dict.fromkeys(map(Path, folders))))
        merge_sessions(sources, Path(out), force, lambda path: cls(path).write_tables())
        return cls(out)

    def __fspath__(self) -> str:
        return str(self.path)

    @property
    def missing(self) -> int:
        """Number of planned runs that are missing, and of rounds of a search that are incomplete.

        It is 0 for a published folder, as only complete folders are published.
        """
        if self._published("runs.csv") is not None:
            return 0
        records = self.records()
        rounds = [Round(RunKey.parse(run_id), records) for run_id in self.manifest["run_ids"]]
        return sum(each.next_run() is not None for each in rounds)

    @cached_property
    def results(self) -> pd.DataFrame:
        """The runs, as `load_results` returns them."""
        table = self._published("runs.csv")
        if table is None:
            table = with_column_types(
                pd.DataFrame([line["record"] for line in self.planned]), "runs.csv"
            )
            # a killed run could not record the problem's size; other runs on the problem have it
            sizes = ["problem_hash", "family_hash", "n", "d"]
            table[sizes] = table[sizes].fillna(
                table.groupby("problem_id")[sizes].transform("first")
            )
            best = table.groupby("family_hash")["dual_objective"].transform("max")
            table["suboptimality"] = table["primal_objective"] - best
        table["time_solve"] = table["time_solve"].clip(lower=CLOCK_RESOLUTION_S)
        stated = ["status", "claimed", "params", "iterations", "relative_gap", "target_gap"]
        reasons = list(map(stop_reason, table[stated].to_dict("records")))
        table["stop_reason"] = pd.Series(reasons, table.index, dtype=object)
        common = self.common(table)
        table[common.columns] = table[common.columns].fillna(common)
        optional = [c.name for c in FILES["runs.csv"] if c.name not in COLUMNS]
        return table.drop(columns=[name for name in optional if table[name].isna().all()])

    @cached_property
    def traces(self) -> pd.DataFrame:
        """The table of `load_traces` with three more columns: n_support, objective, relative_gap."""
        if (published := self._published("traces.csv")) is not None:
            return published
        evaluated = [row for line in self.planned for row in line["trace"]]
        traces = with_column_types(pd.DataFrame(evaluated), "traces.csv")
        gap, bounds = traces["gap"], traces[["primal_objective", "dual_objective"]]
        relative = gap / bounds.abs().max(axis=1, skipna=False)
        return traces.assign(relative_gap=relative.mask(gap == 0, 0.0))

    @cached_property
    def paths(self) -> pd.DataFrame:
        """The answers on paths, as `load_paths` returns them."""
        if (published := self._published("paths.csv")) is not None:
            return published
        rows = [row for line in self.planned for row in line.get("path", ())]
        return with_column_types(pd.DataFrame(rows), "paths.csv")

    def write_tables(self, texts: Mapping[str, str] | None = None) -> list[Path]:
        """Write the tables of the runs, and `texts` by file name; return all paths.

        Each file is replaced atomically; the manifest of all sessions is written as well.
        """
        if self.sessions:
            write_manifest(self.path, self.manifest)
        files = {name: text.encode() for name, text in (texts or {}).items()} | {
            **self.csv_files(leave_out=["traces.csv"]),
            "runs.parquet": self.results.to_parquet(index=False),
            "traces.parquet": self.traces.to_parquet(index=False),
        }
        for name, content in files.items():
            disk.replace(self.path / name, content)
        return [self.path / name for name in files]

    def csv_files(self, leave_out: Collection[str] = ()) -> dict[str, bytes]:
        """Return the contents of the CSV files and of their description, by file name.

        Values that the manifest has for all runs are omitted; `leave_out` names CSV files to omit.
        """
        runs = self.results
        common = self.common(runs)
        reduced, shared = runs.copy(), common.columns
        reduced[shared] = runs[shared].mask(runs[shared] == common)
        reduced = reduced.drop(columns=[name for name in shared if reduced[name].isna().all()])
        optional = {"traces.csv": self.traces, "paths.csv": self.paths}
        tables = {"runs.csv": reduced} | {k: v for k, v in optional.items() if len(v)}
        tables = {name: table for name, table in tables.items() if name not in leave_out}
        package = datapackage(self.manifest["name"], tables)
        return {name: to_csv_bytes(table, name) for name, table in tables.items()} | {
            "datapackage.json": json.dumps(package, indent=1, ensure_ascii=False).encode()
        }

    def _repr_html_(self) -> str:
        runs = self.results
        outcomes = list(map(outcome_of, runs["status"], runs["verdict"]))
        rows = {
            "folder": str(self.path),
            "runs": f"{len(runs)} on {runs['problem_id'].nunique()} problems",
            "missing": str(self.missing or ""),
        }
        for name, group in pd.Series(outcomes, runs.index).groupby(runs["label"], sort=False):
            rows[str(name)] = ", ".join(f"{n} {end}" for end, n in group.value_counts().items())
        rows["seconds of solving"] = format_number(float(runs["time_solve"].sum()), ".3g")
        return html_table(f"Experiment {self.manifest['name']}", rows.items())

    def __repr__(self) -> str:
        return f"RunFolder({str(self.path)!r})"

    def common(self, runs: pd.DataFrame) -> pd.DataFrame:
        """Return the columns that the manifest has for each run, see `common_columns`."""
        names = runs["problem_id"]
        by_problem = {name: common_columns(self.manifest, name) for name in names.unique()}
        rows = [by_problem[name] for name in names]
        return pd.DataFrame(rows, runs.index, ["versions", "problem"], dtype=object)

    def _published(self, name: str) -> pd.DataFrame | None:
        """Return a published table with all digits, and "NA" as text; None if there are sessions."""
        _ = self.manifest  # refuses folders with another schema
        runs, file = (self.path / each for each in ("runs.csv", name))
        if self.sessions or not runs.is_file():
            return None
        if not file.is_file():  # the runs have no such rows
            return with_column_types(pd.DataFrame(), name)
        try:
            table = pd.read_csv(file, dtype=object, keep_default_na=False, na_values=[""])
            if "run_id" not in table:
                raise ValueError("it has no column run_id")
            return with_column_types(table, name)
        except (OSError, ValueError) as error:
            raise StoreError(f"{file}: cannot be read: {error}") from None

    def model(self, run_id: str) -> Geometry | None:
        """Return an answer in the plane, with its problem; None if none was stored.

        Also None if its kernel is a class of a file within the folder: reading a stranger's folder runs
        no code that is in it.
        """
        path = self._array_path("models", run_id, "npz")
        return None if path is None else load_model(path, self.path)

    def artifacts(self, run_id: str) -> Path | None:
        """Return the folder of the files that the solver of a recorded run has kept; None if none."""
        path = self.path / ARTIFACTS / safe_name(run_id)
        return path if run_id in self.lines and path.is_dir() else None

    @property
    def diagnoses(self) -> dict[str, dict[str, Any]]:
        """The fields of the `Diagnosis` of each run that has one, by run id."""
        return {k: line["diagnosis"] for k, line in self.lines.items() if line.get("diagnosis")}


def load_results(folder: Path | str) -> pd.DataFrame:
    """Return the runs of a folder in the order of the plan, one row each; missing values are NaN.

    `suboptimality` is the primal objective minus the best dual bound that any run on the same problem
    reached, in any of its formulations; `time_solve` is at least the resolution of clocks, 1e-7 s.

    Raises
    ------
    StoreError
        If the folder holds no results.
    """
    return RunFolder(folder).results


def load_traces(folder: Path | str) -> pd.DataFrame:
    """Return the evaluations of the running solvers, one row each.

    Raises
    ------
    StoreError
        If the folder holds no results.
    """
    return RunFolder(folder).traces[TRACE_COLUMNS]


def load_paths(folder: Path | str) -> pd.DataFrame:
    """Return the answers on the paths of a folder, one row each; see `records.columns.PATHS`.

    Raises
    ------
    StoreError
        If the folder holds no results.
    """
    return RunFolder(folder).paths


def load_model(path: Path, folder: Path) -> Geometry | None:
    """Return the answer in a file, with its problem; None if it is damaged: it is only for a figure.

    Also None if its kernel is a class of a file within the results folder `folder`: reading a stranger's
    folder runs no code that is in it.
    """
    try:
        with path.open("rb") as file, np.load(file) as stored:
            arrays = dict(stored)
        spec, base = json.loads(str(arrays["problem"]))
        files = [user_class_file(name, base).resolve() for name in user_class_names(spec)]
        if any(file.is_relative_to(folder.resolve()) for file in files):
            return None
        names = map(tuple, json.loads(str(arrays.get("names", "[]"))))
        data = Dataset(arrays["X"], arrays["y"], names=Names(*names))
        problem = build_problem(ProblemSpec(**spec), data, base)
        if not isinstance(problem, SampleProblem):
            return None
        b = arrays.get("b", np.zeros(()))
        point = Point(arrays["alpha"], arrays.get("w"), b if b.ndim else float(b))
        return Geometry(problem, point, tuple(arrays["offsets"].tolist()))
    except Exception:
        # the file of its kernel may be missing, or raise anything
        return None
