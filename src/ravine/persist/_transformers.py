"""The transformers of scikit-learn that a file can hold, as steps of a pipeline.

Each class has a table of its parameters and a table of what `fit` has learned (`ravine._schema`). A file has nothing
else, and both are checked when a pipeline is saved and when it is loaded. A transformer is built from its class in
`KINDS`, so a file cannot name any other class or function.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    PowerTransformer,
    RobustScaler,
    StandardScaler,
)

from ravine._lazy import is_of_ravine
from ravine._schema import POSITIVE, Array, Custom, Either, Field, Found, Group, Number, State, Word, require
from ravine.tree._pipeline import kept_by

FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    name: getattr(np, name)
    for name in (
        "absolute",
        "arcsinh",
        "cbrt",
        "clip",
        "exp",
        "expm1",
        "log",
        "log10",
        "log1p",
        "log2",
        "negative",
        "reciprocal",
        "sign",
        "sinh",
        "sqrt",
        "square",
        "tanh",
    )
}
"""Functions of NumPy that a `FunctionTransformer` in a file may call. All of them work on each cell alone."""

BOUNDS = ({"a_min", "a_max"}, {"min", "max"}, {"min"}, {"max"})
"""Arguments that `numpy.clip` takes, the only function in `FUNCTIONS` that has arguments."""

NUMBERS = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64")
"""Data types of the input of an imputer, and of the output of an encoder."""

MOST_LETTERS = 1 << 22
"""Maximum number of letters of all categories of a column: NumPy gives each of them the memory of the longest."""


PLAIN = (str, bool, int, float, type(None))
"""Types of the values in an array of objects that a file can hold."""


def objects(values: list[Any]) -> NDArray[Any]:
    """Return an array of objects."""
    out = np.empty(len(values), dtype=object)
    out[:] = values
    return out


def is_nan(value: Any) -> bool:
    """Return whether a value is NaN."""
    return isinstance(value, float) and math.isnan(value)


@dataclass(frozen=True)
class Fills(Field):
    """What an imputer fills in, one value for each column: an array of numbers, or a list of words and numbers."""

    def check(self, value: Any, name: str, found: Found) -> Any:
        """Return the array; NaN is valid."""
        if isinstance(value, list):
            require(all(type(each) in PLAIN for each in value), name, "has an entry that is not a plain value")
            value = objects(value)
        else:
            is_array = isinstance(value, np.ndarray) and value.dtype.name in NUMBERS
            require(is_array, name, "must be an array of numbers, or a list of values")
            require(not np.isinf(value).any(), name, "has an entry that is infinite")
        found.match(name, value.shape, ("n_features",))
        return value


def _pair(value: Any) -> Any:
    is_pair = isinstance(value, tuple) and len(value) == 2 and all(type(each) in (int, float) for each in value)
    if not is_pair or not -math.inf < value[0] < value[1] < math.inf:
        raise ValueError("must be a pair of numbers, the smaller first")
    return value


def _text(value: Any) -> Any:
    if not isinstance(value, str):
        raise ValueError("must be a number or a string")
    return value


def _seed(value: Any) -> Any:
    if not isinstance(value, np.random.RandomState) and not (type(value) is int and 0 <= value < 1 << 32):
        raise ValueError("must be an integer from 0 to 4294967295 or a RandomState")
    return value


def _bounds(value: Any) -> Any:
    """Return the arguments of `numpy.clip`."""
    is_plain = (
        isinstance(value, dict)
        and value.keys() in BOUNDS
        and all(each is None or (type(each) in (int, float) and math.isfinite(each)) for each in value.values())
    )
    if not is_plain:
        raise ValueError("must be a dictionary of numbers, with the keys a_min and a_max, or min and max")
    return value


YES_NO, SEED = Number(bool), Custom(_seed, optional=True)
COUNT, ANY_NUMBER = Number(int, low=1), Either((Number(int), Number(float, nan=True)))
FLOATS, POSITIVES = (partial(Array, "floating", ("n_features",), low=low) for low in (None, POSITIVE))
NUMBERS_SEEN = Either(
    (
        Number((int, float, np.int64, np.float64, np.float32), low=0),
        Array("int64", ("n_features",), low=0),
        Array("float64", ("n_features",), low=0),
    )
)
FUNCTION = Word(tuple(FUNCTIONS), optional=True)
POWER_NORMALIZER = Word(("auto", "QR", "LU", "none"))


class Kind:
    """How a file keeps a fitted transformer.

    Parameters
    ----------
    made : type
        Class of the transformer.
    parameters : dict
        Fields of its parameters. A parameter that is not here must have its default value.
    learned : dict
        Fields of what it has learned, by the names of its attributes.
    relations : tuple of callables
        Relations between the fields of `learned`, see `Group`.
    needs : callable, optional
        Returns the names of the learned attributes that a transformer with some parameters cannot do without.
    n_out : callable, optional
        Returns the number of columns of the result. Default: as many as it was fitted on.
    """

    def __init__(
        self,
        made: type[Any],
        parameters: Mapping[str, Field],
        learned: Mapping[str, Field],
        relations: tuple[Any, ...] = (),
        needs: Callable[[Any], tuple[str, ...]] = lambda transformer: (),
        n_out: Callable[[Any], int] = lambda transformer: int(transformer.n_features_in_),
    ) -> None:
        self.made, self.needs, self.n_out = made, needs, n_out
        self.parameters, self.learned = Group(parameters), Group(learned, relations)

    def parameters_of(self, transformer: Any) -> State:
        """Return the parameters for a file. Raises ValueError if one of them cannot be saved."""
        default, out = self.made().get_params(deep=False), {}
        for name, value in transformer.get_params(deep=False).items():
            if name in self.parameters.fields:
                out[name] = self.parameter(name, value)
            elif value is not default[name]:
                raise ValueError(f"its parameter {name!r} is unknown to this version of ravine")
        return self.parameters.checked(out)

    def parameter(self, name: str, value: Any) -> Any:
        """Return a parameter as a file has it."""
        return value.item() if isinstance(value, np.generic) else value

    def create(self, parameters: Any) -> Any:
        """Return the transformer with its parameters, not fitted. Raises ValueError if one of them is wrong."""
        checked = self.parameters.checked(parameters)
        transformer = self.made(**{name: self.argument(name, checked[name]) for name in parameters})
        transformer._validate_params()
        return transformer

    def argument(self, name: str, value: Any) -> Any:
        """Return a parameter from its value in a file."""
        return value

    def state_of(self, transformer: Any) -> State:
        """Return what the transformer has learned."""
        return {name: getattr(transformer, name, None) for name in self.learned.fields}

    def restore(self, transformer: Any, state: Any) -> None:
        """Set what a transformer has learned, after all of it is checked."""
        checked = self.learned.checked(state, {"n_features": transformer.n_features_in_})
        for name in self.needs(transformer):
            require(checked[name] is not None, name, "is missing")
        self.set(transformer, checked)

    def set(self, transformer: Any, checked: State) -> None:
        """Set the attributes of a transformer from checked fields."""
        for name, value in checked.items():
            setattr(transformer, name, value)


def _components_fit(state: State, sizes: Any) -> None:
    n_components = state.get("n_components_")
    require(n_components in (None, sizes["n_components"]), "n_components_", "is not the number of components")


class Projection(Kind):
    """A linear projection. Its matrix keeps its order in memory, on which the last bit of a product depends."""

    def __init__(self, made: type[Any], parameters: Mapping[str, Field], learned: Mapping[str, Field]) -> None:
        of_each = Array("floating", ("n_components",))
        fields: dict[str, Field] = {
            "components_": Array("floating", ("n_components", "n_features")),
            "order": Word(("C", "F")),
            **dict.fromkeys(("explained_variance_", "explained_variance_ratio_", "singular_values_"), of_each),
        }
        super().__init__(
            made, parameters, {**fields, **learned}, (_components_fit,), n_out=lambda t: len(t.components_)
        )

    def state_of(self, transformer: Any) -> State:
        """Return what the transformer has learned, and the order of its matrix."""
        return {**super().state_of(transformer), "order": order_of(transformer.components_)}

    def set(self, transformer: Any, checked: State) -> None:
        """Set the attributes, and the matrix in its order."""
        components = np.asarray(checked["components_"], order=checked.pop("order"))
        super().set(transformer, {**checked, "components_": components})


def order_of(array: NDArray[Any]) -> str:
    """Return whether the rows ("C") or the columns ("F") of a matrix are contiguous in memory."""
    return "F" if array.ndim == 2 and array.strides[0] < array.strides[1] and 1 not in array.shape else "C"


class Power(Kind):
    """A `PowerTransformer`, which has a `StandardScaler` inside."""

    def state_of(self, transformer: Any) -> State:
        """Return the exponents, and what the scaler has learned."""
        scaler = transformer._scaler if transformer.standardize else None
        return {"lambdas_": transformer.lambdas_, "scaler": scaler and KINDS["StandardScaler"].state_of(scaler)}

    def set(self, transformer: Any, checked: State) -> None:
        """Set the exponents and the scaler."""
        transformer.lambdas_ = checked["lambdas_"]
        if transformer.standardize:
            scaler = transformer._scaler = StandardScaler(copy=False)
            scaler.n_features_in_ = transformer.n_features_in_
            KINDS["StandardScaler"].restore(scaler, checked["scaler"])


def _plain_list(array: NDArray[Any]) -> Any:
    """Return an array of objects as a list, and any other array unchanged."""
    if array.dtype.kind != "O":
        return array
    return [each.item() if isinstance(each, np.generic) else each for each in array.tolist()]


class Imputer(Kind):
    """A `SimpleImputer`."""

    def state_of(self, transformer: Any) -> State:
        """Return the values to fill in, the types of the numbers, and the columns with an indicator."""
        indicator = transformer.indicator_
        return {
            "statistics": _plain_list(transformer.statistics_),
            "fit_dtype": transformer._fit_dtype.name,
            "fill_dtype": np.dtype(transformer._fill_dtype).name,
            "indicated": None if indicator is None else indicator.features_,
        }

    def set(self, transformer: Any, checked: State) -> None:
        """Set the attributes, and create the indicator."""
        transformer.statistics_ = fills = checked["statistics"]
        is_plain = checked["fill_dtype"] == "object" or all(type(each) in (int, float) for each in fills.tolist())
        require(is_plain, "statistics", "has an entry that is not a number")
        transformer._fit_dtype, transformer._fill_dtype = (
            np.dtype(checked["fit_dtype"]),
            np.dtype(checked["fill_dtype"]),
        )
        indicated, transformer.indicator_ = checked["indicated"], None
        if transformer.add_indicator:
            require((indicated[1:] > indicated[:-1]).all(), "indicated", "is not sorted")
            indicator = MissingIndicator(missing_values=transformer.missing_values, error_on_new=False)
            indicator.features_, indicator._precomputed = indicated, True
            indicator._n_features = indicator.n_features_in_ = transformer.n_features_in_
            transformer.indicator_ = indicator


def _n_out_of_imputer(imputer: SimpleImputer) -> int:
    n_indicated = len(imputer.indicator_.features_) if imputer.add_indicator else 0
    return int(kept_by(imputer).sum()) + n_indicated


class Function(Kind):
    """A `FunctionTransformer` with one of `FUNCTIONS`, or with no function."""

    def parameter(self, name: str, value: Any) -> Any:
        """Return a parameter, and the name of a function."""
        if name not in ("func", "inverse_func") or value is None:
            return super().parameter(name, value or None if name.endswith("kw_args") else value)
        known = [key for key, function in FUNCTIONS.items() if function is value]
        if not known:
            raise ValueError(
                f"its function {getattr(value, '__name__', value)!s:.50} is not one of the functions of NumPy that a "
                f"file may name: {', '.join(FUNCTIONS)}"
            )
        return known[0]

    def argument(self, name: str, value: Any) -> Any:
        """Return a parameter, and the function for its name."""
        return FUNCTIONS[value] if name in ("func", "inverse_func") and value is not None else value

    def create(self, parameters: Any) -> Any:
        """Return the transformer; only `numpy.clip` has arguments."""
        transformer = super().create(parameters)
        has_bounds = bool(transformer.kw_args)
        require((transformer.func is np.clip) == has_bounds, "kw_args", "must have bounds for clip, and for clip only")
        require(transformer.inverse_func is not np.clip, "inverse_func", "cannot be clip")
        return transformer


@dataclass(frozen=True)
class Categories(Field):
    """The categories of each column, as arrays of numbers, or as lists of words or of any plain values."""

    def check(self, value: Any, name: str, found: Found) -> Any:
        """Return the list of arrays."""
        is_list = isinstance(value, list) and len(value) == found.sizes["n_features"]
        require(is_list, name, "must be a list with the categories of each column")
        return [self._column(each, f"{name}.{j}") for j, each in enumerate(value)]

    def _column(self, value: Any, name: str) -> NDArray[Any]:
        if isinstance(value, np.ndarray):
            require(value.ndim == 1 and len(value) > 0, name, "must be an array of one dimension, not empty")
            known = value[:-1] if value.dtype.kind == "f" and np.isnan(value[-1]) else value
            require((known[1:] > known[:-1]).all() and not np.isnan(known).any(), name, "is not sorted")
            return value
        is_plain = isinstance(value, dict) and value.keys() == {"type", "values"} and isinstance(value["values"], list)
        require(is_plain and value["values"], name, "must be an array, or a type and a list of values")
        values, kinds = value["values"], (str,) if value["type"] == "str" else PLAIN
        require(value["type"] in ("str", "object"), name, "has an unknown type")
        require(all(type(each) in kinds for each in values), name, "has an entry that is not a plain value")
        known = values[:-1] if is_nan(values[-1]) else values
        is_known = len(set(known)) == len(known) and not any(each != each for each in known)
        require(is_known, name, "has an entry twice")
        if value["type"] == "object":
            return objects(values)
        require(len(values) * max(map(len, values)) <= MOST_LETTERS, name, "has words that are far too long")
        return np.array(values, dtype=str)


def _category_values(array: NDArray[Any]) -> Any:
    if array.dtype.kind in "OU":
        return {"type": "str" if array.dtype.kind == "U" else "object", "values": _plain_list(array.astype(object))}
    return array


@dataclass(frozen=True)
class Infrequent(Field):
    """The infrequent categories of each column, as positions, or None for a column that has none."""

    def check(self, value: Any, name: str, found: Found) -> Any:
        """Return the list of arrays."""
        is_list = isinstance(value, list) and len(value) == found.sizes["n_features"]
        require(is_list, name, "must be a list with an entry for each column")
        at = Array("integer", ("n_infrequent",), low=0)
        return [
            each if each is None else at.check(each, f"{name}.{j}", Found(dict(found.sizes)))
            for j, each in enumerate(value)
        ]


def _infrequent_exist(state: State, sizes: Any) -> None:
    for j, (at, categories) in enumerate(zip(state["infrequent"] or (), state["categories"], strict=False)):
        is_inside = at is None or (at[-1] < len(categories) and (at[1:] > at[:-1]).all())
        require(is_inside, f"infrequent.{j}", "is not a sorted list of categories")


class Encoder(Kind):
    """An encoder of categories."""

    def parameter(self, name: str, value: Any) -> Any:
        """Return a parameter, and the name of a data type. Given categories are those that were learned."""
        if name == "categories":
            return "auto" if isinstance(value, str) else "given"
        if name == "dtype":
            return np.dtype(value).name
        if name == "drop" and value is not None and not isinstance(value, str):
            raise ValueError("its parameter 'drop' is a list: use 'first' or 'if_binary'")
        return super().parameter(name, value)

    def argument(self, name: str, value: Any) -> Any:
        """Return a parameter, and the data type for its name."""
        if name == "dtype":
            return np.dtype(value).type
        return [] if name == "categories" and value == "given" else value

    def state_of(self, transformer: Any) -> State:
        """Return the categories, and which of them are infrequent."""
        state: State = {"categories": [_category_values(each) for each in transformer.categories_]}
        if "infrequent" in self.learned.fields:
            state["infrequent"] = transformer._infrequent_indices if transformer._infrequent_enabled else None
        return state

    def set(self, transformer: Any, checked: State) -> None:
        """Set the categories, and all that follows from them."""
        transformer.categories_ = categories = checked["categories"]
        if not isinstance(transformer.categories, str):
            transformer.categories = list(categories)
        transformer._check_infrequent_enabled()
        infrequent = checked.get("infrequent")
        require(transformer._infrequent_enabled == (infrequent is not None), "infrequent", "is missing, or not needed")
        if infrequent is not None:
            transformer._infrequent_indices = infrequent
            transformer._default_to_infrequent_mappings = [
                None if at is None else _grouped(len(each), at) for each, at in zip(categories, infrequent, strict=True)
            ]
        if isinstance(transformer, OneHotEncoder):
            transformer._set_drop_idx()
            transformer._n_features_outs = transformer._compute_n_features_outs()
        else:
            is_missing = [is_nan(each[-1]) for each in categories]
            transformer._missing_indices = {j: len(categories[j]) - 1 for j in np.flatnonzero(is_missing).tolist()}


def _grouped(n_categories: int, infrequent: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the number of each category after those that are infrequent have become one, the last."""
    number = np.full(n_categories, n_categories - len(infrequent), dtype=np.int64)
    number[np.setdiff1d(np.arange(n_categories), infrequent)] = np.arange(n_categories - len(infrequent))
    return number


