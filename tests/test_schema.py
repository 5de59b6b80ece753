"""What a schema refuses, and every field of every saved state made wrong in every way that its declaration knows."""

import math
import pickle
from copy import deepcopy
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from tests.estimators import CLASSES

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
)
from ravine._schema import DTYPES, POSITIVE, Array, Custom, FieldError, Group, Number, Word, require
from ravine.datasets import make_blobs

pytestmark = [
    pytest.mark.filterwarnings("ignore::UserWarning"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
]

# The schema itself


def ends_after_it_starts(state, sizes):
    require(state["end"] > state["start"], "end", f"is not after 'start', with {sizes['n_rows']} rows")


TABLE = Group(
    {
        "rows": Array("floating", ("n_rows", "n_columns"), high=9, csr=True),
        "label": Array("integer", ("n_rows",), index_of="n_classes", low=-1),
        "weight": Array("float64", ("n_rows",), low=POSITIVE, optional=True),
        "more": Array("int64", ("n_more", 2), empty=True, required=False),
        "flags": Array("bool", ("n_columns",)),
        "span": Group({"start": Number(float), "end": Number(float, high=math.inf)}, (ends_after_it_starts,)),
        "score": Number((float, np.float64), low=0, nan=True),
        "count": Number(int, low=1, high=5),
        "kind": Word(("a", "b")),
        "names": Custom(lambda names: sorted(names), length="n_names"),
    }
)


def table(**changes):
    state = {
        "rows": np.ones((3, 2), dtype=np.float32),
        "label": np.array([0, 1, -1], dtype=np.int8),
        "weight": None,
        "flags": np.array([True, False]),
        "span": {"start": 1.0, "end": 2.0},
        "score": math.nan,
        "count": 2,
        "kind": "a",
        "names": ["b", "a"],
    }
    return {**state, **changes}


def test_a_valid_state_is_returned_with_all_fields_and_left_as_it_was():
    state = table()
    checked = TABLE.checked(state, {"n_classes": 2})
    assert checked["rows"] is state["rows"]
    assert checked["label"].dtype == np.int64
    assert checked["more"] is None
    assert checked["names"] == ["a", "b"]
    assert state["names"] == ["b", "a"]
    assert "more" not in state
    TABLE.checked(table(rows=sparse.csr_array(np.ones((3, 2))), score=np.float64(0)), {"n_classes": 2})
    TABLE.checked(table(more=np.zeros((0, 2), dtype=np.int64), span={"start": 1.0, "end": math.inf}), {"n_classes": 2})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"rows": [[1.0, 2.0]]}, "'rows' must be an array of float32 or float64, not a list"),
        ({"rows": np.ones((3, 2), dtype=int)}, "'rows' must be an array of float32 or float64, not an array of int64"),
        ({"rows": np.ones(3)}, "'rows' has shape (3,), but needs (n_rows, n_columns)"),
        ({"rows": np.ones((0, 2))}, "'rows' is empty"),
        ({"rows": np.full((3, 2), 10.0)}, "'rows' has the entry 10, but its entries must be finite and at most 9"),
        ({"rows": np.full((3, 2), -np.inf)}, "'rows' has the entry -inf"),
        ({"rows": np.array([[1, 2], [3, np.nan], [5, 6]])}, "'rows' has the entry nan"),
        ({"rows": sparse.csr_array(np.full((3, 2), np.nan))}, "'rows' has the entry nan"),
        ({"rows": sparse.csr_array(np.ones((3, 2), dtype=int))}, "not an array of int64"),
        ({"label": np.zeros(4, dtype=int)}, "'label' has shape (4,), but needs (n_rows,) with n_rows = 3 as in"),
        ({"label": np.full(3, 2)}, "'label' has the entry 2, but its entries must be from -1 to 1"),
        ({"label": np.full(3, -2)}, "'label' has the entry -2"),
        ({"label": np.full(3, 2**64 - 1, dtype=np.uint64)}, "'label' has the entry 1.84467e+19"),
        ({"label": None}, "'label' must be an array of integers, not None"),
        ({"weight": np.zeros(3)}, "'weight' has the entry 0, but its entries must be finite and positive"),
        ({"more": None}, "'more' must be an array of int64, not None"),
        ({"more": np.zeros((1, 3), dtype=int)}, "'more' has shape (1, 3), but needs (n_more, 2)"),
        ({"flags": np.array([1, 0])}, "'flags' must be an array of bool"),
        ({"span": None}, "'span' must be a dictionary, not None"),
        ({"span": {"start": 1.0}}, "'span.end' is missing"),
        ({"span": {"start": 1.0, "end": 2.0, "more": 1}}, "'span.more' is unknown"),
        ({"span": {"start": math.inf, "end": 2.0}}, "'span.start' must be a float, finite, not inf"),
        ({"span": {"start": 1.0, "end": 1.0}}, "'span.end' is not after 'start', with 3 rows"),
        ({"score": 1}, "'score' must be a float, finite and at least 0, not 1"),
        ({"score": -1.0}, "'score' must be"),
        ({"count": 6}, "'count' must be an integer, from 1 to 5, not 6"),
        ({"count": True}, "'count' must be an integer, from 1 to 5, not True"),
        ({"count": math.nan}, "'count' must be an integer"),
        ({"kind": "c"}, "'kind' must be one of 'a', 'b', not 'c'"),
        ({"kind": ["a"]}, "'kind' must be one of 'a', 'b', not a list"),
        ({"c" * 99: 1}, f"'{'c' * 50}' is unknown"),
    ],
)  # fmt: skip
def test_an_invalid_state_is_refused_with_the_name_of_its_field(changes, message):
    with pytest.raises(FieldError) as raised:
        TABLE.checked(table(**changes), {"n_classes": 2})
    assert message in str(raised.value)


