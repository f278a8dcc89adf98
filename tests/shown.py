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


def right_solvers() -> dict[str, tuple[str, str]]:
    """Return the code and the class name of every solver that is shown as right, by its page."""
    pages = {"README": README, "CONTRIBUTING": GUIDE}
    tutorials = (ROOT / "experiments/docs").rglob("*.rst")
    pages |= {page.stem: page.read_text(encoding="utf-8") for page in sorted(tutorials)}
    shown = {
        name: re.findall(r"```python\n(.*?)```", text, re.DOTALL)
        + re.findall(r"\.\. file:: \S+\.py\n\n((?:   .*\n|\n)*)", text)
        for name, text in pages.items()
    }
    return {
        f"{name}-{found[1]}": (dedent(code), found[1])
        for name, blocks in shown.items()
        for code in blocks
        if (found := re.search(r"class (\w+)\(Solver\)", code)) and "none: it is wrong" not in code
    }


def in_tutorial(page: str, file: str) -> str:
    """Return the file that a tutorial writes."""
    text = (ROOT / "experiments/docs/tutorials" / f"{page}.rst").read_text(encoding="utf-8")
    found = re.search(rf"\.\. file:: {re.escape(file)}\n\n((?:   .*\n|\n)*)", text)
    assert found, f"{page} has no file {file}"
    return dedent(found[1])
