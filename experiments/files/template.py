"""A commented experiment file to start from: `dualgap init`."""

import re
from pathlib import Path
from string import Template

from dualgap.experiments.files.models import SAFE_NAME
from dualgap.experiments.files.schema import schema_text

SCHEMA_FILE = "dualgap.schema.json"
_MODELINE = f"# yaml-language-server: $schema={SCHEMA_FILE}\n"
_TEMPLATE = Path(__file__).with_suffix(".yaml")


def write_template(file: Path, schema: bool = False) -> list[Path]:
    """Write a commented experiment file that runs without changes; return the paths written.

    Parameters
    ----------
    file : a new file. Its name becomes that of the experiment.
    schema : also write the JSON schema next to it, and refer editors to it in the first line.

    Raises
    ------
    FileExistsError
        If the file exists.
    OSError
        If it cannot be written.
    """
    name = file.stem if re.fullmatch(SAFE_NAME, file.stem) else "experiment"
    text = Template(_TEMPLATE.read_text(encoding="utf-8")).substitute(file=file, name=name)
    with file.open("x", encoding="utf-8") as opened:
        opened.write(_MODELINE * schema + text)
    if not schema:
        return [file]
    schema_file = file.parent / SCHEMA_FILE
    schema_file.write_text(schema_text(), encoding="utf-8")
    return [file, schema_file]
