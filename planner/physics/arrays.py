"""Number types of the formulas: a float, or an array of float64 that broadcasts."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.intp]
Floats = float | FloatArray
"""One number or many; every formula broadcasts."""

_KEPT_BYTES = 32_000_000


def _keep_freed_memory() -> None:
    """Make arrays of up to so many bytes come from memory that others left.

    glibc gives large blocks back to the system when they are freed, and takes those for large that are above
    the largest one freed so far (mallopt(3), M_MMAP_THRESHOLD). Pages that come and go between formulas cost
    half as much as the formulas. A block that nobody writes to takes no memory.
    """
    np.empty(_KEPT_BYTES, dtype=np.uint8)


_keep_freed_memory()