def test_sizes_that_are_given_hold():
    with pytest.raises(FieldError, match=r"'rows' has shape \(3, 2\), but needs .* with n_rows = 4$"):
        TABLE.checked(table(), {"n_classes": 2, "n_rows": 4})


def test_a_state_that_is_no_dictionary_is_refused():
    with pytest.raises(FieldError, match="field 'state' must be a dictionary, not a list"):
        TABLE.checked([1])


def test_an_error_of_a_custom_check_names_the_field():
    def refuse(value):
        raise ValueError(f"is {value}")

    with pytest.raises(FieldError, match=r"field 'a\.b' is 3"):
        Group({"a": Group({"b": Custom(refuse)})}).checked({"a": {"b": 3}})


def test_optional_fields_may_be_none_and_others_not():
    group = Group({"a": Number(int)}, optional=True)
    assert Group({"b": group}).checked({"b": None}) == {"b": None}
    with pytest.raises(FieldError, match="field 'b' must be a dictionary, not None"):
        Group({"b": replace(group, optional=False)}).checked({"b": None})


def test_errors_can_be_pickled():
    error = pickle.loads(pickle.dumps(FieldError("left", "is empty")))
    assert str(error) == "field 'left' is empty"
    assert error.name == "left"


# Every field of every estimator

X = make_blobs(60, centers=[[0, 0, 0], [12, 0, 0], [0, 12, 5]], random_state=1)[0]
MANY = np.repeat(9 * np.random.default_rng(0).normal(size=(18, 3)), 4, axis=0)
SMALL = {"max_depth": 2, "sample_size": 40, "n_jobs": None}
STREAM = make_blobs(1500, centers=[[0, 0, 0], [12, 0, 0], [0, 12, 5]], random_state=1)[0]

TWO_LEFT = make_blobs(3000, centers=[[0, 0, 0], [12, 0, 0]], random_state=2)[0]
ONE_MOVED = make_blobs(900, centers=[[0, 0, 0], [15, 0, 0]], random_state=2)[0]
CHANGING = np.concatenate([STREAM, TWO_LEFT, ONE_MOVED])


def classes_of(rows, n_classes):
    return np.arange(len(rows)) // (len(rows) // n_classes)


def learned_twice(model):
    """A model whose tree is older than its last rows."""
    assert model.partial_fit(X).n_clusters_ > 1
    return model.partial_fit(X)


