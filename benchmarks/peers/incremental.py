"""How the time of IncrementalMDH grows with rows and columns, and what a long stream does to its memory.

    python -m benchmarks.peers.incremental
    python -m benchmarks.peers.incremental --stream 1e6    # a shorter stream

Seconds of one fit, of the default and of the published algorithm (best of three), and the peak resident size of
`partial_fit` over a stream of 20 columns, made in chunks of 100,000 rows.
"""

from __future__ import annotations

import argparse
import resource
import time

import numpy as np
from numpy.typing import NDArray

from ravine import IncrementalMDH

CHUNK = 100_000


def mixture(n: int, d: int, seed: int, k: int = 10) -> NDArray[np.float64]:
    """Rows of k unit Gaussians whose centers do not depend on the seed."""
    rng = np.random.default_rng(seed)
    centers = np.random.default_rng(0).uniform(0, 12, size=(k, d))
    return centers[rng.integers(0, k, n)] + rng.normal(size=(n, d))


def fit_seconds(X: NDArray[np.float64], **options: object) -> float:
    """Best of three fits."""
    times = []
    for _ in range(3):
        start = time.perf_counter()
        IncrementalMDH(**options).fit(X)  # type: ignore[arg-type]
        times.append(time.perf_counter() - start)
    return min(times)


def peak_megabytes() -> float:
    """Largest resident size of this process so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def stream(n_rows: int) -> None:
    """Print how memory and time grow while a stream is learned."""
    model, seconds = IncrementalMDH(), 0.0
    for number in range(n_rows // CHUNK):
        X = mixture(CHUNK, 20, seed=number + 1)
        start = time.perf_counter()
        model.partial_fit(X)
        seconds += time.perf_counter() - start
        if number in (0, n_rows // CHUNK - 1):
            print(f"after {(number + 1) * CHUNK:,} rows: peak {peak_megabytes():.0f} MB, {seconds:.2f} s of learning")
    start = time.perf_counter()
    print(f"{model.n_clusters_} clusters, grown in {time.perf_counter() - start:.2f} s, peak {peak_megabytes():.0f} MB")


def main() -> None:
    cli = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    cli.add_argument("--stream", type=float, default=1e7, help="rows of the stream")
    args = cli.parse_args()
    IncrementalMDH().fit(mixture(2000, 20, seed=1))
    IncrementalMDH(algorithm="online").fit(mixture(2000, 20, seed=1))
    stream(int(args.stream))  # first, while the process is small
    for n, d in [(10**5, 50), (2 * 10**5, 50), (4 * 10**5, 50), (8 * 10**5, 50), (10**5, 100), (10**5, 200)]:
        X = mixture(n, d, seed=1)
        default, paper = fit_seconds(X), fit_seconds(X, algorithm="online")
        print(f"{n:,} × {d}: {default:.2f} s, the published algorithm {paper:.2f} s", flush=True)


if __name__ == "__main__":
    main()
