"""A tree of cuts that follows a stream and keeps moving its cuts: the direct online form of dePDDP."""

from typing import Any

import numpy as np

from ravine import _kernels
from ravine._matrix import Floats, Ints, Matrix
from ravine.cuts._intervals import FINE, density_of, pieces_of, spread_of
from ravine.tree._hsdc import PATIENCE, HSDCSettings, HSDCTree, OnEvent


class SPDCTree(HSDCTree):
    """A tree whose cuts keep moving, as in SPDC (Tasoulis et al. 2012, as Hofmeyr, Pavlidis and Eckley describe it).

    Every row moves the directions of all nodes on its way. Whenever the weight of a node has grown by a tenth, the node
    is cut, or cut again, at the lowest antimode of its density. If there is no antimode, everything below it is
    removed.

    Parameters
    ----------
    n_features : int
    settings : HSDCSettings
    bandwidth : float
        Factor of the bandwidth σ n^(-1/5).
    """

    def __init__(self, n_features: int, settings: HSDCSettings, bandwidth: float) -> None:
        super().__init__(n_features, settings)
        self.bandwidth = bandwidth

    def learn(self, X: Matrix, on_event: OnEvent | None = None) -> None:
        """Learn the next rows, in their order; `on_event` is called with each change of the tree."""
        row = 0
        while row < len(X):
            row, why, node = _kernels.hsdc.learn_everywhere(X, row, *self._arrays(), self._numbers())
            if why == _kernels.hsdc.RENEWAL_DUE:
                self._record(self._renew(node, self.n_rows + row - 1), on_event)
        self.n_rows += len(X)

    def _renew(self, node: int, row: int) -> dict[str, Any] | None:
        """Cut a node at the lowest density between two modes; if it has one mode, remove its cut."""
        stream, weight = _kernels.hsdc, self.leaf[node, _kernels.hsdc.TOTAL]
        self.leaf[node, stream.WAIT] = PATIENCE * weight
        low, high, mass = pieces_of(self.sample[node][:, : self.n_intervals[node]])
        spread = spread_of(low, high, mass)
        position = None
        if spread > 0:
            grid = np.linspace(low[0], high[-1], FINE)
            density = density_of(low, high, mass, self.bandwidth * spread * weight**-0.2, grid)
            minima = 1 + np.flatnonzero((density[1:-1] < density[:-2]) & (density[1:-1] <= density[2:]))
            position = float(grid[minima[density[minima].argmin()]]) if len(minima) else None
        is_cut = self.left[node] >= 0
        if position is not None:
            self.cut[node, stream.OFFSET] = position
            if is_cut:
                return None
            self.left[node], self.right[node] = children = self._take_node(), self._take_node()
            self.order[node] = row
            for child in children:
                self._start_leaf(child, parent=node)
            return self._split_event(node, row, weight)
        if not is_cut:
            return None
        below = self._below(node)
        gone = [int(self.identity[n]) for n in below if self.left[n] < 0]
        event = {"kind": "withdrawal", "row": row, "node": int(self.identity[node]), "clusters": gone}
        self._free += below[1:]
        self.left[node] = self.right[node] = -1
        self.identity[node] = self._new_id()
        return event

    def evidence(self, node: int) -> float:
        """Return 1, since there is no test."""
        return 1.0

    def _cuts(self, nodes: Ints) -> tuple[Floats, Floats]:
        length = self.leaf[nodes, _kernels.hsdc.LENGTH]
        normal = self.direction[nodes] / np.where(length > 0, length, 1.0)[:, np.newaxis]
        return normal, self.cut[nodes, _kernels.hsdc.OFFSET] + (normal * self.mean[nodes]).sum(axis=1)
