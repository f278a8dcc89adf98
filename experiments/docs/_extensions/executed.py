"""Tutorials that are run while they are built: `.. file::` writes a file, `.. terminal::` runs commands.

Each page has a folder of its own, tutorials/_run/<page>, emptied when the page is read. A command that
does not exit as it should (0, or `:exit:`) fails the build.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.directives.code import CodeBlock
from sphinx.util.docutils import SphinxDirective

_SETTINGS = {"COLUMNS": "100", "PYTHONWARNINGS": "error"}
_SECONDS = 300
_LANGUAGES = {".py": "python", ".yaml": "yaml"}


def _folder(env: Any, docname: str) -> Path:
    page = Path(env.srcdir, docname)
    return page.parent / "_run" / page.name


class File(CodeBlock):
    """Writes its content to the file that it names, and shows it."""

    def run(self) -> list[nodes.Node]:
        """Write the file; return it under its name."""
        name = self.arguments[0]
        path = _folder(self.env, self.env.docname) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(self.content) + "\n", encoding="utf-8")
        self.arguments[0], self.options["caption"] = _LANGUAGES[path.suffix], f"``{name}``"
        return super().run()


class Terminal(SphinxDirective):
    """Runs each line of its content, and shows it with what it prints."""

    has_content = True
    option_spec: ClassVar = {"exit": directives.nonnegative_int}

    def run(self) -> list[nodes.Node]:
        """Run the commands; return what a terminal would show."""
        folder = _folder(self.env, self.env.docname)
        folder.mkdir(parents=True, exist_ok=True)
        path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
        shown: list[str] = []
        for command in self.content:
            done = subprocess.run(
                command,
                shell=True,
                cwd=folder,
                env={**os.environ, **_SETTINGS, "PATH": path},
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                timeout=_SECONDS,
                check=False,
            )
            shown.append(f"$ {command}\n{done.stdout}".strip())
            if done.returncode != self.options.get("exit", 0):
                raise self.severe(f"{command!r} exited with {done.returncode}:\n{done.stdout}")
        text = "\n\n".join(shown)
        # not "console": there a line that begins with # is a prompt
        return [nodes.literal_block(text, text, language="none", classes=["terminal"])]


def setup(app: Any) -> dict[str, Any]:
    """Add both directives."""
    app.add_directive("file", File)
    app.add_directive("terminal", Terminal)
    app.connect(
        "env-purge-doc",
        lambda _app, env, docname: shutil.rmtree(_folder(env, docname), ignore_errors=True),
    )
    return {"parallel_read_safe": False}
