"""Code of the README, the guide and the tutorials, by its name, so that tests run it as printed."""

import re
from pathlib import Path
from textwrap import dedent

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
GUIDE = (ROOT / ".github" / "CONTRIBUTING.md").read_text(encoding="utf-8")
(GUIDES_SOLVER,) = re.findall(r"```python\n(.*?)```", GUIDE, re.DOTALL)


def in_readme(name: str) -> str:
    """Return the block of the README below the marker `<!-- example: NAME -->`."""
    found = re.search(rf"<!-- example: {name} -->\n```\w+\n(.*?)```", README, flags=re.DOTALL)
    assert found, f"the README has no example {name}"
    return found[1]


def in_tutorial(page: str, file: str) -> str:
    """Return the file that a tutorial writes."""
    text = (ROOT / "experiments/docs/tutorials" / f"{page}.rst").read_text(encoding="utf-8")
    found = re.search(rf"\.\. file:: {re.escape(file)}\n\n((?:   .*\n|\n)*)", text)
    assert found, f"{page} has no file {file}"
    return dedent(found[1])
