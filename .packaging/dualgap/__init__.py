"""All public names of dualgap in one place: `import dualgap`, or `from dualgap import SMO, solve`.

The names are those of `dualgap.problems`, `dualgap.solvers` and `dualgap.experiments`, every solver
class, and the modules `datasets` and `estimators`. A package is imported on the first use of one
of its names.
"""

from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dualgap.experiments import *
    from dualgap.problems import *
    from dualgap.problems import datasets as datasets
    from dualgap.solvers import *
    from dualgap.solvers import estimators as estimators

__version__ = version("dualgap")

_PACKAGES = ("experiments", "problems", "solvers")  # the fastest to import first
_MODULES = {"datasets": "problems.datasets", "estimators": "solvers.estimators"}


def __getattr__(name: str) -> Any:
    """Return a public name of the three packages, importing only those that are needed (PEP 562)."""
    if name in _PACKAGES or name in _MODULES:
        return import_module(f"dualgap.{_MODULES.get(name, name)}")
    packages = (import_module(f"dualgap.{package}") for package in _PACKAGES)
    if name == "__all__":
        return sorted({*_MODULES, *(each for package in packages for each in package.__all__)})
    for package in () if name.startswith("_") else packages:
        if name in package.__all__:
            return getattr(package, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return ["__version__", *__getattr__("__all__")]
