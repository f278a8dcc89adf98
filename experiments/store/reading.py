"""A folder read back: which runs it has, and the tables made from their records.

It is that of a run, with the log, or a published one, which has the tables as CSV.
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

from dualgap.experiments.cases.plan import search_of
from dualgap.experiments.cases.records import Outcome
from dualgap.experiments.cases.search import next_of
from dualgap.experiments.files.specs import ProblemSpec, build_problem
from dualgap.experiments.records import columns
from dualgap.experiments.records.columns import COUNTED, DESCRIBED, TRACE_COLUMNS, typed
from dualgap.experiments.records.outcomes import outcome_of
from dualgap.experiments.store.log import LOG, Seals
from dualgap.experiments.store.manifest import StoreError, common_columns, read_manifest
from dualgap.experiments.store.schema import check_line
from dualgap.problems import Dataset, Geometry, Point, Vector
from dualgap.problems.html_table import html_table, shown
from dualgap.problems.validation import DAMAGE

_log = logging.getLogger("dualgap")
_NO_RECORD = (ArithmeticError, AttributeError, KeyError, RecursionError, TypeError, ValueError)
_OF_THE_PROBLEM = ["problem_hash", "family_hash", "n", "d"]


class RunFolder:
    """One experiment of a folder, read back; a log is parsed once, when first something is asked for.

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
        """Whether the log has as many bytes as when this object was made."""
        return self._current_log_size() == self._log_size

    @cached_property
    def manifest(self) -> dict[str, Any]:
        """What the folder was begun with, see `manifest`."""
        return read_manifest(self.path)

    @cached_property
    def lines(self) -> dict[str, dict[str, Any]]:
        """The last line of each run; torn and damaged ones are skipped, and those of others left out."""
        return self._counted[0]

    @property
    def lost(self) -> int:
        """How many lines of the last session, which has ended, are no longer there."""
        return self._counted[1]

    @cached_property
    def restarted(self) -> dict[str, int]:
        """The last session that began a run, or a search of runs, anew, of those that one has."""
        sessions = self.manifest.get("sessions", [])
        return {key: i for i, session in enumerate(sessions) for key in session["restarted"]}

    @cached_property
    def _counted(self) -> tuple[dict[str, dict[str, Any]], int]:
        path, sessions = self.path / LOG, self.manifest.get("sessions", [])
        seals, latest, foreign = Seals(sessions), dict[str, tuple[int, dict[str, Any]]](), 0
        with path.open("rb") if path.exists() else BytesIO() as file:
            for line in file:
                with suppress(*_NO_RECORD):
                    content = json.loads(line)
                    own = seals.fit(line.rstrip(b"\n"))
                    foreign += not own
                    if own:
                        check_line(content)
                        latest[content["record"]["run_id"]] = seals.session, content
        if foreign and self.is_current:  # else a session may have begun since
            lines, they = ("lines are", "they are") if foreign > 1 else ("line is", "it is")
            text = f"{foreign} {lines} left out: {they} not what a dualgap command wrote"
            _log.warning(f"{path}: {text}")
        begun = self.restarted
        counted = {k: v for k, (i, v) in latest.items() if i >= begun.get(search_of(k), 0)}
        last = seals.lines if seals.session == len(sessions) - 1 else 0
        return counted, max(0, sessions[-1]["lines"] - last) if sessions else 0

    def records(self, retry: Collection[str] = ()) -> dict[str, dict[str, Any]]:
        """Return the records by run ids, without those whose status or verdict is in `retry`."""
        found, ends = {k: line["record"] for k, line in self.lines.items()}, ("status", "verdict")
        return {k: r for k, r in found.items() if not any(r.get(end) in retry for end in ends)}

    @property
    def missing(self) -> int:
        """How many planned runs are missing, and searches of a tolerance not at their end.

        Of what is published none is, as nothing that lacks a run is published.
        """
        if self._published("runs.csv") is not None:
            return 0
        known = self.records()
        return sum(next_of(run_id, known) is not None for run_id in self.manifest["run_ids"])

    @cached_property
    def planned(self) -> list[dict[str, Any]]:
        """The lines of the plan's runs, in its order."""
        places = {search_of(run_id): i for i, run_id in enumerate(self.manifest["run_ids"])}
        known = [run_id for run_id in self.lines if search_of(run_id) in places]
        known.sort(key=lambda run_id: (places[search_of(run_id)], run_id))
        return [self.lines[run_id] for run_id in known]

    @cached_property
    def results(self) -> pd.DataFrame:
        """The runs, as `load_results` returns them."""
        table = self._published("runs.csv")
        if table is None:
            table = typed(pd.DataFrame([line["record"] for line in self.planned]), "runs.csv")
            # a killed run could not record the problem's size; others on the same problem have it
            table[_OF_THE_PROBLEM] = table[_OF_THE_PROBLEM].fillna(
                table.groupby("problem_id")[_OF_THE_PROBLEM].transform("first")
            )
            best = table.groupby("family_hash")["dual_objective"].transform("max")
            table["suboptimality"] = table["primal_objective"] - best
        common = self._common(table)
        table[common.columns] = table[common.columns].fillna(common)
        optional = [own.name for own in (*DESCRIBED, *COUNTED)]
        return table.drop(columns=[name for name in optional if table[name].isna().all()])

    @cached_property
    def traces(self) -> pd.DataFrame:
        """What `load_traces` returns, with three more columns: n_support, objective, relative_gap."""
        if (published := self._published("traces.csv")) is not None:
            return published
        evaluated = [row for line in self.planned for row in line["trace"]]
        traces = typed(pd.DataFrame(evaluated), "traces.csv")
        gap, bounds = traces["gap"], traces[["primal_objective", "dual_objective"]]
        relative = gap / bounds.abs().max(axis=1, skipna=False)
        return traces.assign(relative_gap=relative.mask(gap == 0, 0.0))

    @cached_property
    def paths(self) -> pd.DataFrame:
        """The answers on paths, as `load_paths` returns them."""
        if (published := self._published("paths.csv")) is not None:
            return published
        rows = [row for line in self.planned for row in line.get("path", ())]
        return typed(pd.DataFrame(rows), "paths.csv")

    def _repr_html_(self) -> str:
        runs = self.results
        outcomes = list(map(outcome_of, runs["status"], runs["verdict"]))
        names = runs["label"].where(runs["label"].fillna("") != "", runs["solver"])
        rows = {
            "folder": str(self.path),
            "runs": f"{len(runs)} on {runs['problem_id'].nunique()} problems",
            "missing": str(self.missing or ""),
        }
        for name, own in pd.Series(outcomes, runs.index).groupby(names, sort=False):
            rows[str(name)] = ", ".join(f"{n} {end}" for end, n in own.value_counts().items())
        rows["seconds of solving"] = shown(float(runs["time_solve"].sum()), ".3g")
        return html_table(f"Experiment {self.manifest['name']}", rows.items())

    def __repr__(self) -> str:
        return f"RunFolder({str(self.path)!r})"

    def csv_files(self, leave_out: Collection[str] = ()) -> dict[str, bytes]:
        """Return the tables as CSV files, and what describes them, by the names of the files.

        What the manifest says of all runs is not repeated; `leave_out` are names of CSV files.
        """
        runs = self.results
        common = self._common(runs)
        kept, shared = runs.copy(), common.columns
        kept[shared] = runs[shared].mask(runs[shared] == common)
        kept = kept.drop(columns=[name for name in shared if kept[name].isna().all()])
        others = {"traces.csv": self.traces, "paths.csv": self.paths}
        tables = {"runs.csv": kept} | {k: v for k, v in others.items() if len(v)}
        tables = {name: table for name, table in tables.items() if name not in leave_out}
        package = columns.datapackage(self.manifest["name"], tables)
        return {name: columns.csv_of(table, name) for name, table in tables.items()} | {
            "datapackage.json": json.dumps(package, indent=1, ensure_ascii=False).encode()
        }

    def _common(self, runs: pd.DataFrame) -> pd.DataFrame:
        """Return of each run what the manifest has, see `common_columns`."""
        names = runs["problem_id"]
        known = {name: common_columns(self.manifest, name) for name in names.unique()}
        rows = [known[name] for name in names]
        return pd.DataFrame(rows, runs.index, ["versions", "problem"], dtype=object)

    def _published(self, name: str) -> pd.DataFrame | None:
        """Return a table as it was published: every digit, and the text "NA" as text; None of a run."""
        _ = self.manifest  # of another schema it is refused
        runs, file = (self.path / each for each in ("runs.csv", name))
        if (self.path / LOG).is_file() or not runs.is_file():
            return None
        if not file.is_file():  # runs had none to keep
            return typed(pd.DataFrame(), name)
        try:
            table = pd.read_csv(file, dtype=object, keep_default_na=False, na_values=[""])
            if "run_id" not in table:
                raise ValueError("it has no column run_id")
            return typed(table, name)
        except (OSError, ValueError) as error:
            raise StoreError(f"{file}: cannot be read: {error}") from None

    def outcome(self, run_id: str) -> Outcome:
        """Return what a run gave, so that it can be recorded in another folder too."""
        line, model = self.lines[run_id], dict[str, Any]()
        common = common_columns(self.manifest, line["record"]["problem_id"])
        with (
            suppress(*DAMAGE, ValueError),
            np.load(self.path / "models" / f"{run_id}.npz") as stored,
        ):
            model = dict(stored)
        kept = {name: line[name] for name in ("trace", "output", "diagnosis", "path")}
        answer = load_answer(self.path, run_id)
        return Outcome(common | line["record"], model=model, answer=answer, **kept)

    @property
    def diagnoses(self) -> dict[str, dict[str, Any]]:
        """The fields of the `Diagnosis` of runs by their ids, of those that have one."""
        return {k: line["diagnosis"] for k, line in self.lines.items() if line.get("diagnosis")}


