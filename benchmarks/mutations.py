"""Damaged model files by chance or on purpose: what `load` makes of them, and in how much memory.

    python -m benchmarks.mutations --out results

Every estimator is saved, and its file changed in many ways: bits, lengths, members, numbers. A changed file is refused
by a ValueError, or gives the model that was saved; with good checksums it may give another model, which must predict.
The process that loads has no more address space than twice the file and 64 MB beside what it had. Large files show the
same bound where it matters. Writes mutations_outcomes.csv, mutations_memory.csv, mutations.md and mutations.json.
"""

from __future__ import annotations

import argparse
import io
import json
import multiprocessing
import re
import resource
import struct
import sys
import tempfile
import time
import tracemalloc
import warnings
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse

from benchmarks import report, stored
from ravine import (
    HSDC,
    MDH,
    PDDP,
    SPDC,
    IncrementalMDH,
    MDHClassifier,
    NCutH,
    SpectralPursuit,
    SpectralPursuitClassifier,
    StreamClusterer,
    SumOfNorms,
    SupportVectorClustering,
    load,
    save,
)

NAME = "mutations"
MB = 1_000_000
ROOM = 64 * MB
"""Bytes that a load may take beside twice the file."""

HEADER = "header.json"
LIMIT_S = 60.0
"""Seconds after which a load has hung."""

Members = dict[str, bytes]
Mutation = Callable[[bytes, bytes, np.random.Generator], bytes]


def models() -> dict[str, Any]:
    """Small fitted models of every kind that a file can hold."""
    X = rows(60, 3)
    small: dict[str, Any] = {"max_depth": 2, "sample_size": 40, "n_jobs": 1}
    words = np.array(["a", "b", "c"])[np.argmax(X @ np.eye(3) + [6, 0, 0], axis=1)]
    return {
        "PDDP": PDDP(n_clusters=3, n_jobs=1).fit(pd.DataFrame(X, columns=["a", "b", "c"])),
        "NCutH": NCutH(n_clusters=3, init=np.eye(3), random_state=np.random.RandomState(0), n_jobs=1).fit(X),
        "MDH": MDH(n_clusters=3, n_jobs=1).fit(X),
        "SpectralPursuit": SpectralPursuit(n_clusters=4, n_microclusters=12, n_jobs=1).fit(X),
        "IncrementalMDH": IncrementalMDH(**small).fit(X),
        "IncrementalMDH, stream": IncrementalMDH(n_clusters=2, **small).partial_fit(X),
        "IncrementalMDH, sparse": IncrementalMDH(n_clusters=2, memory_length=30, **small).partial_fit(
            sparse.csr_array(X)
        ),
        "IncrementalMDH, paper": IncrementalMDH(**small, algorithm="online").partial_fit(sparse.csr_array(X)),
        "HSDC": HSDC().partial_fit(rows(1500, 3)),
        "SPDC": SPDC().partial_fit(rows(1500, 3)),
        "StreamClusterer": StreamClusterer(window_size=64).partial_fit(rows(1500, 3)),
        "SumOfNorms": SumOfNorms(n_lambdas=20, n_jobs=1).fit(X, sample_weight=np.arange(60) % 5),
        "SupportVectorClustering": SupportVectorClustering(budget=20, gamma=0.5).fit(X),
        "SupportVectorClustering, stream": SupportVectorClustering(budget=30, gamma=0.5).partial_fit(X),
        "MDHClassifier": MDHClassifier(n_jobs=1).fit(X, words),
        "SpectralPursuitClassifier": SpectralPursuitClassifier(n_jobs=1).fit(X, words == "a"),
    }


def rows(n_rows: int, n_columns: int, seed: int = 1) -> NDArray[np.float64]:
    """Three clouds, in random order."""
    random = np.random.default_rng(seed)
    centers = np.zeros((3, n_columns))
    centers[1, 0] = centers[2, 1 % n_columns] = 12
    X: NDArray[np.float64] = centers[random.integers(0, 3, n_rows)] + random.standard_normal((n_rows, n_columns))
    return X


