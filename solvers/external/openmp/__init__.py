"""LIBSVM and LIBLINEAR as compiled with OpenMP, through the C interface that their authors publish.

Both are on PyPI, `libsvm-official` and `liblinear-multicore`; on Linux as source, so that installing
them (`pip install '.[openmp]'`) needs a C++ compiler that knows -fopenmp. They use as many threads as
OpenMP is allowed in this process (OMP_NUM_THREADS). Their arrays of samples are built while setting up:
a program in C reads its file into them.
"""

from collections.abc import Callable
from typing import Any


def call_and_listen(set_print: Any, call: Callable[[], Any]) -> tuple[Any, str]:
    """Return what a call into a library returns, and what the library prints meanwhile.

    Nothing else states the number of iterations, or that their limit was met.

    Parameters
    ----------
    set_print : the library's function that takes the function to print with.
    """
    kind, printed = set_print.argtypes[0], list[bytes]()
    listener = kind(printed.append)
    set_print(listener)
    try:
        return call(), b"".join(printed).decode()
    finally:
        set_print(kind())  # a null pointer: back to the standard output
