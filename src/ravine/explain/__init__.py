"""What is this cluster? Profiles, sentences, rules and SQL in the columns and units of the user's table."""

from ravine.explain._conditions import Condition
from ravine.explain._profiles import ColumnProfile, Profiles, profile
from ravine.explain._row import RowExplanation, Step, explain_row
from ravine.explain._rules import Rule, Rules, rules
from ravine.explain._sentences import cluster_names, sentence
from ravine.explain._tree_sql import tree_sql

__all__ = [
    "ColumnProfile",
    "Condition",
    "Profiles",
    "RowExplanation",
    "Rule",
    "Rules",
    "Step",
    "cluster_names",
    "explain_row",
    "profile",
    "rules",
    "sentence",
    "tree_sql",
]
