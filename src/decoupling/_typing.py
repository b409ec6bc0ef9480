"""Array types and the axis letters used in every docstring and comment.

======  =========================================================
letter  axis
======  =========================================================
N       samples (rows)
C       classes, the paper's ``m_y``
S       labels, the paper's ``m_s``; column 0 is "unlabelled" where there is one
K       order of a series, or the length of one Dirichlet row
======  =========================================================
"""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

FloatArray: TypeAlias = NDArray[np.float64]
BoolArray: TypeAlias = NDArray[np.bool_]
IntArray: TypeAlias = NDArray[np.int64]
AnyArray: TypeAlias = NDArray[Any]
