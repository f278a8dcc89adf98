"""Look up classes by name: in the package of their kind, in a plug-in, or in a user's file.

Solvers, formulations, losses, kernels, data sets, executors and figures are all found this way: a class
defined in a module of the package needs no registration. A plug-in is an installed package that offers
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

Item = TypeVar("Item")
_log = logging.getLogger("dualgap")


def snake_case(class_name: str) -> str:
    """Return the name of a class as written in experiment files: TwoMoons becomes two_moons."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", class_name).lower()


def is_user_class(name: str) -> bool:
    """Whether a name has the form `path/to/file.py:ClassName`."""
    path, colon, _ = name.rpartition(":")
    return bool(colon) and path.endswith(".py")


def unknown(kind: str, name: object, accepted: Iterable[str]) -> str:
    """Return a message that `name` is unknown, with the closest accepted name."""
    choices = list(accepted)
    same_letters = [choice for choice in choices if choice.lower() == str(name).lower()]
    suggestions = same_letters or get_close_matches(str(name), choices, n=1, cutoff=0.5)
    hint = f"did you mean {suggestions[0]!r}? " if suggestions else ""
    return f"unknown {kind} {name!r}; {hint}accepted are {', '.join(choices) or 'none'}"


def find_path(path: str, folder: str) -> Path:
    """Resolve a path or pattern: relative to `folder` if it exists there, else to the current folder.

    Raises
    ------
    ValueError
        If the path is invalid: too long, or with the home of a user who does not exist.
    """
    try:
        expanded = Path(path).expanduser()
        relative = Path(folder) / expanded
        return relative if relative.exists() or glob(str(relative)) else expanded.absolute()
    except (OSError, RuntimeError) as error:
        raise ValueError(f"path: {error}") from None


