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
    match = re.search(rf"<!-- example: {name} -->\n```\w+\n(.*?)```", README, flags=re.DOTALL)
    assert match, f"the README has no example {name}"
    return match[1]


def right_solvers() -> dict[str, tuple[str, str]]:
    """Return the code and the class name of every solver that is shown as right, by its page."""
    pages = {"README": README, "CONTRIBUTING": GUIDE}
    tutorials = (ROOT / "experiments/docs").rglob("*.rst")
    pages |= {page.stem: page.read_text(encoding="utf-8") for page in sorted(tutorials)}
    solvers = {
        name: re.findall(r"```python\n(.*?)```", text, re.DOTALL)
        + re.findall(r"\.\. file:: \S+\.py\n\n((?:   .*\n|\n)*)", text)
        for name, text in pages.items()
    }
    return {
        f"{name}-{match[1]}": (dedent(code), match[1])
        for name, blocks in solvers.items()
        for code in blocks
        if (match := re.search(r"class (\w+)\(Solver\)", code)) and "none: it is wrong" not in code
    }


def in_tutorial(page: str, file: str) -> str:
    """Return the file that a tutorial writes."""
    text = (ROOT / "experiments/docs/tutorials" / f"{page}.rst").read_text(encoding="utf-8")
    match = re.search(rf"\.\. file:: {re.escape(file)}\n\n((?:   .*\n|\n)*)", text)
    assert match, f"{page} has no file {file}"
    return dedent(match[1])
