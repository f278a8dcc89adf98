"""A first experiment file to begin with: `dualgap init`."""

import re
from pathlib import Path
from string import Template

from dualgap.experiments.files.keys import SAFE_NAME
from dualgap.experiments.files.schema import schema_text

SCHEMA_FILE = "dualgap.schema.json"
_MODELINE = f"# yaml-language-server: $schema={SCHEMA_FILE}\n"
_TEMPLATE = Path(__file__).with_suffix(".yaml")


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
    text = Template(_TEMPLATE.read_text(encoding="utf-8")).substitute(file=file, name=name)
    with file.open("x", encoding="utf-8") as opened:
        opened.write(_MODELINE * schema + text)
    if not schema:
        return [file]
    beside = file.parent / SCHEMA_FILE
    beside.write_text(schema_text())
    return [file, beside]
