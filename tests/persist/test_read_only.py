"""Models that are read without their estimators: they say the same, and files are refused for the same reasons."""

import copy
import inspect
import json
import zipfile
from importlib import import_module

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

import ravine
from ravine import HSDC, MDH, PDDP, IncrementalMDH, NCutH, SumOfNorms, save
from ravine._read_only import ReadOnlyModel
from ravine.cluster._read_only import READ_ONLY, read_only_class
from ravine.datasets import make_blobs
from ravine.persist import read
from ravine.persist._archive import HEADER
from ravine.persist._read_only import EncodedModel, read_only
from ravine.prepare import TableEncoder
from ravine.prepare import _read_only as encoders

X, _ = make_blobs(240, centers=[[0, 0, 0], [9, 0, 0], [0, 9, 0]], random_state=0)
TABLE = {
    "id": [f"C-{i:03d}" for i in range(240)],
    "age": [None if i % 17 == 0 else float(x) for i, x in enumerate(X[:, 0])],
    "spend": [f"€{x + 20:.2f}" for x in X[:, 1]],
    "city": ["Bonn" if x > 0 else "Ulm" for x in X[:, 2]],
}
MODELS = {
    "NCutH": NCutH(n_clusters=3),
    "NCutH outliers": NCutH(outliers="label"),
    "MDH": MDH(),
    "PDDP": PDDP(significance=0.01),
    "IncrementalMDH": IncrementalMDH(),
    "IncrementalMDH elbow": IncrementalMDH(selection="elbow"),
}
CLASSES = [getattr(ravine, name) for name in READ_ONLY]


@pytest.fixture(params=MODELS)
def fitted(request):
    return copy.deepcopy(MODELS[request.param]).fit(X)


@pytest.mark.parametrize("resume", [True, False])
def test_read_only_model_says_what_the_estimator_says(fitted, resume, tmp_path):
    save(fitted, tmp_path / "m", resume=resume, notes={"unit": "m"})
    saved = read_only(tmp_path / "m")
    model = saved.model
    assert isinstance(model, ReadOnlyModel)
    assert saved.notes == {"unit": "m"}
    assert type(model).__name__ == type(fitted).__name__
    assert model.get_params() == fitted.get_params(deep=False)
    assert list(model.get_params()) == list(fitted.get_params(deep=False))
    assert model.tree_ == fitted.tree_
    assert_array_equal(model.predict(X), fitted.predict(X))
    for name in ("n_clusters_", "confirmed_", "selection_", "n_features_in_"):
        assert getattr(model, name) == getattr(fitted, name)
    for one, other in zip(model._tested_levels(), fitted._tested_levels(), strict=True):
        assert_array_equal(one, other)
    assert_array_equal(getattr(model, "elbow_path_", None), getattr(fitted, "elbow_path_", None))


def test_read_only_encoder_encodes_as_the_estimator_does(tmp_path):
    encoder = TableEncoder().fit(TABLE)
    pipe = Pipeline([("table", encoder), ("clusters", NCutH(n_clusters=3))]).fit(TABLE)
    save(pipe, tmp_path / "m", resume=False)
    model = read_only(tmp_path / "m").model
    assert isinstance(model, EncodedModel)
    assert [name for name, _ in model.steps] == ["table", "clusters"]
    (_, light), (_, last) = model.steps
    assert_array_equal(light.transform(TABLE), encoder.transform(TABLE))
    assert_array_equal(last.predict(light.transform(TABLE)), pipe.predict(TABLE))
    assert light.summary() == encoder.summary()
    assert light.identifier_ == encoder.identifier_ == "id"
    assert_array_equal(light.get_feature_names_out(), encoder.get_feature_names_out())


@pytest.mark.parametrize(
    "model",
    [
        SumOfNorms(n_clusters=3),
        HSDC(),
        make_pipeline(StandardScaler(), NCutH(n_clusters=3)),
        NCutH(n_clusters=3, init=np.eye(3)),
        NCutH(n_clusters=3, random_state=np.random.RandomState(0)),
    ],
)
def test_models_that_need_more_are_read_with_their_estimators(model, tmp_path):
    save(copy.deepcopy(model).fit(X), tmp_path / "m")
    found = read_only(tmp_path / "m").model
    assert type(found) is type(model)
    assert_array_equal(found.predict(X), read(tmp_path / "m").model.predict(X))


def test_tree_that_is_not_grown_yet_is_read_with_its_estimator(tmp_path):
    model = IncrementalMDH().partial_fit(X)
    save(model, tmp_path / "m")
    found = read_only(tmp_path / "m").model
    assert type(found) is IncrementalMDH
    assert found.tree_ == model.tree_


# Parameters


@pytest.mark.parametrize("made", CLASSES, ids=lambda made: made.__name__)
def test_parameters_have_the_defaults_of_the_estimator(made):
    signature = inspect.signature(made.__init__).parameters
    defaults = {name: each.default for name, each in signature.items() if name != "self"}
    assert read_only_class(made.__name__)._parameter_defaults() == defaults


