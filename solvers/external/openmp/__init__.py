"""LIBSVM and LIBLINEAR compiled with OpenMP, through the C interface of their authors.

Both are on PyPI, `libsvm-official` and `liblinear-multicore`; on Linux as source, so that installing
them (`pip install '.[openmp]'`) needs a C++ compiler with -fopenmp. They use as many threads as OpenMP
is allowed in this process (OMP_NUM_THREADS). Their arrays of samples are built during set-up, as a C
program would read its file into them.
"""

from collections.abc import Callable
from typing import Any


def capture_output(set_print: Any, call: Callable[[], Any]) -> tuple[Any, str]:
    """Return the result of a call into a library, and the text that it printed.

    Only that text has the number of iterations, and whether their limit was reached.

    Parameters
    ----------
    set_print : the library's function that sets the print function.
    """
    function_type, printed = set_print.argtypes[0], list[bytes]()
    callback = function_type(printed.append)
    set_print(callback)
    try:
        return call(), b"".join(printed).decode()
    finally:
        set_print(function_type())  # null pointer: standard output again
