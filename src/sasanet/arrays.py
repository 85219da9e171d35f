"""Names of array types that many modules use."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Masks = NDArray[np.bool_]  # coalitions: which features are known
