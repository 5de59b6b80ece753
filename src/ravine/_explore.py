"""Find clusters in a table, described in its own columns, in one call: what `ravine cluster` does, in Python."""

import html
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from ravine import report
from ravine._matrix import Ints
from ravine.cluster import IncrementalMDH
from ravine.evaluation import Stability, stability
from ravine.explain import Profiles, Rules, cluster_names, profile, rules, sentence
from ravine.prepare import TableEncoder
from ravine.report._trust import finding
from ravine.tree._text import counted

HEIGHT = 720
"""Height of the report in a notebook, in pixels."""


@dataclass(frozen=True, eq=False)
class Exploration:
    """What `explore` has found in a table.

    The parameters are also attributes.

    Parameters
    ----------
    table : frame, pyarrow.Table or dict of columns
        The table.
    pipeline : Pipeline
        The fitted encoder and the fitted model. It predicts raw rows, and `ravine.save` saves it.
    labels : ndarray of shape (n_samples,)
        Cluster of each row.
    values : dict
        Columns of the table as they were read, by name: numbers, dates or texts.
    refits : Stability, optional
        How well refits on samples of the rows found the clusters again, if `explore` was asked for it. The text and the
        report show it.

    See Also
    --------
    explore : Finds the clusters of a table.

    Examples
    --------
    >>> from ravine import explore
    >>> from ravine.datasets import make_messy_table
    >>> found = explore(make_messy_table(600, n_segments=2, random_state=0).to_pandas())
    >>> len(found.labels), found.model.n_clusters_
    (600, 2)
    """

    table: Any
    pipeline: Pipeline
    labels: Ints
    values: dict[str, Any]
    refits: Stability | None = None

    @property
    def encoder(self) -> TableEncoder:
        """The fitted encoder, which knows the role of each column."""
        return self.pipeline[0]

    @property
    def model(self) -> Any:
        """The fitted model of the encoded rows."""
        return self.pipeline[-1]

    @property
    def _units(self) -> dict[str, tuple[str, str]]:
        return {column.name: column.affixes for column in self.encoder.columns_ if column.unit}

    @property
    def _described(self) -> dict[str, Any]:
        """Columns that describe a cluster: all but those that name the rows or say the same as another one."""
        names = {column.name for column in self.encoder.columns_ if column.role in ("identifier", "copy")}
        return {name: values for name, values in self.values.items() if name not in names}

    @cached_property
    def profiles(self) -> Profiles:
        """What the rows of each cluster look like, beside all rows."""
        return profile(self._described, self.labels)

    @cached_property
    def rules(self) -> Rules:
        """The shortest description of each cluster by conditions on single columns."""
        return rules(self._described, self.labels)

    @property
    def columns(self) -> Any:
        """The role of each column, what was done with it, and why, as a frame of pandas."""
        import pandas as pd

        return pd.DataFrame(self.encoder.summary())

    @property
    def clusters(self) -> Any:
        """Name, size and description of each cluster, as a frame of pandas."""
        import pandas as pd

        profiles = self.profiles
        names, total = cluster_names(profiles), float(profiles.sizes[-1])
        records = [
            {
                "cluster": cluster,
                "name": names[cluster],
                "rows": int(size),
                "share": size / total,
                "sentence": sentence(profiles, cluster, units=self._units),
            }
            for cluster, size in zip(profiles.clusters.tolist(), profiles.sizes.tolist(), strict=False)
        ]
        return pd.DataFrame(records, columns=["cluster", "name", "rows", "share", "sentence"])

    def to_frame(self) -> Any:
        """Return the cluster of each row beside the columns that name the rows.

        Returns
        -------
        frame : pandas.DataFrame
            The identifiers of the table, the number of the cluster, and its name.
        """
        import pandas as pd

        names = cluster_names(self.profiles)
        kept = {c.name: self.values[c.name] for c in self.encoder.columns_ if c.role == "identifier"}
        called = [names.get(label) for label in self.labels.tolist()]
        return pd.DataFrame({**kept, "cluster": self.labels, "name": called})

    def stability(self, n_resamples: int = 20, **options: Any) -> Stability:
        """Fit the whole pipeline again to samples of the rows, to see which clusters are found again.

        Parameters
        ----------
        n_resamples : int, default=20
            Number of samples.
        **options : dict
            Other parameters of `ravine.evaluation.stability`.

        Returns
        -------
        found : Stability
            How often each number of clusters came out, and how well each cluster was found again.
        """
        return stability(self.pipeline, self.table, n_resamples=n_resamples, **options)

    def write_report(self, path: str | os.PathLike[str], **options: Any) -> Path:
        """Write the report to a file.

        Parameters
        ----------
        path : path-like
            Path of the file. An existing file is replaced.
        **options : dict
            Other parameters of `ravine.report.write`.

        Returns
        -------
        path : Path
            Path of the file.
        """
        return report.write(self.pipeline, self.table, path, **{"stability": self.refits, **options})

    def __str__(self) -> str:
        n_clusters = counted(len(self.profiles.clusters), "cluster")
        lines = [finding(self.model, f"{n_clusters} in {counted(len(self.labels), 'row')}")]
        lines += [] if self.refits is None else [str(self.refits)]
        lines += [f"{k} {name}: {n:,} rows. {told}" for k, name, n, _, told in self.clusters.itertuples(index=False)]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        page = html.escape(report.html(self.pipeline, self.table, stability=self.refits))
        style = f"width: 100%; height: {HEIGHT}px; border: 0"
        return f'<iframe srcdoc="{page}" sandbox="allow-scripts allow-downloads" style="{style}"></iframe>'


def explore(
    table: Any,
    *,
    model: Any = None,
    roles: Mapping[str, str] | None = None,
    stability: int = 0,
) -> Exploration:
    """Find clusters in a table as it comes from a file, and describe them in its own columns.

    A `TableEncoder` finds the role of each column: numbers, dates and categories are used, identifiers, constants, free
    text and copies are not. Then a model clusters the encoded rows. In a notebook, the result is shown as a report.

    Parameters
    ----------
    table : frame of pandas or Polars, pyarrow.Table or dict of columns
        The table.
    model : estimator, default=IncrementalMDH()
        Clusterer of ravine that is not fitted; it is copied.
    roles : dict, optional
        Roles of some columns by name, where you know better, as in `TableEncoder`.
    stability : int, default=0
        Number of samples of the rows to which the whole pipeline is fitted again, such as 20, to see which clusters are
        found again. The report shows the result.

    Returns
    -------
    found : Exploration
        The fitted pipeline, the labels, and profiles, rules and stability on request.

    See Also
    --------
    ravine.prepare.TableEncoder : The first step of the pipeline.
    ravine.explain.rules : Rules of clusters of any table.

    Examples
    --------
    >>> from ravine import explore
    >>> from ravine.datasets import make_messy_table
    >>> table = make_messy_table(600, n_segments=2, random_state=0).to_pandas()
    >>> found = explore(table)
    >>> (found.pipeline.predict(table) == found.labels).all()
    np.True_
    >>> list(found.to_frame().columns)
    ['customer_id', 'row_id', 'cluster', 'name']
    """
    estimator = IncrementalMDH() if model is None else clone(model)
    pipeline = Pipeline([("table", TableEncoder(roles=roles)), ("clusters", estimator)]).fit(table)
    labels = np.asarray(pipeline[-1].labels_)
    found = Exploration(table, pipeline, labels, pipeline[0].values(table))
    return replace(found, refits=found.stability(stability)) if stability else found
