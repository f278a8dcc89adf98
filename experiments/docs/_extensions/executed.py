"""Run tutorials during the build: `.. file::` writes a file, `.. terminal::` runs commands.

Each page has its own folder, tutorials/_run/<page>, which is emptied when the page is read. A command
whose exit code is not the expected one (0, or `:exit:`) fails the build.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, ClassVar

import programs
from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.directives.code import CodeBlock
from sphinx.util.docutils import SphinxDirective

_SETTINGS = {
    "COLUMNS": "100",
    "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")]),
    "PYTHONWARNINGS": "error",
}
_NEEDS_SHELL = re.compile(r"[|<>&;*~$]|^(?!dualgap )")
_COMMAND_TIMEOUT_S = 300  # the self-test, the slowest command, takes up to 120 s
_STRIDE = 8  # about the number of parts that Sphinx reads side by side
_LANGUAGES = {".py": "python", ".yaml": "yaml"}


def _folder(env: Any, docname: str) -> Path:
    page = Path(env.srcdir, docname)
    return page.parent / "_run" / page.name


class File(CodeBlock):
    """Write the content to the named file, and show it."""

    def run(self) -> list[nodes.Node]:
        """Write the file; return its content as a captioned block."""
        name = self.arguments[0]
        path = _folder(self.env, self.env.docname) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(self.content) + "\n", encoding="utf-8")
        self.arguments[0], self.options["caption"] = _LANGUAGES[path.suffix], f"``{name}``"
        return super().run()


def _execute(command: str, folder: Path) -> tuple[int | None, str]:
    """Run a command in a folder; return its exit code and its output."""
    if not _NEEDS_SHELL.search(command):
        return programs.run(shlex.split(command), folder, _COMMAND_TIMEOUT_S)
    result = subprocess.run(
        command,
        shell=True,
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=_COMMAND_TIMEOUT_S,
        check=False,
    )
    return result.returncode, result.stdout


class Terminal(SphinxDirective):
    """Run each line of the content, and show it with its output."""

    has_content = True
    option_spec: ClassVar = {"exit": directives.nonnegative_int}

    def run(self) -> list[nodes.Node]:
        """Run the commands; return the text that a terminal would show."""
        folder = _folder(self.env, self.env.docname)
        folder.mkdir(parents=True, exist_ok=True)
        os.environ.update(_SETTINGS)
        outputs: list[str] = []
        for command in self.content:
            exit_code, output = _execute(command, folder)
            outputs.append(f"$ {command}\n{output}".strip())
            if exit_code != self.options.get("exit", 0):
                raise self.severe(f"{command!r} exited with {exit_code}:\n{output}")
        text = "\n\n".join(outputs)
        # not "console", where a line that begins with # is a prompt
        return [nodes.literal_block(text, text, language="none", classes=["terminal"])]


def _spread(_app: Any, _env: Any, docnames: list[str]) -> None:
    """Order the pages such that each part has as many tutorials, which take the longest, as others."""
    docnames[:] = [name for start in range(_STRIDE) for name in docnames[start::_STRIDE]]


def setup(app: Any) -> dict[str, Any]:
    """Register both directives."""
    app.add_directive("file", File)
    app.add_directive("terminal", Terminal)
    app.connect("env-before-read-docs", _spread)
    app.connect(
        "env-purge-doc",
        lambda _app, env, docname: shutil.rmtree(_folder(env, docname), ignore_errors=True),
    )
    return {"parallel_read_safe": True}  # each page has its own folder