MODELS = {
    PDDP: [lambda: PDDP(n_clusters=3).fit(X)],
    NCutH: [lambda: NCutH(n_clusters=3).fit(X)],
    MDH: [lambda: MDH(n_clusters=3).fit(X)],
    SpectralPursuit: [lambda: SpectralPursuit(n_clusters=4, n_microclusters=12).fit(X)],
    IncrementalMDH: [
        lambda: IncrementalMDH(selection="elbow", **SMALL).fit(X),
        lambda: IncrementalMDH(**SMALL).partial_fit(sparse.csr_array(X)),
        lambda: learned_twice(IncrementalMDH(**SMALL)),
        lambda: IncrementalMDH(algorithm="online", **SMALL).partial_fit(X),
    ],
    HSDC: [lambda: HSDC().partial_fit(STREAM[:100]).partial_fit(STREAM)],
    SPDC: [lambda: SPDC().partial_fit(STREAM)],
    StreamClusterer: [lambda: StreamClusterer(window_size=64).partial_fit(CHANGING)],
    SumOfNorms: [
        lambda: SumOfNorms(n_lambdas=20).fit(X, sample_weight=np.arange(60) % 5),
        lambda: SumOfNorms(lam=0.02, weights="uniform").fit(X),
    ],
    SupportVectorClustering: [
        lambda: SupportVectorClustering(budget=20, gamma=0.5).fit(X),
        lambda: SupportVectorClustering(budget=30, gamma=0.5).partial_fit(X),
        lambda: SupportVectorClustering(budget=30).fit(X),
    ],
    MDHClassifier: [
        lambda: MDHClassifier().fit(X, np.array(["a", "b"])[classes_of(X, 2)]),
        lambda: MDHClassifier().fit(MANY + np.random.default_rng(1).normal(size=MANY.shape), classes_of(MANY, 18)),
    ],
    SpectralPursuitClassifier: [
        lambda: SpectralPursuitClassifier().fit(X, classes_of(X, 3)),
        lambda: SpectralPursuitClassifier().fit(
            MANY + np.random.default_rng(1).normal(size=MANY.shape), classes_of(MANY, 18)
        ),
    ],
}
"""Models of each estimator that have all fields together."""


def fields_of(group, prefix=()):
    """All fields of a schema, with the nested ones, and the groups to which they belong."""
    for name, field in group.fields.items():
        yield (*prefix, name), field
        if isinstance(field, Group):
            yield from fields_of(field, (*prefix, name))


FIELDS = [(estimator, path, field) for estimator in CLASSES for path, field in fields_of(estimator._schema)]


def with_surface(state):
    """The state, in which the first cut of every tree bends, as only cuts of `SpectralPursuit` do."""
    for group in (state, state.get("identities") or {}):
        if (tree := group.get("tree")) is not None and "surfaces" not in tree:
            assert tree["left"][0] > 0
            tree["surfaces"] = {
                "node": np.array([0]),
                "n_directions": np.array([1]),
                "directions": np.ones((1, 3)),
                "n_positions": np.array([2]),
                "positions": np.array([0.0, 1.0]),
                "is_left": np.array([True, False]),
            }
    return state


def with_mixture(state):
    """The state, in which every tree has a mixture with one component for each leaf, and all optional fields."""
    for group in (state, state.get("identities") or {}):
        if (tree := group.get("tree")) is not None:
            n_leaves = int((tree["left"] < 0).sum())
            made = {
                "weight": np.full(n_leaves, 1.0 / n_leaves),
                "mean": np.zeros((n_leaves, tree["mean"].shape[1])),
                "factor": np.tile(np.eye(tree["mean"].shape[1]), (n_leaves, 1, 1)),
                "cluster": np.arange(n_leaves),
                "freedom": 10.0,
                "decides": True,
            }
            optional = {"limit": np.full(n_leaves, 6.0), "beside": np.zeros(tree["mean"].shape[1])}
            tree["mixture"] = {**tree.get("mixture", made), **optional}
    return state


@pytest.fixture(scope="module")
def saved():
    """Fitted models and their states, made at first use."""
    made = {}

    def states(estimator):
        if estimator not in made:
            models = [make() for make in MODELS[estimator]]
            made[estimator] = [(with_mixture(with_surface(m._state(resume=True))), m._sizes()) for m in models]
        return made[estimator]

    return states


def parent_of(state, path):
    """The dictionary that holds a field, or None if a group on the way to it is not there."""
    for name in path[:-1]:
        state = state.get(name) if state is not None else None
    return state


OTHERS = {"bool", "int64", "int32", "float32", "float64", "complex128"}
"""Data types of arrays."""


def value_at(state, path):
    """The value of a field, or None if it is not there."""
    parent = parent_of(state, path)
    return None if parent is None else parent.get(path[-1])


