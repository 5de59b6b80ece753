"""A cut: a half-space test in the user's own coordinates."""

from dataclasses import dataclass, replace

import numpy as np

from ravine.matrix import Bools, Floats, Matrix, walk


@dataclass(frozen=True)
class Cut:
    """Rows with ``x @ normal < offset`` go left.

    Attributes
    ----------
    normal : ndarray of shape (n_features,)
        Unit vector.
    offset : float
        Place of the cut along `normal`.
    value : float
        The objective that chose the cut, smaller is better; its meaning is the method's.
    relative_depth : float
        How much higher than the valley the lower of its two modes is, in units of the valley (0 where there is none).
    p_value : float
        Evidence for the valley from rows that did not choose it; 1 where it was not tested.
    """

    normal: Floats
    offset: float
    value: float = 0.0
    relative_depth: float = 0.0
    p_value: float = 1.0

    def turned(self) -> "Cut":
        """The same cut with its sides exchanged."""
        return replace(self, normal=-self.normal, offset=-self.offset)

    def goes_left(self, X: Matrix, n_jobs: int | None = None) -> Bools:
        """Side of each row, decided by the routine that also predicts."""
        tree = (np.array([1, -1, -1]), np.array([2, -1, -1]))
        return walk(X, self.normal[np.newaxis], np.array([self.offset]), *tree, n_jobs=n_jobs) == 1
