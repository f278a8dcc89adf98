"""Where cases are run. An executor is found by the name of its class, in this folder or from outside."""

from experiments.executors.base import Executor
from problems.registry import Registry

EXECUTORS = Registry(__name__, Executor, "executor", skip="dask.")
