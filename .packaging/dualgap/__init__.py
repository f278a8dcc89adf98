"""All public names of dualgap in one place: `import dualgap`, or `from dualgap import SMO, solve`.

The names are those of the packages `problems`, `solvers` and `experiments`, every solver class, and the
modules `datasets` and `estimators`. A package is imported when one of its names is first asked for.
"""

import pathlib
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from experiments import *
    from problems import *
    from problems import datasets as datasets
    from solvers import *
    from solvers import estimators as estimators

__version__ = version("dualgap")

_PACKAGES = ("experiments", "problems", "solvers")  # the quickest to import first
_MODULES = {"datasets": "problems.datasets", "estimators": "solvers.estimators"}


def _refuse_other_packages() -> None:
    """Raise ImportError if `problems`, `solvers` or `experiments` is not the one beside this module."""
    folders = pathlib.Path(__file__).resolve().parents  # of a clone or of site-packages
    home = next(folder for folder in folders if (folder / "problems/registry.py").is_file())
    for name in _PACKAGES:
        ours = home / name / "__init__.py"
        found = getattr(find_spec(name), "origin", None)
        if pathlib.Path(str(found)).resolve() != ours:
            raise ImportError(
                f"dualgap: {found} shadows {ours}, which is needed as {name!r}; rename the former, or "
                "start Python in another folder"
            )


_refuse_other_packages()


def __getattr__(name: str) -> Any:
    """Return a public name of the three packages, importing them as far as needed (PEP 562)."""
    if name in _MODULES:
        return import_module(_MODULES[name])
    if name == "__all__":
        packages = map(import_module, _PACKAGES)
        return sorted({*_MODULES, *(each for package in packages for each in package.__all__)})
    for package in () if name.startswith("_") else _PACKAGES:
        if name in (module := import_module(package)).__all__:
            return getattr(module, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return ["__version__", *__getattr__("__all__")]
