"""Commands hold no arithmetic."""

import ast
from pathlib import Path

import pytest

from dualgap.experiments import commands

FILES = sorted(Path(commands.__file__).parent.glob("*.py"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_command_imports_neither_pandas_nor_numpy(file):
    walked = list(ast.walk(ast.parse(file.read_text())))
    names = [alias.name for node in walked if isinstance(node, ast.Import) for alias in node.names]
    names += [node.module or "" for node in walked if isinstance(node, ast.ImportFrom)]
    assert not {"numpy", "pandas", "scipy"} & {name.partition(".")[0] for name in names}
