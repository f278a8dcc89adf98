"""Run the commands of tutorials in forks of a process that has imported what they need.

Importing `dualgap` takes longer than most commands. The process that is forked is a new interpreter, so
that nothing that Sphinx has set reaches a command.
"""

import os
import sys
from multiprocessing import get_context
from pathlib import Path
from subprocess import TimeoutExpired
from tempfile import NamedTemporaryFile

_CONTEXT = get_context("forkserver")
_CONTEXT.set_forkserver_preload(
    [
        f"dualgap.experiments.{name}"
        for name in ("cli", "operations.run", "operations.conclusion", "plots.drawing", "report")
    ]
)


def run(words: list[str], folder: Path, timeout_s: float) -> tuple[int | None, str]:
    """Run `dualgap ...` in a folder; return its exit code and its output."""
    with NamedTemporaryFile() as output:
        process = _CONTEXT.Process(target=_execute, args=(words, folder, output.name))
        process.start()
        process.join(timeout_s)
        if process.is_alive():
            process.kill()
            raise TimeoutExpired(words, timeout_s)
        return process.exitcode, output.read().decode()


def _execute(words: list[str], folder: Path, output: str) -> None:
    from dualgap.experiments.cli import main  # noqa: PLC0415 - in the fork

    stream = os.open(output, os.O_WRONLY)
    os.dup2(stream, 1)
    os.dup2(stream, 2)
    sys.stdout = os.fdopen(1, "w", closefd=False)
    sys.stderr = os.fdopen(2, "w", buffering=1, closefd=False)
    os.chdir(folder)
    sys.argv = words
    # instead of the folder of this file, and the one in which Sphinx was started
    sys.path[:2] = [str(Path(sys.executable).parent)]
    main()
