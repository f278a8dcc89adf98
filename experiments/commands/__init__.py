"""The commands of `dualgap`, one file each: its options and arguments, and a call of its work.

Here is what they share: types of paths, and the fields of `CommandOptions` as options of a command.
Heavy modules are imported inside the commands, so that `dualgap --help` is fast.
"""

from collections.abc import Callable, Sequence
from functools import wraps
from pathlib import Path
from typing import Any, get_args

import click

from dualgap.experiments.operations.options import CommandOptions

PATH = click.Path(path_type=Path)
FILE = click.Path(dir_okay=False, path_type=Path)
INPUT_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)


def option(name: str, **changes: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Give a command one of `CommandOptions`; `changes` are those of `click.option`."""
    kind, declared = get_args(CommandOptions.__dataclass_fields__[name].type)
    attributes: dict[str, Any] = {"help": declared.help, "metavar": declared.metavar}
    if kind is bool:
        attributes |= {"is_flag": True, "metavar": None}
    elif kind == Sequence[str]:
        attributes["multiple"] = True
    elif kind == str | Path | None:
        attributes["type"] = PATH
    elif declared.minimum is not None:
        attributes["type"] = click.IntRange(declared.minimum)
    return click.option(f"--{declared.name or name}", name, **attributes | changes)


def run_options(
    *names: str, **changes: dict[str, Any]
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Give a command these of `CommandOptions`, or all, which it gets as one argument `options`.

    `changes` : for single options, see `option`.
    """
    names = names or tuple(CommandOptions.__dataclass_fields__)

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(command)
        def collecting(**arguments: Any) -> Any:
            options = CommandOptions(**{name: arguments.pop(name) for name in names})
            return command(**arguments, options=options)

        decorated: Callable[..., Any] = collecting
        for name in reversed(names):
            decorated = option(name, **changes.get(name, {}))(decorated)
        return decorated

    return decorate


def change_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command --set, --solver and --problem, as `changes`: pairs of option and value."""
    options = {
        "--set": (
            "KEY=VALUE[,VALUE...]",
            "Override the file: C=1,10 or problems.0.kernel.gamma=0.1.",
        ),
        "--solver": ("NAME", "Run only this one, by name or label [all]."),
        "--problem": (
            "NAME|REGEX",
            "Run only this one, as in tables, or all that match [all].",
        ),
    }

    @wraps(command)
    def changing(**arguments: Any) -> Any:
        pairs = [(name, value) for name in options for value in arguments.pop(name[2:])]
        return command(**arguments, changes=pairs)

    changed: Callable[..., Any] = changing
    for name, (metavar, text) in reversed(options.items()):
        changed = click.option(name, name[2:], metavar=metavar, multiple=True, help=text)(changed)
    return changed