def with_entry(array, value):
    array = array.copy() if array.dtype.kind == "f" else array.astype(np.int64)
    entries = array.data if sparse.issparse(array) else array
    entries.flat[entries.size // 2] = value
    return array


def wrong_arrays(array, field, sizes, shared):
    """The array made wrong in every way that its declaration knows: what is wrong, and the wrong array."""
    dense = array.toarray() if sparse.issparse(array) else array
    yield "a list", dense.tolist()
    for dtype in OTHERS - set(DTYPES.get(field.dtype, (field.dtype,))):
        with np.errstate(all="ignore"):
            yield f"of {dtype}", dense.astype(dtype)
    yield "of one dimension more", dense[..., np.newaxis]
    yield "one number", dense.dtype.type(1)
    for axis, dimension in enumerate(field.shape):
        if dimension in shared or isinstance(dimension, int):
            yield f"of another {dimension}", np.concatenate([dense, dense.take([-1], axis)], axis)
    if not field.empty:
        yield "empty", array[:0]
    if not array.size:
        return
    low, high = field.low, field.high
    if field.index_of is not None:
        low, high = low or 0, sizes[field.index_of] - 1
    if array.dtype.kind == "f":
        yield "NaN", with_entry(array, np.nan)
        if low != -np.inf:
            yield "infinite", with_entry(array, -np.inf)
        if high != np.inf:
            yield "infinite", with_entry(array, np.inf)
    if low is not None and low > -np.inf:
        yield "too small", with_entry(array, -1 if low in (0, POSITIVE) else low - max(1, abs(low)))
    if high is not None and high < np.inf:
        yield "too large", with_entry(array, high + max(1, abs(high)))


def wrong_numbers(value, field):
    kinds = field.kind if isinstance(field.kind, tuple) else (field.kind,)
    for other in (True, 1, 0.5, np.float64(1), np.int64(1), 1 + 0j, [value], np.array([1.0])):
        if type(other) not in kinds:
            yield "of another type", other
    if kinds == (bool,):
        return
    if not field.nan and float in kinds:
        yield "NaN", math.nan
    if field.low is not None:
        yield "too small", kinds[0](field.low - 1)
    if field.high != math.inf and float in kinds:
        yield "infinite", math.inf
    if field.high is not None and field.high < math.inf:
        yield "too large", kinds[0](field.high * 2 + 1)


def wrong_values(value, field, sizes, shared):
    yield "a string", "no such value"
    yield "a dictionary", {"no": 1}
    yield "a tuple", (1, 2)
    if not field.optional:
        yield "None", None
    if isinstance(field, Array):
        yield from wrong_arrays(value, field, sizes, shared)
    elif isinstance(field, Number):
        yield from wrong_numbers(value, field)
    elif isinstance(field, Group):
        yield "with another field", {**value, "surprise": 1}
        yield "without fields", {}


def sizes_of(schema, state, given):
    """The sizes of all dimensions of a state, and those that are known from elsewhere than from one array."""
    sizes, shared = dict(given), set(given)
    for path, field in fields_of(schema):
        value = value_at(state, path)
        if isinstance(field, Custom) and field.length is not None:
            sizes[field.length] = len(value)
            shared.add(field.length)
        if isinstance(field, Array) and value is not None:
            for dimension, length in zip(field.shape, value.shape, strict=True):
                if dimension in sizes:
                    shared.add(dimension)
                sizes[dimension] = length
    return sizes, shared


def test_every_estimator_has_models_here():
    assert set(MODELS) == set(CLASSES)


@pytest.mark.parametrize(
    ("estimator", "path", "field"), FIELDS, ids=[f"{e.__name__}-{'.'.join(path)}" for e, path, _ in FIELDS]
)
def test_every_field_made_wrong_is_refused_and_named(estimator, path, field, saved):
    schema, n_models = estimator._schema, 0
    for state, given in saved(estimator):
        value = value_at(state, path)
        if value is None:
            continue
        n_models += 1
        for what, wrong in wrong_values(value, field, *sizes_of(schema, state, given)):
            broken = deepcopy(state)
            parent_of(broken, path)[path[-1]] = wrong
            assert f"field '{'.'.join(path)}" in refusal(schema, broken, given), what
        if field.required:
            broken = deepcopy(state)
            del parent_of(broken, path)[path[-1]]
            assert f"field '{'.'.join(path)}' is missing" in refusal(schema, broken, given)
    assert n_models > 0


def refusal(schema, state, given):
    """What is said of a state; nothing if it is valid."""
    try:
        schema.checked(state, given)
    except ValueError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("estimator", CLASSES, ids=lambda estimator: estimator.__name__)
def test_saved_states_are_valid_and_unknown_fields_are_not(estimator, saved):
    for state, given in saved(estimator):
        assert estimator._schema.checked(state, given).keys() == estimator._schema.fields.keys()
        with pytest.raises(FieldError, match="field 'surprise' is unknown"):
            estimator._schema.checked({**state, "surprise": 1}, given)