def load_results(folder: Path | str) -> pd.DataFrame:
    """Return the runs of a folder in the order of the plan, one row each; missing values are NaN.

    `suboptimality` is the primal objective less the best dual bound that any run on the same problem
    reached, in any of its views.

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
    """Return the dual variables that a run has left for another to begin at; None if it left none."""
    try:
        return np.load(folder / "answers" / f"{run_id}.npy")
    except (*DAMAGE, MemoryError, ValueError):  # another run then begins at 0
        return None


def load_model(folder: Path | str, run_id: str) -> Geometry | None:
    """Return an answer in the plane, with its problem; None if none was kept."""
    path = Path(folder) / "models" / f"{run_id}.npz"
    if not path.is_file():
        return None
    try:
        with path.open("rb") as file, np.load(file) as stored:
            arrays = dict(stored)
        spec, begun = json.loads(str(arrays["problem"]))
        problem = build_problem(ProblemSpec(**spec), Dataset(arrays["X"], arrays["y"]), begun)
        b = arrays.get("b", np.zeros(()))
        point = Point(arrays["alpha"], arrays.get("w"), b if b.ndim else float(b))
        return Geometry(problem, point, tuple(arrays["offsets"].tolist()))
    except Exception:
        # damaged, or the file of its kernel is gone or raises anything: it is only for a picture
        return None
