"""A first experiment file to begin with: `dualgap init`."""

from __future__ import annotations

import re
from pathlib import Path

from experiments.files.keys import SAFE_NAME
from experiments.files.schema import schema_text

SCHEMA_FILE = "dualgap.schema.json"
_MODELINE = f"# yaml-language-server: $schema={SCHEMA_FILE}\n"
_TEMPLATE = """\
# The question that this experiment answers.
#
#   dualgap run {file} --dry-run    shows the plan, and how long it takes at most
#   dualgap run {file}              runs it; tables come at the end
#   dualgap plot runs/{name}        draws its figures
#   dualgap list                    all names that may stand here, with their settings
#
# Every solver is run on every problem. A list of values, anywhere inside an entry, stands for one entry
# with each of them: gamma: [0.01, 0.1] makes two problems.
name: {name}
problems:
  - formulation: soft_margin_dual
    dataset: {{name: breast_cancer, standardize: true}}  # a generator, a bundled or a published set
    kernel: {{name: rbf, gamma: [0.01, 0.1]}}            # or: linear
    C: [1, 10]

  # Your own data, in LIBSVM's format; the path begins at this file:
  # - formulation: soft_margin_dual
  #   dataset: {{name: libsvm_file, path: my_data.libsvm}}
  #   kernel: linear

solvers:
  - {{name: smo, tol: 1e-6}}
  - {{name: libsvm, tol: 1e-6}}        # the most widely used solver
  - cvxopt_qp                        # interior point: slow and sure
  # - my_solver.py:MySolver          # a class from a file of your own

# What follows may be left out; these are not the defaults.
seed: 1              # of everything that is drawn at random [0]
repetitions: 3       # of every run: three show how far times scatter [1]
time_limit: 10       # seconds of solving a run [none]
memory_limit: 4GiB   # of a worker process [none]
target_gap: 1e-5     # 'solved' is a certified relative gap of at most this [1e-6]
describe: true       # record what each problem is like at its optimum [false]
noise: true          # run each solver twice, to measure timing noise [false]
"""


def write_template(file: Path, schema: bool = False) -> list[Path]:
    """Write a commented experiment file that runs as it is; return what was written.

    Parameters
    ----------
    file : it must not exist yet. Its name becomes that of the experiment.
    schema : also write the JSON schema beside it, and name it for editors in the first line.

    Raises
    ------
    FileExistsError
        If there is such a file already.
    OSError
        If it cannot be written.
    """
    name = file.stem if re.fullmatch(SAFE_NAME, file.stem) else "experiment"
    text = _TEMPLATE.format(file=file, name=name)
    with file.open("x", encoding="utf-8") as opened:
        opened.write(_MODELINE * schema + text)
    if not schema:
        return [file]
    beside = file.parent / SCHEMA_FILE
    beside.write_text(schema_text())
    return [file, beside]
