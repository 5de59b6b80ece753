"""What is this cluster? Profiles, sentences, rules and SQL in the columns and units of the user's table."""

from ravine.explain._conditions import Condition
from ravine.explain._profiles import ColumnProfile, Profiles, profile
from ravine.explain._rules import Rule, Rules, rules
from ravine.explain._sentences import cluster_names, sentence

__all__ = [
    "ColumnProfile",
    "Condition",
    "Profiles",
    "Rule",
    "Rules",
    "cluster_names",
    "profile",
    "rules",
    "sentence",
]
