"""Reading a results folder: its runs, and the tables made from their records.

The folder has either a log, or, if it is published, the tables as CSV.
"""

import json
import logging
from collections.abc import Collection
from contextlib import suppress
from functools import cached_property
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from dualgap.experiments.cases.records import Outcome
from dualgap.experiments.cases.run_key import RunKey
from dualgap.experiments.cases.schedule import Round
from dualgap.experiments.files.specs import (
    ProblemSpec,
    build_problem,
    user_class_file,
    user_class_names,
)
from dualgap.experiments.records import columns
from dualgap.experiments.records.columns import COUNTED, DESCRIBED, TRACE_COLUMNS, with_column_types
from dualgap.experiments.records.outcomes import outcome_of
from dualgap.experiments.store.log import LOG, Seals
from dualgap.experiments.store.manifest import StoreError, common_columns, read_manifest
from dualgap.experiments.store.schema import check_line
from dualgap.problems import Dataset, Geometry, Point, SampleProblem, Vector
from dualgap.problems.html_table import format_number, html_table
from dualgap.problems.validation import CORRUPT_FILE_ERRORS

_log = logging.getLogger("dualgap")
_LINE_ERRORS = (ArithmeticError, AttributeError, KeyError, RecursionError, TypeError, ValueError)
_PROBLEM_COLUMNS = ["problem_hash", "family_hash", "n", "d"]


class RunFolder:
    """The contents of a results folder; its log is parsed once, on first use.

    Raises
    ------
    StoreError
        From each attribute, if the folder holds no results, or results of another version.

    Attributes
    ----------
    path : the folder.
    """

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        self._log_size = self._current_log_size()

    def _current_log_size(self) -> int:
        log = self.path / LOG
        return log.stat().st_size if log.is_file() else 0

    @property
    def is_current(self) -> bool:
        """Whether the log has the same size as when this object was created."""
        return self._current_log_size() == self._log_size

    @cached_property
    def manifest(self) -> dict[str, Any]:
        """The manifest, see `store.manifest`."""
        return read_manifest(self.path)

    @cached_property
    def lines(self) -> dict[str, dict[str, Any]]:
        """The last valid line of each run; incomplete, damaged and foreign lines are skipped."""
        return self._valid_lines[0]

    @property
    def lost(self) -> int:
        """Number of lines of the last, completed session that are missing from the log."""
        return self._valid_lines[1]

    @cached_property
    def restarted(self) -> dict[RunKey, int]:
        """The index of the last session that restarted a round, by its key."""
        restarts = [session["restarted"] for session in self.manifest.get("sessions", [])]
        return {RunKey.parse(text): i for i, texts in enumerate(restarts) for text in texts}

    @cached_property
    def _valid_lines(self) -> tuple[dict[str, dict[str, Any]], int]:
        path, sessions = self.path / LOG, self.manifest.get("sessions", [])
        seals, latest, foreign = Seals(sessions), dict[str, tuple[int, dict[str, Any]]](), 0
        with path.open("rb") if path.exists() else BytesIO() as file:
            for line in file:
                with suppress(*_LINE_ERRORS):
                    content = json.loads(line)
                    is_valid = seals.fit(line.rstrip(b"\n"))
                    foreign += not is_valid
                    if is_valid:
                        check_line(content)
                        latest[content["record"]["run_id"]] = seals.session, content
        if foreign and self.is_current:  # otherwise a session may have started since
            lines = "1 line is" if foreign == 1 else f"{foreign} lines are"
            _log.warning(f"{path}: {lines} ignored, not written by a dualgap command")
        restarted = self.restarted
        valid = {
            run_id: line
            for run_id, (session, line) in latest.items()
            if session >= restarted.get(RunKey.parse(run_id).round, 0)
        }
        last = seals.lines if seals.session == len(sessions) - 1 else 0
        return valid, max(0, sessions[-1]["lines"] - last) if sessions else 0

    def records(self, without: Collection[str] = ()) -> dict[str, dict[str, Any]]:
        """Return the records by run id, without those whose status or verdict is in `without`."""
        records = {k: line["record"] for k, line in self.lines.items()}
        ends = ("status", "verdict")
        return {k: r for k, r in records.items() if not any(r.get(end) in without for end in ends)}

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
    def planned(self) -> list[dict[str, Any]]:
        """The lines of the plan's runs, in its order."""
        rounds = [RunKey.parse(run_id).round for run_id in self.manifest["run_ids"]]
        order = {key: i for i, key in enumerate(rounds)}
        positions = {run_id: order.get(RunKey.parse(run_id).round) for run_id in self.lines}
        planned = sorted((i, run_id) for run_id, i in positions.items() if i is not None)
        return [self.lines[run_id] for _, run_id in planned]

    @cached_property
    def results(self) -> pd.DataFrame:
        """The runs, as `load_results` returns them."""
        table = self._published("runs.csv")
        if table is None:
            table = with_column_types(
                pd.DataFrame([line["record"] for line in self.planned]), "runs.csv"
            )
            # a killed run could not record the problem's size; other runs on the problem have it
            table[_PROBLEM_COLUMNS] = table[_PROBLEM_COLUMNS].fillna(
                table.groupby("problem_id")[_PROBLEM_COLUMNS].transform("first")
            )
            best = table.groupby("family_hash")["dual_objective"].transform("max")
            table["suboptimality"] = table["primal_objective"] - best
        common = self._common(table)
        table[common.columns] = table[common.columns].fillna(common)
        optional = [column.name for column in (*DESCRIBED, *COUNTED)]
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

    def _repr_html_(self) -> str:
        runs = self.results
        outcomes = list(map(outcome_of, runs["status"], runs["verdict"]))
        names = runs["label"].where(runs["label"].fillna("") != "", runs["solver"])
        rows = {
            "folder": str(self.path),
            "runs": f"{len(runs)} on {runs['problem_id'].nunique()} problems",
            "missing": str(self.missing or ""),
        }
        for name, group in pd.Series(outcomes, runs.index).groupby(names, sort=False):
            rows[str(name)] = ", ".join(f"{n} {end}" for end, n in group.value_counts().items())
        rows["seconds of solving"] = format_number(float(runs["time_solve"].sum()), ".3g")
        return html_table(f"Experiment {self.manifest['name']}", rows.items())

    def __repr__(self) -> str:
        return f"RunFolder({str(self.path)!r})"

    def csv_files(self, leave_out: Collection[str] = ()) -> dict[str, bytes]:
        """Return the contents of the CSV files and of their description, by file name.

        Values that the manifest has for all runs are omitted; `leave_out` names CSV files to omit.
        """
        runs = self.results
        common = self._common(runs)
        reduced, shared = runs.copy(), common.columns
        reduced[shared] = runs[shared].mask(runs[shared] == common)
        reduced = reduced.drop(columns=[name for name in shared if reduced[name].isna().all()])
        optional = {"traces.csv": self.traces, "paths.csv": self.paths}
        tables = {"runs.csv": reduced} | {k: v for k, v in optional.items() if len(v)}
        tables = {name: table for name, table in tables.items() if name not in leave_out}
        package = columns.datapackage(self.manifest["name"], tables)
        return {name: columns.to_csv_bytes(table, name) for name, table in tables.items()} | {
            "datapackage.json": json.dumps(package, indent=1, ensure_ascii=False).encode()
        }

    def _common(self, runs: pd.DataFrame) -> pd.DataFrame:
        """Return the columns that the manifest has for each run, see `common_columns`."""
        names = runs["problem_id"]
        by_problem = {name: common_columns(self.manifest, name) for name in names.unique()}
        rows = [by_problem[name] for name in names]
        return pd.DataFrame(rows, runs.index, ["versions", "problem"], dtype=object)

    def _published(self, name: str) -> pd.DataFrame | None:
        """Return a published table with all digits, and "NA" as text; None if the folder has a log."""
        _ = self.manifest  # refuses folders with another schema
        runs, file = (self.path / each for each in ("runs.csv", name))
        if (self.path / LOG).is_file() or not runs.is_file():
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

    def outcome(self, run_id: str) -> Outcome:
        """Return the outcome of a run, to record it in another folder."""
        line, model = self.lines[run_id], dict[str, Any]()
        common = common_columns(self.manifest, line["record"]["problem_id"])
        with (
            suppress(*CORRUPT_FILE_ERRORS, ValueError),
            np.load(self.path / "models" / f"{run_id}.npz") as stored,
        ):
            model = dict(stored)
        details = {name: line[name] for name in ("trace", "output", "diagnosis", "path")}
        answer = load_answer(self.path, run_id)
        return Outcome(common | line["record"], model=model, answer=answer, **details)

    @property
    def diagnoses(self) -> dict[str, dict[str, Any]]:
        """The fields of the `Diagnosis` of each run that has one, by run id."""
        return {k: line["diagnosis"] for k, line in self.lines.items() if line.get("diagnosis")}


