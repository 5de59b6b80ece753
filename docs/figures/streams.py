"""The pictures of the page on streams: scores over time, and clusters over time.

Run `python docs/figures/streams.py`. It writes to `docs/images`.
"""

from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")

import numpy as np
import pandas as pd

from ravine import StreamClusterer, plot
from ravine.evaluation import evaluate

IMAGES = Path(__file__).parents[1] / "images"


def readings():
    """The rows of the page, and the state of each."""
    rng = np.random.default_rng(5)
    state = rng.integers(4, size=12_000)
    before = np.array([[20, 1.0, 300], [32, 1.0, 300], [20, 2.2, 300], [20, 1.0, 420]])
    after = before.copy()
    after[1] = [26, 1.3, 330]
    centers = np.where(np.arange(12_000)[:, None] < 6_000, before[state], after[state])
    values = centers + [1, 0.1, 10] * rng.normal(size=(12_000, 3))
    return pd.DataFrame(values, columns=["temperature", "pressure", "speed"]), state


def main():
    """Draw both."""
    stream, state = readings()
    axes = {"drift": plot.stream(evaluate(StreamClusterer(), stream, state)), "timeline": None}
    model = StreamClusterer()
    for start in range(0, len(stream), 500):
        model.partial_fit(stream[start : start + 500])
    axes["timeline"] = plot.timeline(model)
    for name, ax in axes.items():
        ax.figure.savefig(IMAGES / f"{name}.png", dpi=150, bbox_inches="tight")


if __name__ == "__main__":
    main()