def test_parameters_of_the_encoder_have_its_defaults():
    signature = inspect.signature(TableEncoder.__init__).parameters
    defaults = {name: each.default for name, each in signature.items() if name != "self"}
    assert encoders.TableEncoder._parameter_defaults() == defaults


VALUES = (
    *(None, True, False, 0, 1, 2, 20, 21, 10_000, 10_001, -1, -10_001, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**70),
    *(0.0, 5e-324, 1e-9, 0.5, 1.0, 1.5, 1e9, 1e10, 1e30, 1e31, -0.5, float("inf"), float("nan")),
    *("auto", "pca", "tree", "mixture", "assign", "label", "evidence", "elbow", "antimode", "density", "mean", "size"),
    *(
        "value",
        "sum_sq",
        "polished",
        "online",
        "euclidean",
        "cosine",
        "spread",
        "indicators",
        "x",
        "",
        [],
        [0.5],
        (0.5, 1.0),
        [1],
        [True],
        {},
    ),
    {"a": "number"},
    {"a": 1},
)


def is_accepted(light, parameters):
    try:
        light(**parameters)._validate_params()
    except ValueError:
        return False
    return True


@pytest.mark.parametrize("made", [*CLASSES, TableEncoder], ids=lambda made: made.__name__)
def test_accepted_parameters_are_valid_for_the_estimator(made):
    light = encoders.TableEncoder if made is TableEncoder else read_only_class(made.__name__)
    accepted = {
        name: [value for value in VALUES if is_accepted(light, {name: value})] for name in light._get_param_names()
    }
    assert all(accepted.values())
    for name, values in accepted.items():
        for value in values:
            made(**{name: value})._validate_params()
    rng, n_accepted = np.random.default_rng(0), 0
    for _ in range(300):  # parameters may also have to fit together
        parameters = {name: values[rng.integers(len(values))] for name, values in accepted.items()}
        if is_accepted(light, parameters):
            made(**parameters)._validate_params()
            n_accepted += 1
    assert n_accepted > 100


# Files that are not valid


def rewritten(path, content, header):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        for name, data in content.items():
            archive.writestr(zipfile.ZipInfo(name), json.dumps(header).encode() if name == HEADER else data)


def places(node, path=()):
    """The paths to all values in a header, but those in long lists only to the first ones."""
    if path:
        yield path
    if isinstance(node, dict):
        for key in node:
            yield from places(node[key], (*path, key))
    elif isinstance(node, list):
        for i in range(min(len(node), 2)):
            yield from places(node[i], (*path, i))


def outcome(reader, path):
    try:
        found = reader(path).model
    except ValueError as error:
        return str(error)
    steps = getattr(found, "steps", [("", found)])
    return {name: step.get_params(deep=False) for name, step in steps}, steps[-1][1].tree_.to_text(), steps[0][0]


JUNK = (None, -1, 0, 1, 10**30, 0.5, "x", [], {}, "NCutH", {"$float": "nan"})


@pytest.mark.parametrize("kind", ["single", "encoded", "incremental"])
def test_changed_files_are_refused_for_the_same_reason(kind, tmp_path):
    models = {
        "single": lambda: NCutH(n_clusters=3).fit(X),
        "encoded": lambda: make_pipeline(TableEncoder(), PDDP(n_clusters=2, criterion="mean")).fit(TABLE),
        "incremental": lambda: IncrementalMDH(sample_size=50, max_depth=2).fit(X),
    }
    path = tmp_path / "m"
    save(models[kind](), path)
    with zipfile.ZipFile(path) as archive:
        content = {name: archive.read(name) for name in archive.namelist()}
    header, n_refused, n_read = json.loads(content[HEADER]), 0, 0
    for number, place in enumerate(places(header)):
        for junk in (JUNK[number % len(JUNK)], JUNK[(number // 3) % len(JUNK)], ...):
            changed = copy.deepcopy(header)
            parent = changed
            for key in place[:-1]:
                parent = parent[key]
            if junk is ...:
                del parent[place[-1]]
            else:
                parent[place[-1]] = junk
            rewritten(path, content, changed)
            expected = outcome(read, path)
            assert outcome(read_only, path) == expected, (place, junk)
            n_refused += isinstance(expected, str)
            n_read += not isinstance(expected, str)
    assert n_refused > 50
    assert n_read > 3


def test_other_files_are_refused_for_the_same_reason(tmp_path):
    path = tmp_path / "m"
    for content in (b"", b"row,x\n0,1\n", b"PK\x03\x04", b"\x80\x04."):
        path.write_bytes(content)
        found = outcome(read_only, path)
        assert isinstance(found, str)
        assert found == outcome(read, path)
    with pytest.raises(FileNotFoundError):
        read_only(tmp_path / "nowhere")


def test_file_of_the_first_format_is_read(request):
    path = request.path.parents[1] / "data" / "model_format_1.ravine"
    expected = read(path).model
    found = read_only(path).model
    assert found.tree_ == expected.tree_


def test_every_read_only_class_is_in_its_module():
    for name, module in READ_ONLY.items():
        assert issubclass(getattr(import_module(f"ravine.cluster.{module}"), name), ReadOnlyModel)
    assert read_only_class("SumOfNorms") is None
