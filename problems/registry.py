"""Classes found by name: in the folder where their kind lives, in a plug-in, or in a file from outside.

Solvers, formulations, losses, kernels, data sets, executors and figures are all found this way: a class
in a module of the folder needs no entry in any list. A plug-in is an installed package that offers
solvers, formulations or data sets as entry points.
"""

import ast
import importlib
import importlib.util
import inspect
import logging
import pkgutil
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from functools import cached_property
from glob import glob
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Generic, TypeVar

T = TypeVar("T")
_log = logging.getLogger("dualgap")


def snake_case(class_name: str) -> str:
    """Return the name of a class in experiment files: TwoMoons becomes two_moons."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", class_name).lower()


def is_ours(cls: type) -> bool:
    """Return whether a class is of the toolkit itself, which knows what it assumes of its own."""
    return cls.__module__.startswith("dualgap.")


def is_outside(name: str) -> bool:
    """Return whether a name is `path/to/file.py:ClassName`."""
    path, colon, _ = name.rpartition(":")
    return bool(colon) and path.endswith(".py")


def unknown(what: str, word: object, known: Iterable[str]) -> str:
    """Return a sentence saying that `word` is not known, with the nearest word that is."""
    choices = list(known)
    alike = [choice for choice in choices if choice.lower() == str(word).lower()]
    near = alike or get_close_matches(str(word), choices, n=1, cutoff=0.5)
    hint = f"did you mean {near[0]!r}? " if near else ""
    return f"unknown {what} {word!r}; {hint}accepted are {', '.join(choices) or 'none'}"


def find_path(path: str, folder: str) -> Path:
    """Return a path or pattern, a relative one from `folder` if it is there, else from the current one.

    Raises
    ------
    ValueError
        If no file can have such a path: it is too long, or names a user who does not exist.
    """
    try:
        given = Path(path).expanduser()
        beside = Path(folder) / given
        return beside if beside.exists() or glob(str(beside)) else given.absolute()
    except (OSError, RuntimeError) as error:
        raise ValueError(f"path: {error}") from None


class Registry(Mapping[str, type[T]], Generic[T]):
    """The classes of one kind by name; modules are imported when one is first asked for.

    Listed are the concrete public subclasses of `base` that a module of the package defines (not those
    it imports), but for classes with `listed = False` in their own body. A class goes by its `name`,
    else by its own in snake case.

    Parameters
    ----------
    package : dotted name of the folder that is searched, folders inside it included.
    base : the class that all of them extend.
    kind : what one is called in messages.
    skip : a folder inside the package that is not searched.
    group : of the entry points of plug-ins, whose classes go by the names of their entry points. Their
        code is imported when such a class, or the list of all, is first asked for.
    """

    def __init__(
        self, package: str, base: type[T], kind: str, skip: str = "", group: str = ""
    ) -> None:
        self.package, self.base, self.kind, self.skip = package, base, kind, skip
        self.group = group
        self._loaded = dict[str, type[T] | None]()

    def all(self) -> dict[str, type[T]]:
        """Return every class of the package by its name, then of plug-ins, each in the order of names.

        What a plug-in offers but cannot be used is left out, with a warning.
        """
        offered = {name: self._load(name) for name in sorted(self.plugins)}
        return self.own | {name: cls for name, cls in offered.items() if cls is not None}

    @cached_property
    def plugins(self) -> dict[str, EntryPoint]:
        """The entry points of plug-ins by their names, but for names that the package has."""
        offered = {e.name: e for e in entry_points(group=self.group)} if self.group else {}
        for name in offered.keys() & self.own.keys() if offered else ():
            self._leave_out(offered.pop(name), "that is the name of one of dualgap's own")
        return offered

    def _load(self, name: str) -> type[T] | None:
        """Return the class of a plug-in; None, after one warning, if there is none."""
        if name not in self._loaded:
            entry = self.plugins[name]
            try:
                found = entry.load()
                if not (isinstance(found, type) and issubclass(found, self.base)):
                    raise TypeError(f"it is no subclass of {self.base.__name__}")
                attributes = inspect.get_annotations(self.base).items()
                needed = {name for name, kind in attributes if "ClassVar" in str(kind)}
                lacking = {name for name in needed if not hasattr(found, name)}
                if lacking := lacking | getattr(found, "__abstractmethods__", frozenset()):
                    raise TypeError(f"it lacks {', '.join(sorted(lacking))}")
                self._loaded[name] = found
            except (Exception, SystemExit) as error:
                self._loaded[name] = None
                self._leave_out(entry, f"{type(error).__name__}: {error}")
        return self._loaded[name]

    def _leave_out(self, entry: EntryPoint, why: str) -> None:
        package = entry.dist and entry.dist.name
        _log.warning(
            f"the {self.kind} {entry.name!r} of the plug-in {package} ({entry.value}) is left out: "
            f"{' '.join(why.split())}"
        )

    @cached_property
    def own(self) -> dict[str, type[T]]:
        """The classes of the package by their names, in the order of names."""
        folder = importlib.import_module(self.package).__path__
        names = [module.name for module in pkgutil.walk_packages(folder, f"{self.package}.")]
        skipped = f"{self.package}.{self.skip}"
        wanted = [name for name in names if not self.skip or not name.startswith(skipped)]
        classes = [
            cls for name in wanted for cls in self._defined_in(importlib.import_module(name))
        ]
        return {_name(cls): cls for cls in sorted(filter(_is_listed, classes), key=_name)}

    def find(self, name: str, folder: str = ".") -> type[T]:
        """Return a class by its name, or from outside as `path/to/file.py:ClassName`.

        Parameters
        ----------
        name : the name; a relative path is looked for in `folder`, then in the current one.

        Raises
        ------
        ValueError
            If there is no such name, file or class.
        """
        if not isinstance(name, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            told = f"must be a name, got {name!r:.80}; accepted are {', '.join(self)}"
            raise ValueError(f"{self.kind}: {told}")
        if not is_outside(name):
            if name.endswith(".py"):
                file = find_path(name, folder)
                if not file.is_file():
                    raise ValueError(f"{self.kind} {name!r}: there is no file {file.resolve()}")
                hint = ", ".join(f"{name}:{cls}" for cls in class_names(file)) or "there is none"
                raise ValueError(f"{self.kind} {name!r}: add the class to the file: {hint}")
            if name not in self:
                raise ValueError(unknown(self.kind, name, self))
            return self[name]
        path, _, class_name = name.rpartition(":")
        file = find_path(path, folder).resolve()
        if not file.is_file():
            raise ValueError(f"{self.kind} {name!r}: there is no file {file}")
        classes = {cls.__name__: cls for cls in self._defined_in(module_from(file))}
        if class_name not in classes:
            found = ", ".join(classes) or f"no {self.kind} class"
            raise ValueError(f"{self.kind} {name!r}: {file.name} has {found}, not {class_name!r}")
        return classes[class_name]

    def __getitem__(self, name: str) -> type[T]:
        found = self._by_file(name) or self.own.get(name)
        found = found or (self._load(name) if name in self.plugins else None)
        if found is None:
            raise KeyError(name)
        return found

    def _by_file(self, name: str) -> type[T] | None:
        """Return the class that a file has its name from, so that no other file need be imported."""
        file = f"{self.package}.{name}"
        if "own" in vars(self) or not name.isidentifier() or find_spec(file) is None:
            return None
        classes = self._defined_in(importlib.import_module(file))
        return next((cls for cls in classes if _is_listed(cls) and _name(cls) == name), None)

    def __iter__(self) -> Iterator[str]:
        return iter(self.all())

    def __len__(self) -> int:
        return len(self.all())

    def _defined_in(self, module: Any) -> list[type[T]]:
        return [
            value
            for value in vars(module).values()
            if isinstance(value, type)
            and issubclass(value, self.base)
            and value is not self.base
            and value.__module__ == module.__name__
        ]


def class_names(file: Path) -> list[str]:
    """Return the names of the classes in a Python file, which is read and not imported.

    Raises
    ------
    ValueError
        If it is not Python; the message has the file and the line.
    """
    try:
        tree = ast.parse(file.read_bytes(), str(file))
    except SyntaxError as error:
        raise ValueError(f"{file}, line {error.lineno}: {error.msg}") from None
    except ValueError as error:  # it has a null byte
        raise ValueError(f"{file}: {error}") from None
    return [node.name for node in tree.body if isinstance(node, ast.ClassDef)]


def _name(cls: type[Any]) -> str:
    name = getattr(cls, "name", "")
    return name if isinstance(name, str) and name else snake_case(cls.__name__)


def _is_listed(cls: type[Any]) -> bool:
    public = not cls.__name__.startswith("_") and not inspect.isabstract(cls)
    return public and vars(cls).get("listed", True)


def module_from(file: Path) -> Any:
    """Return the module that a Python file is, run when it is first asked for."""
    name = f"outside:{file}"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, file)
        assert spec is not None
        assert spec.loader is not None
        sys.modules[name] = module = importlib.util.module_from_spec(spec)
        try:
            spec.loader.exec_module(module)
        except BaseException:
            del sys.modules[name]
            raise
    return sys.modules[name]
