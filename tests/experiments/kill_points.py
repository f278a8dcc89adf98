"""Lets a process die at each operation by which a store changes its folder, resumes, and compares.

    python tests/experiments/kill_points.py FILE.yaml STEP

A session opens the folder, records what is missing and writes the tables. For each operation there is
a copy of this process that dies before it, and for each write one that dies in the middle of it; now
and then a second one dies while it resumes; the last must end with the tables of an undisturbed
session. Of the kill points only every STEP-th is tried. Prints the operations, the kill points, the
kinds of operations among them, the deaths, and the points with other tables.
"""

import json
import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from functions import run_case

from dualgap.experiments.cases.plan import plan
from dualgap.experiments.cases.records import Outcome, failed
from dualgap.experiments.files.experiment import read_experiment
from dualgap.experiments.store import disk
from dualgap.experiments.store.reading import RunFolder
from dualgap.experiments.store.session import Session

_CASES = {}
_COUNTED = ("open", "write", "fsync", "replace", "unlink")


class Dying:
    """Stands for `os` in `disk`: counts operations, and ends the process at one of them.

    Attributes
    ----------
    point : the number of the operation at which to die; -1 for never.
    torn : whether to die in the middle of it, if it is a write.
    """

    def __init__(self, point: int = -1, torn: bool = False) -> None:
        self.point, self.torn = point, torn
        self.names: list[str] = []

    def __getattr__(self, name: str) -> Any:
        called = getattr(os, name)
        if name not in _COUNTED:
            return called

        def counted(*arguments: Any) -> Any:
            if len(self.names) == self.point:
                if self.torn and name == "write":
                    os.write(arguments[0], arguments[1][: len(arguments[1]) // 2])
                os._exit(1)
            self.names.append(name)
            return called(*arguments)

        return counted


def session(folder: Path, outcomes: list[Outcome]) -> str:
    """Record what is missing; return the tables as text."""
    new_session = Session.begin(folder, "", [outcome.run_id for outcome in outcomes], resume=True)
    recorded_lines = RunFolder(folder).lines
    for outcome in outcomes:
        if outcome.run_id not in recorded_lines:
            artifacts = Path(new_session.with_artifacts(_CASES[outcome.run_id]).artifacts)
            artifacts.mkdir(parents=True)
            (artifacts / "log.txt").write_text(outcome.run_id)
            new_session.append(outcome)
    new_session.close()
    run_folder = RunFolder(folder)
    run_folder.write_tables({"summary.md": "summary"})
    models = sorted({path.name for path in folder.glob("sessions/*/models/*.npz")})
    models += [path.read_text() for path in sorted(folder.glob("artifacts/*/log.txt"))]
    tables = [table.to_csv() for table in (run_folder.results, run_folder.traces)]
    return "\n".join([(folder / "runs.csv").read_text(), *tables, *models])


def run_session(folder: Path, outcomes: list[Outcome], dying: Dying) -> bool:
    """Run a session in a copy of this process; return whether it came to its end."""
    pid = os.fork()
    if pid == 0:
        code = 2
        try:
            disk.os = dying
            content = session(folder, outcomes)
            (folder.parent / "content").write_text(content)
            (folder.parent / "names").write_text(json.dumps(dying.names))
            code = 0
        finally:
            os._exit(code)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    assert code != 2, "a session failed otherwise than by dying"
    return code == 0


def survives(scratch: Path, outcomes: list[Outcome], first: Dying) -> tuple[int, str]:
    """Return the number of deaths, and the tables after the last resumption."""
    folder = scratch / f"{first.point}-{first.torn}"
    second = [Dying((5 * first.point) % 17)] if first.point % 4 == 0 else []
    ends = [run_session(folder, outcomes, dying) for dying in (first, *second, Dying())]
    return ends.count(False), (scratch / "content").read_text()


def main() -> None:
    cases = plan(read_experiment(Path(sys.argv[1])))
    _CASES.update({case.run_id: case for case in cases})
    outcomes = [run_case(case) for case in cases[:-1]]
    outcomes.append(failed(cases[-1], "crashed", "x", "a\nb", "SIGSEGV"))
    with TemporaryDirectory() as name:
        scratch = Path(name)
        assert run_session(scratch / "undisturbed", outcomes, Dying())
        expected = (scratch / "content").read_text()
        names = json.loads((scratch / "names").read_text())
        points = [(k, False) for k in range(len(names))]
        points += [(k, True) for k, name in enumerate(names) if name == "write"]
        first = [(names.index(name), False) for name in dict.fromkeys(names)]  # one of each kind
        points = list(dict.fromkeys([*points[:: int(sys.argv[2])], *first]))
        results = [survives(scratch, outcomes, Dying(*point)) for point in points]
    differing = [
        (*point, names[point[0]])
        for point, (_, content) in zip(points, results, strict=True)
        if content != expected
    ]
    deaths = sum(deaths for deaths, _ in results)
    figures: dict[str, Any] = {"operations": len(names), "points": len(points), "deaths": deaths}
    figures["kinds"] = sorted({names[k] for k, _ in points})
    figures["differing"] = differing
    sys.stdout.write(json.dumps(figures) + "\n")


if __name__ == "__main__":
    main()