ENCODING: Mapping[str, Field] = {
    "categories": Word(("auto", "given")),
    "dtype": Word(NUMBERS),
    "min_frequency": Either((COUNT, Number(float, low=0.0, high=1.0)), optional=True),
    "max_categories": Number(int, low=1, optional=True),
}
"""Parameters of both encoders."""

SCALED = {"mean_": FLOATS(optional=True), "var_": FLOATS(optional=True), "scale_": POSITIVES(optional=True)}
"""What a `StandardScaler` has learned, besides the number of rows."""


def _list_of_kinds() -> list[Kind]:
    pca = {"mean_": FLOATS(), "noise_variance_": Number((float, np.float64, np.float32), low=0.0)}
    return [
        Kind(
            StandardScaler,
            dict.fromkeys(("copy", "with_mean", "with_std"), YES_NO),
            {**SCALED, "n_samples_seen_": NUMBERS_SEEN},
            needs=lambda t: ("mean_",) * t.with_mean + ("scale_", "var_") * t.with_std,
        ),
        Kind(
            RobustScaler,
            {
                **dict.fromkeys(("copy", "with_centering", "with_scaling", "unit_variance"), YES_NO),
                "quantile_range": Custom(_pair),
            },
            {"center_": FLOATS(optional=True), "scale_": POSITIVES(optional=True)},
            needs=lambda t: ("center_",) * t.with_centering + ("scale_",) * t.with_scaling,
        ),
        Kind(
            MinMaxScaler,
            {"feature_range": Custom(_pair), "copy": YES_NO, "clip": YES_NO},
            {
                "scale_": POSITIVES(),
                **dict.fromkeys(("min_", "data_min_", "data_max_", "data_range_"), FLOATS()),
                "n_samples_seen_": NUMBERS_SEEN,
            },
        ),
        Kind(
            MaxAbsScaler,
            {"copy": YES_NO, "clip": YES_NO},
            {"max_abs_": FLOATS(), "scale_": POSITIVES(), "n_samples_seen_": NUMBERS_SEEN},
        ),
        Kind(Normalizer, {"norm": Word(("l1", "l2", "max")), "copy": YES_NO}, {}),
        Power(
            PowerTransformer,
            {"method": Word(("yeo-johnson", "box-cox")), "standardize": YES_NO, "copy": YES_NO},
            {
                "lambdas_": FLOATS(),
                "scaler": Group({**SCALED, "n_samples_seen_": NUMBERS_SEEN}, optional=True),
            },
            needs=lambda t: ("scaler",) * t.standardize,
        ),
        Projection(
            PCA,
            {
                "n_components": Either((COUNT, Number(float, low=0.0, high=1.0), Word(("mle",))), optional=True),
                "copy": YES_NO,
                "whiten": YES_NO,
                "svd_solver": Word(("auto", "full", "covariance_eigh", "arpack", "randomized")),
                "tol": Either((Number(int, low=0), Number(float, low=0.0))),
                "iterated_power": Either((Number(int, low=0), Word(("auto",)))),
                "n_oversamples": COUNT,
                "power_iteration_normalizer": POWER_NORMALIZER,
                "random_state": SEED,
            },
            {
                **pca,
                "n_components_": Number((int, np.int64), low=1),
                "n_samples_": COUNT,
                "_fit_svd_solver": Word(("full", "covariance_eigh", "arpack", "randomized")),
            },
        ),
        Projection(
            TruncatedSVD,
            {
                "n_components": COUNT,
                "algorithm": Word(("arpack", "randomized")),
                "n_iter": Number(int, low=0),
                "n_oversamples": COUNT,
                "power_iteration_normalizer": POWER_NORMALIZER,
                "random_state": SEED,
                "tol": Either((Number(int, low=0), Number(float, low=0.0))),
            },
            {},
        ),
        Imputer(
            SimpleImputer,
            {
                "missing_values": Either((ANY_NUMBER, Custom(_text)), optional=True),
                "strategy": Word(("mean", "median", "most_frequent", "constant")),
                "fill_value": Either((ANY_NUMBER, Custom(_text)), optional=True),
                **dict.fromkeys(("copy", "add_indicator", "keep_empty_features"), YES_NO),
            },
            {
                "statistics": Fills(),
                "fit_dtype": Word((*NUMBERS, "object")),
                "fill_dtype": Word((*NUMBERS, "object")),
                "indicated": Array("int64", ("n_indicated",), index_of="n_features", empty=True, optional=True),
            },
            needs=lambda t: ("indicated",) * t.add_indicator,
            n_out=_n_out_of_imputer,
        ),
        Function(
            FunctionTransformer,
            {
                "func": FUNCTION,
                "inverse_func": FUNCTION,
                **dict.fromkeys(("validate", "accept_sparse", "check_inverse"), YES_NO),
                "feature_names_out": Word(("one-to-one",), optional=True),
                "kw_args": Custom(_bounds, optional=True),
            },
            {},
        ),
        Encoder(
            OneHotEncoder,
            {
                **ENCODING,
                "drop": Word(("first", "if_binary"), optional=True),
                "sparse_output": YES_NO,
                "handle_unknown": Word(("error", "ignore", "infrequent_if_exist", "warn")),
                "feature_name_combiner": Word(("concat",)),
            },
            {"categories": Categories(), "infrequent": Infrequent(optional=True)},
            (_infrequent_exist,),
            n_out=lambda t: sum(t._n_features_outs),
        ),
        Encoder(
            OrdinalEncoder,
            {
                **{name: ENCODING[name] for name in ("categories", "dtype")},
                "handle_unknown": Word(("error", "use_encoded_value")),
                "unknown_value": Either((Number(int), Number(float, nan=True)), optional=True),
                "encoded_missing_value": ANY_NUMBER,
            },
            {"categories": Categories()},
        ),
    ]


