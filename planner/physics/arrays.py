"""Number types of the formulas: a float, or an array of float64 that broadcasts."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.intp]
Floats = float | FloatArray
"""One number or many; every formula broadcasts."""
