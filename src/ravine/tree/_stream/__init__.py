"""The tree of `ravine.StreamClusterer`: it finds clusters in a stream, follows them, and reports what happens to them.

`_tree` learns rows, `_search` finds cuts, `_placement` places them anew, `_ownership` tells clusters from strays, and
`_changes` those that continue from those that are gone. `_profile` and `_units` describe the rows of a leaf, `_nodes`
holds the arrays, `_registry` with `_matching` names clusters, `_events` logs, `_history` counts rows over time, and
`_state` saves. `_timeline` and `_present` give plots and reports what they show.
"""

from ravine.tree._stream._events import KINDS, in_words
from ravine.tree._stream._state import STREAM_TREE, restore, sizes_of_stream, state_of
from ravine.tree._stream._tree import StreamSettings, StreamTree

__all__ = ["KINDS", "STREAM_TREE", "StreamSettings", "StreamTree", "in_words", "restore", "sizes_of_stream", "state_of"]
