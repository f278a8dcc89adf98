"""`dualgap run --profile`: the calls of a single run, as a page."""

import shutil
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from dualgap.experiments.cases.search import case_at_step
from dualgap.experiments.cases.solving import PROFILE
from dualgap.experiments.executors.base import EXECUTORS
from dualgap.experiments.operations.options import RunOptions
from dualgap.experiments.operations.run import load_experiment, plan_runs, results_folder
from dualgap.experiments.operations.terminal import refusing
from dualgap.experiments.records import Refusal
from dualgap.experiments.store import disk
from dualgap.experiments.store.manifest import ARTIFACTS
from dualgap.solvers.base import NotInstalled, import_optional


def profile_run(
    experiment: str, options: RunOptions, parent: str, changes: Sequence[tuple[str, str]] = ()
) -> Path:
    """Profile the solver of the one run that is selected; return the page of its calls.

    Nothing is recorded, as a profiler takes time. The page and the solver's artifacts are written into
    the folder `profile` of the run's artifacts. Refusal if there is none: several runs are selected,
    pyinstrument is missing, or the run is killed. `parent` : see `results_folder`.
    """
    with refusing(NotInstalled):
        import_optional("pyinstrument", "--profile", "pyinstrument")
    loaded, options = load_experiment(experiment, changes), replace(options, resume=True)
    target = results_folder(experiment, loaded.name, options, parent)
    cases, _ = plan_runs(loaded, target, options)
    first = {(case.label, case.problem_id): case for case in reversed(cases) if not case.aa_repeat}
    if len(first) > 1:
        labels, problems = map(set, zip(*first, strict=True))
        raise Refusal(
            f"--profile takes one solver and one problem, but {len(labels)} and {len(problems)} are "
            "selected. Select them with --solver and --problem, by their names in tables."
        )
    (case,) = first.values()
    folder = target.absolute() / ARTIFACTS / case.run_id / "profile"
    shutil.rmtree(folder, ignore_errors=True)
    disk.make_folder(folder)
    if case.key.step is not None:
        case = case_at_step(case, case.key.step)
    case = replace(case, artifacts=str(folder), profiled=True)
    with closing(EXECUTORS["local"]().run([case])) as outcomes:
        row = next(outcomes).record
    if not (folder / PROFILE).is_file():
        raise Refusal(
            f"No profile was written. The run ended with {row['status']}: {row['reason']}"
        )
    return folder / PROFILE