def load_results(folder: Path | str) -> pd.DataFrame:
    """Return the runs of a folder in the order of the plan, one row each; missing values are NaN.

    `suboptimality` is the primal objective minus the best dual bound that any run on the same problem
    reached, in any of its formulations.

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


def load_answer(folder: Path, run_id: str) -> Vector | None:
    """Return the dual variables that a run stored as a starting point for others, or None."""
    try:
        return np.load(folder / "answers" / f"{run_id}.npy")
    except (*CORRUPT_FILE_ERRORS, MemoryError, ValueError):  # other runs then start from 0
        return None


def load_model(folder: Path | str, run_id: str) -> Geometry | None:
    """Return an answer in the plane, with its problem; None if none was stored.

    Also None if its kernel is a class of a file within the folder: reading a stranger's folder runs no
    code that is in it.
    """
    path = Path(folder) / "models" / f"{run_id}.npz"
    if not path.is_file():
        return None
    try:
        with path.open("rb") as file, np.load(file) as stored:
            arrays = dict(stored)
        spec, base = json.loads(str(arrays["problem"]))
        files = [user_class_file(name, base).resolve() for name in user_class_names(spec)]
        if any(file.is_relative_to(Path(folder).resolve()) for file in files):
            return None
        problem = build_problem(ProblemSpec(**spec), Dataset(arrays["X"], arrays["y"]), base)
        if not isinstance(problem, SampleProblem):
            return None
        b = arrays.get("b", np.zeros(()))
        point = Point(arrays["alpha"], arrays.get("w"), b if b.ndim else float(b))
        return Geometry(problem, point, tuple(arrays["offsets"].tolist()))
    except Exception:
        # damaged, or the file of its kernel is missing or raises anything: it is only for a figure
        return None
