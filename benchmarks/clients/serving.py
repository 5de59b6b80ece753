"""Requests per second of the endpoint of docs/guide/serving.md, of one row and of 1,000 rows, on this machine alone.

    python -m benchmarks.clients.serving --out results

The program of the page is written to a folder with a model of 20 columns and started with uvicorn and one worker, which
listens on 127.0.0.1 only. Clients in this process send requests over connections that stay open, for `--seconds` and at
most `--requests` of them. `predict_ms` is the time of the same prediction from lists without a server. Server and
clients share the cores, and whatever else runs there makes all times longer; `server_cpu_ms` is the processor time of
the server for a request, which depends on that much less. Writes serving.csv, serving.md and serving.json.
"""

from __future__ import annotations

import argparse
import http.client
import json
import re
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import psutil

import ravine
from benchmarks import report, stored
from ravine.datasets import make_blobs

NAME = "serving"
PAGE = Path(__file__).parents[2] / "docs" / "guide" / "serving.md"
N_COLUMNS, N_CLUSTERS = 20, 10
ROWS = (1, 1000)
CONNECTIONS = (1, 4)
START_S = 60.0
"""Longest time that the server may take to start."""


def program() -> str:
    """The endpoint of the page."""
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    (found,) = (block for block in blocks if "from fastapi import FastAPI" in block)
    return found


def table() -> pd.DataFrame:
    X, _ = make_blobs(5000, N_COLUMNS, centers=N_CLUSTERS, random_state=0)
    return pd.DataFrame(X, columns=[f"x{j}" for j in range(N_COLUMNS)])


@contextmanager
def server(folder: Path) -> Iterator[tuple[int, psutil.Process]]:
    """Start the program in the folder; yield its port and its process, and end it."""
    (folder / "app.py").write_text(program(), encoding="utf-8")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    command = [sys.executable, "-m", "uvicorn", "app:app", "--host", "127.0.0.1", "--port", str(port)]
    process = subprocess.Popen([*command, "--log-level", "error"], cwd=folder)
    try:
        deadline = time.monotonic() + START_S
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
                break
            except OSError:
                if time.monotonic() > deadline or process.poll() is not None:
                    raise
                time.sleep(0.1)
        yield port, psutil.Process(process.pid)
    finally:
        process.terminate()
        process.wait(timeout=30)


def ask(connection: http.client.HTTPConnection, body: bytes) -> list[int]:
    """Send a request, and return the labels."""
    connection.request("POST", "/predict", body, {"content-type": "application/json"})
    answer = connection.getresponse()
    text = answer.read()
    if answer.status != 200:
        raise RuntimeError(f"status {answer.status}: {text[:200]!r}")
    labels: list[int] = json.loads(text)["labels"]
    return labels


def asked(port: int, body: bytes, deadline: float, most: int) -> list[float]:
    """Seconds of each of the requests over one connection, until the deadline."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    seconds: list[float] = []
    while len(seconds) < most and time.perf_counter() < deadline:
        started = time.perf_counter()
        ask(connection, body)
        seconds.append(time.perf_counter() - started)
    connection.close()
    return seconds


def cpu_seconds(process: psutil.Process) -> float:
    """Return the processor time of a process, user and system together."""
    times = process.cpu_times()
    return float(times.user + times.system)


def measured(
    port: int, process: psutil.Process, rows: list[list[float]], n_connections: int, seconds: float, most: int
) -> dict[str, Any]:
    """One line: requests per second over so many connections at once."""
    body = json.dumps({"rows": rows}).encode()
    asked(port, body, time.perf_counter() + seconds, 3)
    cpu_before, started = cpu_seconds(process), time.perf_counter()
    with ThreadPoolExecutor(n_connections) as pool:
        share = most // n_connections
        work = [pool.submit(asked, port, body, started + seconds, share) for _ in range(n_connections)]
        times = [time_ for each in work for time_ in each.result()]
    passed, cpu = time.perf_counter() - started, cpu_seconds(process) - cpu_before
    return {
        "rows": len(rows),
        "connections": n_connections,
        "requests": len(times),
        "requests_per_s": len(times) / passed,
        "rows_per_s": len(times) * len(rows) / passed,
        "median_ms": 1e3 * float(np.median(times)),
        "p99_ms": 1e3 * float(np.quantile(times, 0.99)),
        "server_cpu_ms": 1e3 * cpu / len(times),
    }


def predict_ms(model: Any, rows: list[list[float]], repeats: int = 50) -> float:
    """Median time of the prediction without a server."""
    times = []
    for _ in range(repeats):
        started = time.perf_counter()
        model.predict(pd.DataFrame(rows, columns=model.feature_names_in_))
        times.append(time.perf_counter() - started)
    return 1e3 * float(np.median(times))


def page(stem: Path) -> str:
    lines = stored.read_table(stem)
    formats = {"rows": "{:,}", "connections": "{}", "requests": "{:,}", "requests_per_s": "{:,.0f}"}
    formats |= {"rows_per_s": "{:,.0f}", "median_ms": "{:.1f}", "p99_ms": "{:.1f}", "server_cpu_ms": "{:.1f}"}
    formats |= {"predict_ms": "{:.1f}"}
    about = (
        f"`IncrementalMDH({N_CLUSTERS})`, {N_COLUMNS} columns, one worker. `rows` is the size of a request. "
        "`server_cpu_ms` is the processor time of the server for a request, and `predict_ms` the time of the "
        "prediction alone, without a server. Other programs used the cores too, which makes times longer. The first "
        f"request after the start took {lines['first_ms'].iloc[0]:,.0f} ms."
    )
    parts = [report.section("Requests", about, report.formatted(lines, formats, text=0))]
    return stored.page("The speed of the endpoint", stem, parts)


def main() -> None:
    """Measure, print and write."""
    cli = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    cli.add_argument("--seconds", type=float, default=5.0, help="time of a line of the table (5)")
    cli.add_argument("--requests", type=int, default=5000, help="most requests of a line (5000)")
    cli.add_argument("--out", type=Path, default=Path("results"), metavar="DIR", help="where the results go (results)")
    args = cli.parse_args()
    stem, entry = args.out / NAME, stored.run_details(sys.argv[1:], ["fastapi", "uvicorn", "pandas"])
    frame = table()
    rows: list[list[float]] = frame.to_numpy().tolist()
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "model.ravine"
        ravine.save(ravine.IncrementalMDH(N_CLUSTERS).fit(frame), place)
        model = ravine.load(place)
        with server(Path(folder)) as (port, process):
            first = 1e3 * asked(port, json.dumps({"rows": rows[:1]}).encode(), np.inf, 1)[0]
            for n_rows in ROWS:
                for n_connections in CONNECTIONS:
                    line = measured(port, process, rows[:n_rows], n_connections, args.seconds, args.requests)
                    lines.append(line | {"first_ms": first})
    for line in lines:
        line["predict_ms"] = predict_ms(model, rows[: line["rows"]])
    stored.record(stem, entry, anew=True)
    pd.DataFrame(lines).to_csv(stem.with_suffix(".csv"), index=False, float_format="%.4g", lineterminator="\n")
    stored.write_page(stem, page(stem))


if __name__ == "__main__":
    main()
