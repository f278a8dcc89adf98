"""Arrays as compiled loops want them: each of one type for every caller, so that they compile once."""

from __future__ import annotations

from typing import Any

import numpy as np


def read_only(array: Any) -> Any:
    """Return a contiguous view that cannot be written to."""
    view = np.ascontiguousarray(array).view()
    view.flags.writeable = False
    return view


def unsigned(indices: Any) -> Any:
    """Return a view, so that the loops need not ask whether an index counts from the end."""
    return read_only(indices.view(f"u{indices.dtype.itemsize}"))