KINDS: Mapping[str, Kind] = {kind.made.__name__: kind for kind in _list_of_kinds()}
"""The transformers that a file can hold, by name."""

IGNORED = frozenset(
    {"_sklearn_output_config", "_metadata_request", "_skl_callbacks", "_transformers_feature_names_out"}
)
"""Attributes that do not change what `transform` returns. The output of a step is a field of its own."""

FREE = frozenset(
    {"transformers", "remainder", "categories", "dtype", "n_jobs", "verbose", "memory", "_remainder", "_columns"}
)
"""Attributes that may look different after loading: parameters that a fitted transformer does not use, and columns that
are also there as positions."""


def difference(one: Any, other: Any) -> str | None:
    """Return where two transformers or values differ, or None if they are equal, to the last bit.

    `save` compares what it would load with what it was given. So an attribute that a new version of scikit-learn adds
    is noticed before a file is written that lacks it.
    """
    one, other = (each.item() if isinstance(each, np.generic) else each for each in (one, other))
    if type(one) is not type(other):
        return "" if not {type(one), type(other)} <= {list, tuple} else difference(list(one), list(other))
    if isinstance(one, BaseEstimator):
        is_own = is_of_ravine(type(one))  # the schema of an estimator of ravine has all of its state
        return None if is_own else _different_attribute(one, other)
    if isinstance(one, list | tuple):
        if len(one) != len(other):
            return ""
        pairs = zip(one, other, strict=True)
        return next((f".{i}{d}" for i, (a, b) in enumerate(pairs) if (d := difference(a, b)) is not None), None)
    if isinstance(one, dict):
        return difference([*one, *one.values()], [*other, *other.values()])
    if isinstance(one, np.random.RandomState):
        return difference(one.get_state(legacy=False)["state"]["key"], other.get_state(legacy=False)["state"]["key"])
    if isinstance(one, np.ndarray):
        if one.dtype.kind == "O" or one.dtype.kind == other.dtype.kind == "U":
            return difference(one.tolist(), other.tolist())
        is_same = (one.dtype, one.shape, order_of(one)) == (other.dtype, other.shape, order_of(other))
        return None if is_same and np.array_equal(one, other, equal_nan=one.dtype.kind == "f") else ""
    return None if one == other or (one != one and other != other) else ""


def _different_attribute(one: BaseEstimator, other: BaseEstimator) -> str | None:
    mine, theirs = ({k: v for k, v in vars(each).items() if k not in IGNORED | FREE} for each in (one, other))
    for name in sorted(mine.keys() | theirs.keys()):
        if name not in mine or name not in theirs:
            return f".{name}"
        if (found := difference(*(_plain(name, each[name]) for each in (mine, theirs)))) is not None:
            return f".{name}{found}"
    return None


def _plain(name: str, value: Any) -> Any:
    """Return an empty dictionary as None, and parts without their columns."""
    if name == "transformers_":
        return [each[:2] for each in value]
    if name == "_transformer_to_input_indices":
        return {part: [int(j) for j in positions] for part, positions in value.items()}
    return None if isinstance(value, dict) and not value else value
