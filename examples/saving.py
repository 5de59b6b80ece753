"""
Saving and loading a model
==========================

:func:`ravine.save` writes a model to one file: a JSON header and plain arrays. :func:`ravine.load` restores it
to the last bit, and never runs code from the file. A stream model continues to learn as if it had never
stopped.
"""

# %%
# We learn half of a stream, save the model and load it. Then the original and the loaded model both learn the
# second half.

import tempfile
from pathlib import Path

import numpy as np

import ravine
from ravine.datasets import make_blobs

folder = Path(tempfile.mkdtemp())
X, y = make_blobs(20_000, centers=7, n_features=5, cluster_std=1.2, random_state=5)
model = ravine.IncrementalMDH().partial_fit(X[:10_000])

ravine.save(model, folder / "stream.ravine", notes={"trained on": "the first half"})
loaded = ravine.load(folder / "stream.ravine")
print("same clusters:", np.array_equal(model.predict(X), loaded.predict(X)))

model.partial_fit(X[10_000:])
loaded.partial_fit(X[10_000:])
print("same tree after the second half:", model.tree_ == loaded.tree_)

# %%
# The file is a zip archive. You can read its header, and ``numpy.load`` can read its arrays. To continue
# learning, the model needs its sample of rows, so the file contains it. ``resume=False`` leaves the rows out, so
# that you can share the file.

import json
import zipfile

ravine.save(model, folder / "frozen.ravine", resume=False)
for path in sorted(folder.iterdir()):
    with zipfile.ZipFile(path) as archive:
        header = json.loads(archive.read("header.json"))
        print(f"{path.name}: {path.stat().st_size:,} bytes, {header['estimator']}, {len(archive.namelist())} members")
frozen = ravine.load(folder / "frozen.ravine")
print("same predictions:", np.array_equal(frozen.predict(X), model.predict(X)))
try:
    frozen.partial_fit(X)
except ValueError as error:
    print("ValueError:", error)

# %%
# ``ravine.load`` rejects malicious and damaged files. The first file is a pickle, which could run any code when
# it is opened; it is rejected without being read. The second is a copy of the model in which one number is
# changed, so that a node of the tree is its own child and ``predict`` would never end. The third file is
# truncated.

import pickle


class Hostile:
    """Run a command when unpickled."""

    def __reduce__(self):
        """Return the function to call and its arguments."""
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
# The plot shows the tree from the file without rows. Everything drawn here was in the file.

import shutil

from ravine import plot

_ = plot.tree(frozen)
shutil.rmtree(folder)