def large_models() -> Iterator[tuple[str, Any]]:
    """Models with files of tens of megabytes."""
    wide = rows(40, 100_000)
    yield "PDDP", PDDP(n_clusters=8, criterion="mean").fit(wide)
    yield "SpectralPursuit", SpectralPursuit(n_clusters=6, n_microclusters=12).fit(wide[:, :50_000])
    yield "IncrementalMDH", IncrementalMDH(n_clusters=2).partial_fit(wide[:, :20_000])
    yield "IncrementalMDH, sparse", IncrementalMDH(n_clusters=2).partial_fit(sparse.csr_array(wide[:, :20_000] * 1.0))
    yield "HSDC", HSDC().partial_fit(wide)
    yield "SupportVectorClustering", SupportVectorClustering(gamma=1e-5).fit(rows(1500, 2000))


def unpacked(content: bytes) -> Members:
    """The members of an archive by name."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {info.filename: archive.read(info) for info in archive.infolist()}


def packed(members: Members | list[tuple[str, bytes]], compression: int = zipfile.ZIP_STORED) -> bytes:
    """An archive of some members, with good checksums."""
    buffer = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(buffer, "w", compression) as archive:
        warnings.simplefilter("ignore")  # a name may stand twice
        for name, content in members.items() if isinstance(members, dict) else members:
            archive.writestr(name, content)
    return buffer.getvalue()


def npy(array: Any) -> bytes:
    """An array as NumPy stores it."""
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, np.asarray(array))
    return buffer.getvalue()


def _bits(ours: bytes, _: bytes, random: np.random.Generator) -> bytes:
    content = bytearray(ours)
    for place in random.integers(0, len(ours), random.integers(1, 9)):
        content[place] ^= 1 << int(random.integers(0, 8))
    return bytes(content)


def _bits_of_the_directory(ours: bytes, _: bytes, random: np.random.Generator) -> bytes:
    content = bytearray(ours)
    for place in random.integers(1, min(len(ours), 2000), random.integers(1, 4)):
        content[-place] = int(random.integers(0, 256))
    return bytes(content)


def _truncated(ours: bytes, _: bytes, random: np.random.Generator) -> bytes:
    at = int(random.integers(0, len(ours)))
    return ours[:at] if random.random() < 0.7 else ours[at:]


def _spliced(ours: bytes, theirs: bytes, random: np.random.Generator) -> bytes:
    a, b = int(random.integers(0, len(ours))), int(random.integers(0, len(theirs)))
    return ours[:a] + theirs[b:]


def _junk(ours: bytes, theirs: bytes, random: np.random.Generator) -> bytes:
    junk = theirs if random.random() < 0.3 else random.bytes(int(random.integers(1, 3000)))
    at = int(random.choice([0, len(ours), int(random.integers(0, len(ours)))]))
    return ours[:at] + junk + ours[at:]


def _lengths(ours: bytes, _: bytes, random: np.random.Generator) -> bytes:
    """Another length or offset in a header of the archive, or in what an array says of itself."""
    signs = {b"PK\x03\x04": (18, 22, 26), b"PK\x01\x02": (20, 24, 28, 30, 42), b"PK\x05\x06": (8, 10, 12, 16)}
    sign = [b"PK\x03\x04", b"PK\x01\x02", b"PK\x05\x06"][int(random.integers(0, 3))]
    place = int(random.choice([found.start() for found in re.finditer(re.escape(sign), ours)]))
    content = bytearray(ours)
    short = sign == b"PK\x05\x06" or random.random() < 0.3
    value = int(random.choice([0, 1, 2**15, 2**16 - 1] if short else [0, 1, len(ours), 2**31, 2**32 - 2, 2**32 - 1]))
    at = place + int(random.choice(signs[sign]))
    struct.pack_into("<H" if short else "<I", content, at, value)
    return bytes(content)


def _any_member(members: Members, random: np.random.Generator, but_header: bool = False) -> str:
    return str(random.choice([name for name in members if name != HEADER or not but_header]))


def _swapped(ours: bytes, theirs: bytes, random: np.random.Generator) -> bytes:
    members, others = unpacked(ours), unpacked(theirs)
    for _ in range(int(random.integers(1, 4))):
        name = _any_member(members, random)
        members[name] = (
            others[name] if name in others and random.random() < 0.7 else others[_any_member(others, random)]
        )
    return packed(members)


def _missing_or_twice(ours: bytes, _: bytes, random: np.random.Generator) -> bytes:
    members = list(unpacked(ours).items())
    at = int(random.integers(0, len(members)))
    match int(random.integers(0, 4)):
        case 0:
            del members[at]
        case 1:
            members.append(members[at])
        case 2:
            members.append((f"more{at}.npy", members[at][1]))
        case _:
            random.shuffle(members)
    return packed(members)


def _compressed(ours: bytes, _: bytes, random: np.random.Generator) -> bytes:
    members = unpacked(ours)
    if random.random() < 0.5:
        members[_any_member(members, random)] = bytes(int(10 ** random.uniform(5, 7.5)))
        return packed(members, zipfile.ZIP_DEFLATED)
    return packed(members, int(random.choice([zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])))


def _shapes_that_lie(ours: bytes, _: bytes, random: np.random.Generator) -> bytes:
    members = unpacked(ours)
    name = _any_member(members, random, but_header=True)
    shape = [b"(999999999999,)", b"(0,)", b"()", b"(4294967296, 4294967296)", b"(-1,)", b"(1, 1)"][
        random.integers(0, 6)
    ]
    old = members[name]
    head = re.sub(rb"'shape': \([^)]*\)", b"'shape': " + shape, old[10:128]).rstrip() + b" "
    members[name] = old[:10] + head.ljust(117)[:117] + b"\n" + old[128:]
    return packed(members)


def _bytes_of_members(ours: bytes, _: bytes, random: np.random.Generator) -> bytes:
    members = unpacked(ours)
    name = _any_member(members, random)
    members[name] = _bits(members[name], b"", random)
    return packed(members)


NUMBERS = (np.nan, np.inf, -np.inf, 1e308, 1e200, 1e-200, -1.0, 0.0, 2.0**62, 1e9)


def _numbers_of_arrays(ours: bytes, _: bytes, random: np.random.Generator) -> bytes:
    members = unpacked(ours)
    name = _any_member(members, random, but_header=True)
    array = np.load(io.BytesIO(members[name])).copy()
    number = NUMBERS[random.integers(0, len(NUMBERS))]
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        match int(random.integers(0, 5)):
            case 0 if array.size:
                array.flat[random.integers(0, array.size)] = np.array(number).astype(array.dtype)
            case 1:
                array = array.astype(random.choice(["b1", "i1", "u2", "i4", "u8", "f2", "f4", "f8"]))
            case 2:
                array = [array[:0], array[:-1], array.ravel(), array[..., np.newaxis]][random.integers(0, 4)]
            case 3:
                array = np.repeat(array, 50, axis=0)
            case _:
                array = array * np.array(number).astype(array.dtype)
    members[name] = npy(array)
    return packed(members)


VALUES: tuple[Any, ...] = (
    None, True, -1, 0, 1, 2, 10**6, 10**9, 2**31, 2**40, 2**62, 2**63, 10**30, -1.5, 0.0, 1e-300, 1e300, "", "auto",
    "paper", "exact", [], {}, [[0.5]], {"$float": "nan"}, {"$float": "inf"}, {"$array": "state.labels"}, {"$tuple": []},
    {"$scalar": ["<f8", 1.0]}, ["a"] * 50, list(range(50)),
)  # fmt: skip


def _paths(node: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if path:
        yield path
    items = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, item in items:
        yield from _paths(item, (*path, key))


def _values_of_the_header(ours: bytes, _: bytes, random: np.random.Generator) -> bytes:
    members = unpacked(ours)
    header = json.loads(members[HEADER])
    for _i in range(int(random.integers(1, 3))):
        paths = list(_paths(header))
        *parents, key = paths[random.integers(0, len(paths))]
        parent = header
        for step in parents:
            parent = parent[step]
        if random.random() < 0.2:
            del parent[key]
        else:
            parent[key] = VALUES[random.integers(0, len(VALUES))]
    return packed({**members, HEADER: json.dumps(header).encode()})


def _parameters(ours: bytes, _: bytes, random: np.random.Generator) -> bytes:
    """A parameter that is far too large, or one that another estimator has."""
    members = unpacked(ours)
    header = json.loads(members[HEADER])
    key = str(random.choice(list(header["parameters"])))
    header["parameters"][key] = [10**5, 10**9, 2**40, 2**62, 1e9, 1e300, 1e-9][random.integers(0, 7)]
    if random.random() < 0.3:
        header["n_features_in"] = [1, 2, 10**6, 2**40, 2**62][random.integers(0, 5)]
    return packed({**members, HEADER: json.dumps(header).encode()})


def _long_header(ours: bytes, _: bytes, random: np.random.Generator) -> bytes:
    """A header whose values would need far more memory than its letters."""
    members = unpacked(ours)
    header = json.loads(members[HEADER])
    n = int(10 ** random.uniform(1, 6))
    item = random.choice(["[]", "{}", '{"a":1}', "1e5", '"\\ud83d\\ude00"', "1234567"])
    long = {"items": f"[{','.join([item] * n)}]", "nested": "[" * n + "]" * n}[random.choice(["items", "nested"])]
    field = str(random.choice(["state", "notes", "parameters", "feature_names", "estimator", "more"]))
    text = json.dumps({**header, field: "@"}).replace('"@"', long if random.random() < 0.5 else f'{{"a":{long}}}')
    return packed({**members, HEADER: text.encode()})


AS_DAMAGE: dict[str, Mutation] = {
    "bits flipped": _bits,
    "directory changed": _bits_of_the_directory,
    "truncated": _truncated,
    "spliced with another file": _spliced,
    "junk added": _junk,
    "lengths that lie": _lengths,
}
"""What happens to files, and is found by what they say of themselves: refused, or the model that was saved."""

AS_ATTACK: dict[str, Mutation] = {
    "members swapped": _swapped,
    "members missing, twice or moved": _missing_or_twice,
    "compressed": _compressed,
    "shapes that lie": _shapes_that_lie,
    "bits of members": _bytes_of_members,
    "numbers of arrays": _numbers_of_arrays,
    "values of the header": _values_of_the_header,
    "parameters": _parameters,
    "long header": _long_header,
}
"""What somebody does who writes good checksums: refused, or a model that predicts."""

KNOWN = ("refused", "equal", "another model that predicts")
"""What may come of a file."""

MUTATIONS = {**AS_DAMAGE, **AS_ATTACK}


def bound(n_bytes: int) -> int:
    """Most bytes of memory that the load of a file of this size may take."""
    return 2 * n_bytes + ROOM


def attempt(place: Path) -> tuple[Any, int]:
    """The model of a file, or the error that its load has raised, and the peak of the memory that it took."""
    tracemalloc.start()
    try:
        try:
            found: Any = load(place)
        except Exception as error:
            found = error.with_traceback(None)
        return found, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def outcome(found: Any, place: Path, saved: Any, may_differ: bool) -> str:
    """What has come of a file: "refused", "equal" or "another model that predicts"; all else is a defect."""
    if isinstance(found, Exception):
        is_told = isinstance(found, ValueError) and str(found).startswith(str(place))
        return "refused" if is_told else f"{type(found).__name__}: {str(found)[:200]}"
    try:
        if type(found) is type(saved) and same(found._state(True), saved._state(True)):
            return "equal"
    except Exception as error:
        return f"its state: {type(error).__name__}: {str(error)[:200]}"
    return _predicted(found) if may_differ else "another model"


def same(ours: Any, other: Any) -> bool:
    """Whether two states are equal to the last bit."""
    if type(ours) is not type(other):
        return False
    if isinstance(ours, dict):
        return ours.keys() == other.keys() and all(same(ours[key], other[key]) for key in ours)
    if isinstance(ours, list | tuple):
        return len(ours) == len(other) and all(map(same, ours, other))
    if sparse.issparse(ours):
        return same((ours.data, ours.indices, ours.indptr), (other.data, other.indices, other.indptr))
    if isinstance(ours, np.ndarray):
        return (ours.dtype, ours.shape, ours.tobytes()) == (other.dtype, other.shape, other.tobytes())
    return bool(ours == other or (isinstance(ours, float) and ours != ours and other != other))


def _predicted(model: Any) -> str:
    """The rows of a sample may be absurd: that shows when a tree is grown from them, as it would without a file."""
    names = getattr(model, "feature_names_in_", None)
    X: Any = rows(9, model.n_features_in_)
    try:
        labels = model.predict(X if names is None else pd.DataFrame(X, columns=names))
    except ValueError as error:
        return "another model that predicts" if hasattr(model, "_stream") else f"predict: {str(error)[:200]}"
    except Exception as error:
        return f"predict: {type(error).__name__}: {str(error)[:200]}"
    is_whole = labels.shape == (9,) and (hasattr(model, "classes_") or (labels < model.n_clusters_).all())
    return "another model that predicts" if is_whole else "predict: labels that are none"


def attempts(n_mutations: int, seed: int, start: int = 0) -> Iterator[tuple[int, str, str, Any, bytes]]:
    """So many changed files, from number `start` on: number, name of the model, change, the model and the file."""
    saved = models()
    with tempfile.TemporaryDirectory() as folder:
        contents = {}
        for name, model in saved.items():
            save(model, Path(folder) / "model", notes={"columns": ["a"]})
            contents[name] = (Path(folder) / "model").read_bytes()
    names, kinds = list(saved), list(MUTATIONS)
    for number in range(start, n_mutations):
        name, kind = names[number % len(names)], kinds[number // len(names) % len(kinds)]
        random = np.random.default_rng((seed, number))
        theirs = contents[names[random.integers(0, len(names))]]
        yield number, name, kind, saved[name], MUTATIONS[kind](contents[name], theirs, random)


def _limit_memory(n_bytes: int) -> None:
    """Let the address space of this process grow by so many bytes and no more."""
    words = Path("/proc/self/statm").read_text().split()
    now = int(words[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (now + n_bytes, resource.RLIM_INFINITY))


def _work(channel: Any, n_mutations: int, seed: int, start: int) -> None:
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "model"
        for number, name, kind, model, content in attempts(n_mutations, seed, start):
            channel.send((number, name, kind))
            place.write_bytes(content)
            _limit_memory(bound(len(content)))
            found, peak = attempt(place)
            resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
            channel.send((outcome(found, place, model, kind in AS_ATTACK), peak, len(content)))
    channel.send(None)


def run(n_mutations: int, seed: int) -> Iterator[dict[str, Any]]:
    """What comes of every mutation; the loads run in a process of their own, which is begun anew where it dies."""
    start = 0
    while start < n_mutations:
        ours, theirs = multiprocessing.Pipe()
        worker = multiprocessing.get_context("spawn").Process(target=_work, args=(theirs, n_mutations, seed, start))
        worker.start()
        theirs.close()
        try:
            while (begun := ours.recv()) is not None:
                number, name, kind = begun
                start = number + 1
                row = {"model": name, "mutation": kind}
                if not ours.poll(LIMIT_S):
                    worker.kill()
                    yield {**row, "outcome": f"hung for {LIMIT_S:g} s", "peak": 0, "size": 0, "number": number}
                    break
                what, peak, size = ours.recv()
                yield {**row, "outcome": what, "peak": peak, "size": size, "number": number}
            else:
                start = n_mutations
        except EOFError:  # the process has died of what it was sent last
            yield {**row, "outcome": "crash", "peak": 0, "size": 0, "number": number}
        worker.join()


def large() -> Iterator[dict[str, Any]]:
    """Peak memory of the load of large files."""
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "model"
        for name, model in large_models():
            save(model, place)
            attempt(place)  # what is imported and compiled for it stays
            start = time.perf_counter()
            found, peak = attempt(place)
            seconds = time.perf_counter() - start
            size = place.stat().st_size
            is_good = not isinstance(found, Exception) and same(found._state(True), model._state(True))
            yield {
                "model": name,
                "file_mb": size / MB,
                "peak_mb": peak / MB,
                "peak_by_file": peak / size,
                "bound_mb": bound(size) / MB,
                "load_s": seconds,
                "outcome": "equal" if is_good else str(found)[:200],
            }


def counted(results: list[dict[str, Any]]) -> pd.DataFrame:
    """A row for each mutation: how often each outcome has come, and the largest share of the memory allowed."""
    table = pd.DataFrame(results)
    table["share"] = table["peak"] / (2 * table["size"] + ROOM)
    out = []
    for kind in MUTATIONS:
        part = table[table["mutation"] == kind]
        counts = Counter(part["outcome"])
        known = {name: counts.pop(name, 0) for name in KNOWN}
        out.append(
            {
                "mutation": kind,
                "files": len(part),
                **known,
                "defects": counts.total(),
                "most_memory": part["share"].max(),
            }
        )
    return pd.DataFrame(out)


def page(stem: Path) -> str:
    outcomes, memory = (stored.read_table(stem, part) for part in ("outcomes", "memory"))
    numbers = {"mutation": "{}"} | dict.fromkeys(["files", *KNOWN, "defects"], "{:,}")
    note = (
        "`most_memory` is the largest memory peak of a load, as a share of the limit of twice the file and 64 MB. The "
        "changes below the first six write valid checksums, so they can result in another model."
    )
    megabytes = {"model": "{}"} | dict.fromkeys(["file_mb", "peak_mb", "bound_mb"], "{:.1f}")
    parts = [
        report.section("Changed files", note, report.formatted(outcomes, {**numbers, "most_memory": "{:.0%}"})),
        report.section(
            "Large files",
            "The memory peak of `load`.",
            report.formatted(memory, {**megabytes, "peak_by_file": "{:.2f}", "load_s": "{:.2f}", "outcome": "{}"}),
        ),
    ]
    return stored.page("Damaged model files", stem, parts)


def main() -> None:
    """Change, load, print and write; the exit code tells of defects."""
    cli = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    cli.add_argument("--mutations", type=int, default=10_500, help="changed files (10,500)")
    cli.add_argument("--seed", type=int, default=0, help="which ones (0)")
    cli.add_argument("--out", type=Path, default=Path("results"), metavar="DIR", help="where the results go (results)")
    args = cli.parse_args()
    stem, entry = args.out / NAME, stored.run_details(sys.argv[1:])
    results = []
    for row in run(args.mutations, args.seed):
        results.append(row)
        if row["outcome"] not in KNOWN or row["peak"] > bound(row["size"]):
            print(row, file=sys.stderr)
    stored.record(stem, entry, anew=True)
    stored.write_table(stem, "outcomes", counted(results), "%.3g")
    stored.write_table(stem, "memory", pd.DataFrame(large()), "%.4g")
    stored.write_page(stem, page(stem))
    sys.exit(any(row["outcome"] not in KNOWN for row in results))


if __name__ == "__main__":
    main()
