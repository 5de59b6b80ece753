"""The types that a reader of a pickle or of a skops file has to trust."""

TYPES = (
    "ravine.HSDC",
    "ravine.IncrementalMDH",
    "ravine.MDH",
    "ravine.MDHClassifier",
    "ravine.NCutH",
    "ravine.PDDP",
    "ravine.SPDC",
    "ravine.SpectralPursuit",
    "ravine.SpectralPursuitClassifier",
    "ravine.StreamClusterer",
    "ravine.SumOfNorms",
    "ravine.SupportVectorClustering",
    "ravine.prepare.TableEncoder",
    "ravine.river.RiverClusterer",
    "ravine.tree.HyperplaneTree",
)


def trusted_types() -> list[str]:
    """Return the types of ravine that pickles and skops files of models have, for ``skops.io.load(trusted=...)``.

    These are the estimators, `TableEncoder`, `RiverClusterer` and `HyperplaneTree`, each by its public import path.
    What they have learned is stored as plain arrays, which are checked when the file is read.

    Returns
    -------
    types : list of str
        Names of types. mlflow takes them as ``skops_trusted_types``.

    See Also
    --------
    ravine.save : Writes a file that needs no list.

    Examples
    --------
    >>> from ravine.persist import trusted_types
    >>> trusted_types()[:3]
    ['ravine.HSDC', 'ravine.IncrementalMDH', 'ravine.MDH']

    With skops, which is installed separately::

        skops.io.dump(model, "model.skops")
        model = skops.io.load("model.skops", trusted=trusted_types())
    """
    return list(TYPES)
