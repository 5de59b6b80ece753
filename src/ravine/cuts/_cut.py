"""A cut: a half-space test in the user's own columns, or a surface near such a hyperplane."""

import math
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

import numpy as np

from ravine._lazy import public
from ravine._matrix import Bools, Floats, Ints, Matrix, Moments, walk
from ravine._ties import rounding_length
from ravine.cuts._surface import Surface

State = TypeVar("State")


@public("ravine.cuts")
@dataclass(frozen=True)
class Cut:
    """A half-space test: rows with ``x @ normal < offset`` go left.

    If the cut has a surface, the surface decides instead. The parameters are also readable attributes.

    Parameters
    ----------
    normal : ndarray of shape (n_features,)
        Unit vector.
    offset : float
        Position of the cut along `normal`.
    value : float
        Value of the objective that chose the cut. Smaller is better; the meaning depends on the method.
    relative_depth : float
        How far the lower of the two modes rises above the valley, relative to the valley; 0 if there is no valley.
    p_value : float
        Evidence for the valley from rows that did not choose it; 1 if the cut was not tested.
    surface : Surface or None
        Decides the sides if the cut is not a hyperplane. `normal` and `offset` then describe a hyperplane near the
        surface, for plots and for the features that drive the split.

    See Also
    --------
    ravine.tree.HyperplaneTree.split : Splits a leaf of a tree.
    ravine.tree.grow : Grows a tree with any rule that finds a cut.

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

    def beside_rows(self, moments: Moments) -> "Cut":
        """Move the cut to the left by a length that counts as rounding for these rows.

        Rows exactly on the cut, for example rows at the mean when the cut goes through the mean, then all go right,
        whatever rounding does to them.

        Parameters
        ----------
        moments : Moments
            Moments of the rows to split.

        Returns
        -------
        cut : Cut
            The same cut with another offset.
        """
        length = rounding_length(math.sqrt(moments.sum_sq / moments.count), abs(self.offset))
        return replace(self, offset=self.offset - length)

    def turned(self) -> "Cut":
        """Return the same cut with its sides exchanged.

        Returns
        -------
        cut : Cut
            The cut with the opposite normal.
        """
        surface = None if self.surface is None else self.surface.turned()
        return replace(self, normal=-self.normal, offset=-self.offset, surface=surface)

    def goes_left(self, X: Matrix, n_jobs: int | None = None) -> Bools:
        """Return the side of each row, decided by the same routine as in prediction.

        Parameters
        ----------
        X : ndarray or CSR matrix of shape (n_samples, n_features)
            Rows.
        n_jobs : int, optional
            Number of threads; -1 uses all cores. The result does not depend on it.

        Returns
        -------
        left : ndarray of shape (n_samples,)
            Whether each row goes left.
        """
        if self.surface is not None:
            return self.surface.heights(X, n_jobs) < 0
        leaf: Bools = walk(X, *self._tree, n_jobs=n_jobs) == 1
        return leaf

    def heights(self, X: Matrix, n_jobs: int | None = None) -> Floats:
        """Return the signed distance of each row to the hyperplane, or its height over the surface; negative is left.

        Parameters
        ----------
        X : ndarray or CSR matrix of shape (n_samples, n_features)
            Rows.
        n_jobs : int, optional
            Number of threads; -1 uses all cores. The result does not depend on it.

        Returns
        -------
        height : ndarray of shape (n_samples,)
            Negative if the row goes left.
        """
        if self.surface is not None:
            return self.surface.heights(X, n_jobs)
        out = np.empty((X.shape[0], 1))
        walk(X, *self._tree, column=np.zeros(1, dtype=np.int64), distance=out, n_jobs=n_jobs)
        return out[:, 0]

    @property
    def _tree(self) -> tuple[Floats, Floats, Ints, Ints]:
        """The arrays of a tree with this cut only, whose leaves are 1 and 2."""
        return self.normal[np.newaxis], np.array([self.offset]), np.array([1, -1, -1]), np.array([2, -1, -1])


@dataclass(frozen=True)
class RoughCut(Generic[State]):
    """The result of a search on a sample of the rows: a cut, and what the search needs to continue on all rows.

    `sample` has the sampled rows and their weights.
    """

    cut: Cut
    state: State
    sample: tuple[Matrix, Floats] | None = None