class Registry(Mapping[str, type[Item]], Generic[Item]):
    """The classes of one kind by name; modules are imported on first access.

    It contains the concrete public subclasses of `base` that a module of the packages defines (not those
    it imports), except for classes with `listed = False` in their own body. The key of a class is
    its `name`, or its class name in snake case.

    Parameters
    ----------
    base : the common base class.
    kind : the noun used in messages, such as "solver".
    packages : dotted names of the packages that are searched recursively.
    skip : a subpackage that is not searched.
    group : entry-point group of the plug-ins, whose classes are listed under the names of their entry
        points. Their code is imported when one of them, or the list of all classes, is first requested.
    """

    def __init__(
        self, base: type[Item], kind: str, *packages: str, skip: str = "", group: str = ""
    ) -> None:
        self.base, self.kind, self.packages, self.skip = base, kind, packages, skip
        self.group = group
        self._loaded = dict[str, type[Item] | None]()

    def all(self) -> dict[str, type[Item]]:
        """Return the classes of the package, then those of plug-ins, each sorted by name.

        Unusable classes of plug-ins are omitted, with a warning.
        """
        offered = {name: self._load(name) for name in sorted(self.plugins)}
        return self.built_in | {name: cls for name, cls in offered.items() if cls is not None}

    @cached_property
    def plugins(self) -> dict[str, EntryPoint]:
        """The entry points of plug-ins by name, without those whose names the package defines."""
        offered = {e.name: e for e in entry_points(group=self.group)} if self.group else {}
        for name in offered.keys() & self.built_in.keys() if offered else ():
            self._leave_out(offered.pop(name), f"dualgap defines a {self.kind} of that name")
        return offered

    def _load(self, name: str) -> type[Item] | None:
        """Return the class of a plug-in; None, after one warning, if it is unusable."""
        if name not in self._loaded:
            entry = self.plugins[name]
            try:
                cls = entry.load()
                if not (isinstance(cls, type) and issubclass(cls, self.base)):
                    raise TypeError(f"it is not a subclass of {self.base.__name__}")
                attributes = inspect.get_annotations(self.base).items()
                required = {
                    name for name, annotation in attributes if "ClassVar" in str(annotation)
                }
                missing = {name for name in required if not hasattr(cls, name)}
                if missing := missing | getattr(cls, "__abstractmethods__", frozenset()):
                    raise TypeError(f"it lacks {', '.join(sorted(missing))}")
                self._loaded[name] = cls
            except (Exception, SystemExit) as error:
                self._loaded[name] = None
                self._leave_out(entry, f"{type(error).__name__}: {error}")
        return self._loaded[name]

    def _leave_out(self, entry: EntryPoint, reason: str) -> None:
        package = entry.dist and entry.dist.name
        _log.warning(
            f"the {self.kind} {entry.name!r} of the plug-in {package} ({entry.value}) is ignored: "
            f"{' '.join(reason.split())}"
        )

    @cached_property
    def built_in(self) -> dict[str, type[Item]]:
        """The classes of the package, sorted by name."""
        classes = list[type[Item]]()
        for package in self.packages:
            folder, skipped = importlib.import_module(package).__path__, f"{package}.{self.skip}"
            for module in pkgutil.walk_packages(folder, f"{package}."):
                if not self.skip or not module.name.startswith(skipped):
                    classes += self._defined_in(importlib.import_module(module.name))
        return {_name(cls): cls for cls in sorted(filter(_is_listed, classes), key=_name)}

    def find(self, name: str, folder: str = ".") -> type[Item]:
        """Return a class by its name, or as `path/to/file.py:ClassName`.

        Parameters
        ----------
        name : the name; a relative path is resolved against `folder`, then the current folder.

        Raises
        ------
        ValueError
            If the name, file or class does not exist.
        """
        if not isinstance(name, str):
            message = f"must be a name, got {name!r:.80}; accepted are {', '.join(self)}"
            raise ValueError(f"{self.kind}: {message}")
        if not is_user_class(name):
            if name.endswith(".py"):
                file = find_path(name, folder)
                if not file.is_file():
                    raise ValueError(f"{self.kind} {name!r}: there is no file {file.resolve()}")
                hint = " or ".join(f"{name}:{cls}" for cls in class_names(file))
                hint = f"the class is missing; write {hint}" if hint else "it defines no class"
                raise ValueError(f"{self.kind} {name!r}: {hint}")
            if name not in self:
                raise ValueError(unknown(self.kind, name, self))
            return self[name]
        path, _, class_name = name.rpartition(":")
        file = find_path(path, folder).resolve()
        if not file.is_file():
            raise ValueError(f"{self.kind} {name!r}: there is no file {file}")
        classes = {cls.__name__: cls for cls in self._defined_in(module_from(file))}
        if class_name not in classes:
            defined = ", ".join(classes) or f"no {self.kind} class"
            raise ValueError(
                f"{self.kind} {name!r}: {file.name} defines {defined}, not {class_name!r}"
            )
        return classes[class_name]

    def __getitem__(self, name: str) -> type[Item]:
        cls = self._by_file(name) or self.built_in.get(name)
        cls = cls or (self._load(name) if name in self.plugins else None)
        if cls is None:
            raise KeyError(name)
        return cls

    def _by_file(self, name: str) -> type[Item] | None:
        """Return the class whose module has the same name, so that no other module is imported."""
        if type(self).built_in.attrname in vars(self) or not name.isidentifier():
            return None
        files = [f"{package}.{name}" for package in self.packages]
        modules = [importlib.import_module(file) for file in files if find_spec(file)]
        classes = [cls for module in modules for cls in self._defined_in(module)]
        return next((cls for cls in classes if _is_listed(cls) and _name(cls) == name), None)

    def __iter__(self) -> Iterator[str]:
        return iter(self.all())

    def __len__(self) -> int:
        return len(self.all())

    def _defined_in(self, module: Any) -> list[type[Item]]:
        return [
            value
            for value in vars(module).values()
            if isinstance(value, type)
            and issubclass(value, self.base)
            and value is not self.base
            and value.__module__ == module.__name__
        ]


def class_names(file: Path) -> list[str]:
    """Return the names of the classes in a Python file, without importing it.

    Raises
    ------
    ValueError
        If it is not valid Python; the message states the file and the line.
    """
    try:
        tree = ast.parse(file.read_bytes(), str(file))
    except SyntaxError as error:
        raise ValueError(f"{file}, line {error.lineno}: {error.msg}") from None
    except ValueError as error:  # null bytes
        raise ValueError(f"{file}: {error}") from None
    return [node.name for node in tree.body if isinstance(node, ast.ClassDef)]


def _name(cls: type[Any]) -> str:
    name = getattr(cls, "name", "")
    return name if isinstance(name, str) and name else snake_case(cls.__name__)


def _is_listed(cls: type[Any]) -> bool:
    public = not cls.__name__.startswith("_") and not inspect.isabstract(cls)
    return public and vars(cls).get("listed", True)


def module_from(file: Path) -> Any:
    """Return a Python file as a module, executed on the first call."""
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
