"""A cut: a half-space test in the user's own coordinates, or where it bends, a surface near one."""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ravine._matrix import Bools, Floats, Matrix, Moments, walk
from ravine._ties import rounding_length
from ravine.cuts._surface import Surface


@dataclass(frozen=True)
class Cut:
    """Rows with ``x @ normal < offset`` go left; with a surface, those on the left of it.

    The parameters are also the attributes that are there to be read.

    Parameters
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
    surface : Surface or None
        What decides where the cut is no hyperplane; `normal` and `offset` are then those of a hyperplane near it, for
        pictures and for the features that carry the cut.
    rough : object or None
        Of a cut that a sample of the rows has found, what its method needs to search on from it on all rows.

    See Also
    --------
    ravine.tree.HyperplaneTree.split : Cuts a leaf of a tree.
    ravine.tree.grow : Grows a tree by any rule that finds a cut.

    Examples
    --------
    >>> import numpy as np
    >>> from ravine.cuts import Cut
    >>> cut = Cut(np.array([0.6, 0.8]), offset=3.0)
    >>> cut.heights(np.array([[0.0, 0.0], [9.0, 0.0]]))
    array([-3. ,  2.4])
    """

    normal: Floats
    offset: float
    value: float = 0.0
    relative_depth: float = 0.0
    p_value: float = 1.0
    surface: Surface | None = None
    rough: Any = None

    def beside_rows(self, moments: Moments) -> "Cut":
        """The cut moved to the left by a length that is rounding for the rows of these moments.

        Rows that lie on the cut itself, such as those at the mean where it runs through the mean, then all go right,
        whatever rounding does to them.

        Parameters
        ----------
        moments : Moments
            Moments of the rows that are cut.

        Returns
        -------
        cut : Cut
            With another offset.
        """
        length = rounding_length(math.sqrt(moments.sum_sq / moments.count), abs(self.offset))
        return replace(self, offset=self.offset - length)

    def turned(self) -> "Cut":
        """The same cut with its sides exchanged.

        Returns
        -------
        cut : Cut
            With the other normal.
        """
        surface = None if self.surface is None else self.surface.turned()
        return replace(self, normal=-self.normal, offset=-self.offset, surface=surface)

    def goes_left(self, X: Matrix, n_jobs: int | None = None) -> Bools:
        """Side of each row, decided by the routine that also predicts.

        Parameters
        ----------
        X : ndarray or CSR matrix of shape (n_samples, n_features)
            The rows.
        n_jobs : int, optional
            Threads; -1 uses all cores. The result does not depend on it.

        Returns
        -------
        left : ndarray of shape (n_samples,)
            Whether each row goes left.
        """
        return self.heights(X, n_jobs) < 0

    def heights(self, X: Matrix, n_jobs: int | None = None) -> Floats:
        """Signed distance of each row to the hyperplane, or height over the surface, negative on the left.

        Parameters
        ----------
        X : ndarray or CSR matrix of shape (n_samples, n_features)
            The rows.
        n_jobs : int, optional
            Threads; -1 uses all cores. The result does not depend on it.

        Returns
        -------
        height : ndarray of shape (n_samples,)
            Below 0 where a row goes left.
        """
        if self.surface is not None:
            return self.surface.heights(X, n_jobs)
        tree = (self.normal[np.newaxis], np.array([self.offset]), np.array([1, -1, -1]), np.array([2, -1, -1]))
        out = np.empty((X.shape[0], 1))
        walk(X, *tree, column=np.zeros(1, dtype=np.int64), distance=out, n_jobs=n_jobs)
        return out[:, 0]
