"""Files of every estimator, changed in many ways: refused in words or loaded, and never in much memory.

`benchmarks.mutations` tries many more, in a process that may not take more memory.
"""

import json
import struct
import warnings
import zipfile

import numpy as np
import pytest
from benchmarks.mutations import (
    AS_ATTACK,
    HEADER,
    KNOWN,
    MB,
    MUTATIONS,
    attempt,
    attempts,
    bound,
    npy,
    outcome,
    packed,
    unpacked,
)
from tests.estimators import CLASSES

from ravine import PDDP, MDHClassifier, load, save
from ravine.persist._archive import LARGEST_DIRECTORY

N_MUTATIONS = 315
GB = 1000 * MB


def test_changed_files_are_refused_or_loaded_in_bounded_memory(tmp_path):
    place, kinds, names = tmp_path / "model", set(), set()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number, name, kind, model, content in attempts(N_MUTATIONS, seed=1):
            place.write_bytes(content)
            found, peak = attempt(place)
            assert outcome(found, place, model, kind in AS_ATTACK) in KNOWN, (number, name, kind)
            assert peak <= bound(len(content)), (number, name, kind)
            kinds.add(kind)
            names.add(type(model))
    assert kinds == set(MUTATIONS)
    assert names == set(CLASSES)


@pytest.fixture(scope="module")
def content(tmp_path_factory):
    path = tmp_path_factory.mktemp("saved") / "model"
    save(PDDP(n_clusters=2, criterion="mean").fit(np.arange(12.0).reshape(6, 2)), path)
    return path.read_bytes()


def refusal(path, most=8 * MB):
    """What is said of a file; it may take little memory, whatever its length."""
    found, peak = attempt(path)
    assert isinstance(found, ValueError), found
    assert peak < most
    return str(found)


def stretched(path, start, end, size):
    """A file of this size with nothing between its start and its end: it takes no room on the disk."""
    with open(path, "wb") as file:
        file.write(start)
        file.seek(size - len(end))
        file.write(end)


END = struct.Struct("<4s4H2IH")


def end_of_archive(n_members, size, offset):
    return END.pack(b"PK\x05\x06", 0, 0, n_members, n_members, size, offset, 0)


def test_a_file_of_20_gigabytes_is_refused_at_its_first_bytes(content, tmp_path):
    path = tmp_path / "model"
    for start in (b"", b"a,b\n", content[:4], content[:-22]):
        stretched(path, start, b"", 20 * GB)
        assert "is not a model saved by ravine, or is incomplete" in refusal(path)
    path.unlink()


def test_a_directory_of_gigabytes_is_not_read(content, tmp_path):
    path = tmp_path / "model"
    for n_members, size in ((1, 2**32 - 2), (2**16 - 2, 3 * GB), (1, 2 * LARGEST_DIRECTORY)):
        stretched(path, content[:500], end_of_archive(n_members, size, 500), 5 * GB)
        assert "its list of members is too long" in refusal(path)
    stretched(path, content[:-22], content[-22:], 20 * GB)  # it is not where the end says
    assert "damaged" in refusal(path)
    path.unlink()


def test_arrays_that_nothing_names_are_not_read(content, tmp_path):
    """A member of gigabytes, whole and with a good checksum, beside a model."""
    path, n_bytes = tmp_path / "model", 1 << 30
    members = unpacked(content)
    head = (
        npy(np.zeros(0))[:10] + b"{'descr': '<f8', 'fortran_order': False, 'shape': (134217728,), }".ljust(117) + b"\n"
    )
    path.write_bytes(packed({**members, "more.npy": head}))
    with zipfile.ZipFile(path) as archive:
        info, start_dir = archive.getinfo("more.npy"), archive.start_dir
    tail = bytearray(path.read_bytes()[start_dir:])
    place = tail.index(struct.pack("<III", info.CRC, len(head), len(head)))
    struct.pack_into("<III", tail, place, 0, len(head) + n_bytes, len(head) + n_bytes)
    struct.pack_into("<I", tail, len(tail) - 6, start_dir + n_bytes)
    stretched(path, path.read_bytes()[:start_dir], bytes(tail), start_dir + n_bytes + len(tail))
    assert "has arrays that the header does not mention: more" in refusal(path)
    path.unlink()


@pytest.mark.parametrize("size", [2**31, 2**32 - 2])
def test_a_member_that_claims_more_than_the_file_is_not_read(size, content, tmp_path):
    place = content.index(b"PK\x01\x02")
    changed = bytearray(content)
    struct.pack_into("<II", changed, place + 20, size, size)
    (tmp_path / "model").write_bytes(changed)
    assert "overlap, or something between them" in refusal(tmp_path / "model")


def test_what_is_compressed_is_not_unpacked(content, tmp_path):
    bomb = packed({**unpacked(content), "state.labels.npy": bytes(80 * MB)}, zipfile.ZIP_DEFLATED)
    assert len(bomb) < MB
    (tmp_path / "model").write_bytes(bomb)
    assert "is compressed or encrypted" in refusal(tmp_path / "model")


@pytest.mark.parametrize("item", ["[]", "{}", '{"a":1}', "1.5", '"\\ud83d\\ude00 and more"', "12345", "[[1]]"])
@pytest.mark.parametrize("field", ["state", "notes", "feature_names"])
def test_headers_take_no_more_memory_than_is_allowed(field, item, content, tmp_path):
    members = unpacked(content)
    for n in (5_000, 40_000):
        header = json.dumps({**json.loads(members[HEADER]), field: "@"})
        long = f"[{','.join([item] * n)}]"
        value = long if field == "feature_names" else f'{{"a":{long}}}'
        text = header.replace('"@"', value).encode()
        (tmp_path / "model").write_bytes(packed({**members, HEADER: text}))
        found, peak = attempt(tmp_path / "model")
        assert peak <= bound((tmp_path / "model").stat().st_size)
        assert field == "notes" or isinstance(found, ValueError)


def test_messages_about_a_file_are_short(content, tmp_path):
    members = unpacked(content)
    for field in ("estimator", "format", "ravine_version", "n_features_in", "a" * MB):
        header = {**json.loads(members[HEADER]), field: "b" * MB}
        (tmp_path / "model").write_bytes(packed({**members, HEADER: json.dumps(header).encode()}))
        found, _ = attempt(tmp_path / "model")
        assert len(str(found)) < 1000


def test_classes_of_a_file_do_not_multiply(tmp_path):
    X = np.random.default_rng(0).normal(size=(40, 2))
    save(MDHClassifier().fit(X, np.where(X[:, 0] > 0, "a", "b")), tmp_path / "model")
    members = unpacked((tmp_path / "model").read_bytes())
    header = json.loads(members[HEADER])
    many, long = [f"{i:06d}" for i in range(30_000)], ["a", "b" * 3_000_000]
    for classes, message in ((many, "field 'normal'"), ([*many, "z" * 10**6], "far too long"), (long, "far too long")):
        header["state"]["classes"] = classes
        (tmp_path / "model").write_bytes(packed({**members, HEADER: json.dumps(header).encode()}))
        assert message in refusal(tmp_path / "model", most=64 * MB)


def test_large_models_are_loaded_in_twice_their_size(tmp_path):
    X = np.random.default_rng(0).normal(size=(12, 200_000))
    model = PDDP(n_clusters=6, criterion="mean").fit(X)
    save(model, tmp_path / "model")
    found, peak = attempt(tmp_path / "model")
    assert found.tree_ == model.tree_
    assert peak < 2 * (tmp_path / "model").stat().st_size + MB
    assert load(tmp_path / "model").n_clusters_ == 6
