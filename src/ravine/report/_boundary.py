"""The boundary of a support vector model: its function w on a plane, its support vectors and the outliers.

In two columns, the picture is the model. With more columns, each cluster has a flat slice through the row at which w is
highest in it, along the two directions in which the rows vary most. The page says for how many rows of the cluster the
slice shows the right side of the boundary.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ravine._matrix import Bools, Floats, Ints
from ravine._names import shown
from ravine.cluster import SupportVectorClustering
from ravine.report._data import ReportData
from ravine.report._format import MAX_NAME, all_rounded, rounded
from ravine.report._groups import Groups
from ravine.report._plane import Plane, seen_rows
from ravine.report._rows import RowTexts
from ravine.report._table import Table, profiled
from ravine.tree._text import counted, shortened

GRID, SLICE_GRID, LINE_GRID = 96, 64, 240
"""Number of grid points along the longer side of a picture of two columns, of a slice, and along one column."""

MOST_SLICES = 12
"""Maximum number of clusters that have a slice: the largest ones."""

MOST_POINTS, MOST_VECTORS = 600, 150
"""Maximum number of rows in the picture, besides outliers, and of support vectors: those with the largest
coefficients."""

MOST_OUTLIERS, N_VALUES = 30, 5
"""Maximum number of outliers that are listed, and number of columns that are listed for each."""

STEPS = 1000
"""Heights are rounded to this share of the largest one."""

ROUNDING = 1e-9
"""A row that is lower than the boundary by less than this share is on it: a pipeline may change the last digits."""


@dataclass(frozen=True, eq=False)
class BoundaryView:
    """The sampled rows as the model sees them, and the height of w at each.

    Parameters
    ----------
    model : SupportVectorClustering
    rows : ReportData
    Z : ndarray of shape (n_kept, n_features)
        Rows of the sample, in the columns that the model sees.
    height : ndarray of shape (n_kept,)
        Value of w at each row.
    plane : Plane or None
        Plane of the pictures; None if the rows do not vary.
    """

    model: SupportVectorClustering
    rows: ReportData
    Z: Floats
    height: Floats
    plane: Plane | None

    @classmethod
    def of(cls, groups: Groups, rows: ReportData, given_names: list[str]) -> "BoundaryView | None":
        """The boundary of a model; None if its method has none."""
        model = groups.model
        if not isinstance(model, SupportVectorClustering):
            return None
        Z = np.ascontiguousarray(seen_rows(groups, rows.X), dtype=model.support_vectors_.dtype)
        height = model._heights(Z) if len(Z) else np.empty(0)
        fitted = np.concatenate([model.sample_, model.support_vectors_]).astype(np.float64)
        plane = Plane.of(groups, fitted, np.ones(len(fitted)), given_names)
        return cls(model, rows, Z, height, plane)

    @property
    def is_outlier(self) -> Bools:
        """Whether each row of the sample lies outside the boundary."""
        return np.asarray(self.height < self.model.offset_ * (1.0 - ROUNDING))

    @property
    def is_slice(self) -> bool:
        """Whether the picture is a slice through more columns than it has axes."""
        return self.plane is not None and self.Z.shape[1] > len(self.plane.directions)

    def summary(self, table: Table) -> dict[str, Any]:
        """Return the pictures, the outliers and the sentences."""
        model, plane = self.model, self.plane
        largest = STEPS / max(float(model._heights(model.support_vectors_).max()), np.finfo(np.float64).tiny)
        return {
            "gamma": rounded(model.gamma_, 3),
            "width": rounded(model._result.kernel_sum.width, 3),
            "n_vectors": len(model.support_vectors_),
            "sentences": self.sentences(),
            "n_outliers": int(self.is_outlier.sum()),
            "outliers": self._outliers(table),
            "level": rounded((model.level_ - model.offset_) * largest),
            "offset": rounded(model.offset_),
            "unit": rounded(1 / largest, 6),
            "picture": None if plane is None else {**plane.words(), **self._picture(plane, largest)},
        }

    def sentences(self) -> list[str]:
        """Return what the model is, in words."""
        model, n_vectors = self.model, len(self.model.support_vectors_)
        width, gamma = model._result.kernel_sum.width, model.gamma_
        chosen = "was chosen automatically" if model.gamma == "auto" else "was given"
        vectors = (
            "The model is a function w that is high where rows are dense. It is the sum of one bump around each of "
            f"{counted(n_vectors, 'support vector')}, which are rows of the fit."
        )
        if model.solver == "budgeted" and model.budget is not None and n_vectors >= model.budget:
            vectors += f" This is the limit that budget={model.budget} sets, so they also stand for rows around them."
        elif model._stream is not None:
            n_seen = counted(model.n_samples_seen_, "row")
            vectors += f" The fit had {n_seen}; those that are not support vectors play no part in w."
        said = [
            vectors,
            f"The width of a bump is {width:.3g}: at this distance from its middle, it is 37 % as high. This is 1/√γ, "
            f"and γ = {gamma:.3g} {chosen}. With narrower bumps, the boundary follows single rows; with wider ones, "
            "clusters merge.",
            f"A row is inside the boundary if w is at least {model.offset_:.3g} there.{self._outlier_text()}",
        ]
        if model.n_clusters_ > 1:
            said.append(f"Where w is at least {model.level_:.3g}, the {model.n_clusters_:,} clusters are separated.")
        return said

    def _outlier_text(self) -> str:
        n_outliers, n_rows = int(self.is_outlier.sum()), len(self.height)
        if not n_rows:
            return ""
        which = counted(n_rows, "row") if n_rows == self.rows.n_rows else f"the {n_rows:,} sampled rows"
        if not n_outliers:
            return f" None of {which} is outside."
        fate = "belong to no cluster (-1)" if self.model.outliers == "label" else "keep the cluster of the nearest row"
        are = "is outside. Such rows" if n_outliers == 1 else "are outside. They"
        return f" {n_outliers:,} of {which} {are} are outliers and {fate}."

    def _picture(self, plane: Plane, largest: float) -> dict[str, Any]:
        model = self.model
        drawn, is_outlier = self._drawn(), self.is_outlier
        heaviest = np.sort(np.argsort(-model.dual_coef_, kind="stable")[:MOST_VECTORS])
        x = [all_rounded(column) for column in plane.project(self.Z[drawn]).T]
        return {
            "points": x,
            "row": self.rows.number[drawn].tolist(),
            "cluster": self.rows.cluster[drawn].tolist(),
            "height": all_rounded(self.height[drawn], 3),
            "outlier": is_outlier[drawn].astype(int).tolist(),
            "vectors": [all_rounded(column) for column in plane.project(model.support_vectors_[heaviest]).T],
            "n_points": len(self.height),
            "n_features": self.Z.shape[1],
            "grids": self._grids(plane, largest),
        }

    def _drawn(self) -> Ints:
        """Return the rows to draw: the first of the sample, which is in random order, and the lowest outliers."""
        lowest = np.argsort(self.height, kind="stable")[:MOST_OUTLIERS]
        lowest = lowest[self.is_outlier[lowest]]
        return np.unique(np.concatenate([np.arange(min(len(self.height), MOST_POINTS)), lowest]))

    def _grids(self, plane: Plane, largest: float) -> list[dict[str, Any]]:
        """Return w on a grid: of the plane, or of the slice of each of the largest clusters."""
        model = self.model
        if not self.is_slice:
            return [{"cluster": None, **self._grid(plane, np.zeros(self.Z.shape[1]), largest)}]
        sample, label = model.sample_.astype(np.float64), model.sample_labels_
        height = model._heights(model.sample_)
        by_size = np.argsort(-np.bincount(label), kind="stable")[:MOST_SLICES]
        grids = []
        for cluster in np.sort(by_size).tolist():
            own = np.flatnonzero(label == cluster)
            through = sample[own[int(np.argmax(height[own]))]]
            grid = self._grid(plane, through, largest)
            grids.append({"cluster": cluster, **grid, "agreement": self._agreement(plane, cluster, through)})
        return grids

    def _agreement(self, plane: Plane, cluster: int, through: Floats) -> float | None:
        """Return the share of the rows of a cluster that are on the same side of the boundary in its slice."""
        own = np.flatnonzero(self.rows.cluster == cluster)[: 2 * MOST_POINTS]
        if not len(own):
            return None
        in_slice = self._heights_at(plane.lift(plane.project(self.Z[own].astype(np.float64)), through))
        limit = self.model.offset_ * (1.0 - ROUNDING)
        return rounded(float(np.mean((in_slice < limit) == self.is_outlier[own])), 3)

    def _heights_at(self, rows: Floats) -> Floats:
        model = self.model
        return model._heights(np.ascontiguousarray(rows, dtype=model.support_vectors_.dtype))

    def _grid(self, plane: Plane, through: Floats, largest: float) -> dict[str, Any]:
        """Return heights above the boundary on a grid, in steps, and the cluster of each place above the level."""
        model = self.model
        low, high = self._box(plane)
        size = SLICE_GRID if self.is_slice else GRID if len(low) == 2 else LINE_GRID
        ends = [np.linspace(*end, size) for end in zip(low, high, strict=True)]
        place = np.stack(np.meshgrid(*ends), axis=-1).reshape(-1, len(low))
        rows = np.ascontiguousarray(plane.lift(place, through), dtype=model.support_vectors_.dtype)
        height = model._heights(rows)
        region, is_inside = np.zeros(len(rows), dtype=np.int64), height >= model.level_
        if is_inside.any():
            region[is_inside] = model._result.modes.predict(rows[is_inside], model.n_jobs) + 1
        return {
            "low": all_rounded(low, 6),
            "high": all_rounded(high, 6),
            "size": size,
            "heights": np.round((height - model.offset_) * largest).astype(np.int64).tolist(),
            "regions": region.tolist(),
        }

    def _box(self, plane: Plane) -> tuple[Floats, Floats]:
        """Return two corners around the rows and the region inside the boundary, unless that is far wider."""
        model = self.model
        place = plane.project(np.concatenate([model.sample_, model.support_vectors_, self.Z[self._drawn()]]))
        low, high = place.min(axis=0), place.max(axis=0)
        reach = plane.radius(model._result.kernel_sum.reach(min(model.level_, model.offset_)))
        size = np.where(high > low, high - low, 2 * reach)
        margin = np.minimum(reach, 0.25 * size)
        return low - margin, high + margin

    def _outliers(self, table: Table) -> dict[str, Any]:
        """Return the outliers with the lowest w, with their values in the columns in which they are farthest out."""
        order = np.lexsort((self.rows.number, self.height))
        outlier = order[self.is_outlier[order]]
        used, others = profiled(table, self.rows.columns)
        columns = sorted(used or others, key=lambda name: -_extremeness(table[name], outlier))[:N_VALUES]
        texts = RowTexts({name: table[name] for name in columns}, self.rows.units)
        n_clusters = self.model.n_clusters_
        return {
            "columns": [shortened(shown(name), MAX_NAME) for name in columns],
            "rows": [
                {
                    "row": int(self.rows.number[i]),
                    "height": rounded(self.height[i], 3),
                    "cluster": int(self.rows.cluster[i]) if self.rows.cluster[i] < n_clusters else -1,
                    "values": [texts.of(name, i) for name in columns],
                    "class": None if self.rows.classes is None else int(self.rows.classes[i]),
                }
                for i in outlier[:MOST_OUTLIERS].tolist()
            ],
        }


def _extremeness(values: NDArray[Any], chosen: Ints) -> float:
    """Return how far from the median the ranks of some rows are on average, from 0 to 1; 0 for a column of words."""
    if values.dtype.kind not in "iufM" or not len(chosen):
        return 0.0
    known = ~np.isnat(values) if values.dtype.kind == "M" else ~np.isnan(values)
    in_order = np.sort(values[known])
    own = values[chosen][known[chosen]]
    rank = (np.searchsorted(in_order, own) + np.searchsorted(in_order, own, side="right")) / (2 * max(len(in_order), 1))
    return round(float(np.abs(2 * rank - 1).sum()) / len(chosen), 9)
