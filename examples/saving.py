"""
Saving and loading
==================

:func:`ravine.save` writes a model into one file: a JSON header and plain arrays. :func:`ravine.load` gives it
back, to the last bit, and runs no code from the file whatever is in it. A stream goes on learning as if it
had never stopped.
"""

# %%
# Half of a stream is learned, saved, and loaded again. The loaded model and the one that was never saved go
# on side by side.

import tempfile
from pathlib import Path

import numpy as np

import ravine
from ravine.datasets import make_blobs

folder = Path(tempfile.mkdtemp())
X, y = make_blobs(20_000, centers=7, n_features=5, cluster_std=1.2, random_state=5)
model = ravine.IncrementalMDH().partial_fit(X[:10_000])

ravine.save(model, folder / "stream.ravine", notes={"trained on": "the first half"})
again = ravine.load(folder / "stream.ravine")
print("same clusters:", np.array_equal(model.predict(X), again.predict(X)))

model.partial_fit(X[10_000:])
again.partial_fit(X[10_000:])
print("same tree after the second half:", model.tree_ == again.tree_)

# %%
# The file is a zip archive. A person can read its header, and ``numpy.load`` its arrays. To go on learning
# the model needs its sample of rows, so they are in the file; ``resume=False`` leaves them out, and the file
# can be handed on.

import json
import zipfile

ravine.save(model, folder / "frozen.ravine", resume=False)
for path in sorted(folder.iterdir()):
    with zipfile.ZipFile(path) as archive:
        header = json.loads(archive.read("header.json"))
        print(f"{path.name}: {path.stat().st_size:,} bytes, {header['estimator']}, {len(archive.namelist())} members")
frozen = ravine.load(folder / "frozen.ravine")
print("predicts alike:", np.array_equal(frozen.predict(X), model.predict(X)))
try:
    frozen.partial_fit(X)
except ValueError as error:
    print("ValueError:", error)

# %%
# What a hostile file gets. A pickle can run any code when it is opened; here it is refused unread. In a copy
# of the model one number is changed so that a node of the tree is its own child, which would lead ``predict``
# round for ever. A third file is cut short.

import pickle


class Hostile:
    """Runs a command where it is unpickled."""

    def __reduce__(self):
        """Name what is to be called."""
        return print, ("code from the file was run",)


(folder / "pickle.ravine").write_bytes(pickle.dumps(Hostile()))
with zipfile.ZipFile(folder / "frozen.ravine") as good, zipfile.ZipFile(folder / "loop.ravine", "w") as bad:
    for name in good.namelist():
        content = bytearray(good.read(name))
        if name == "state.tree.left.npy":
            content[-8 * frozen.tree_.n_nodes] = 0  # the left child of the root is the root
        bad.writestr(name, bytes(content))
(folder / "short.ravine").write_bytes((folder / "frozen.ravine").read_bytes()[:-100])
for name in ("pickle", "loop", "short"):
    try:
        ravine.load(folder / f"{name}.ravine")
    except ValueError as error:
        print(f"{name:7s}", str(error).removeprefix(str(folder)))

# %%
# The tree that came out of the file without rows: everything that is drawn here was in it.

import shutil

from ravine import plot

_ = plot.tree(frozen)
shutil.rmtree(folder)
