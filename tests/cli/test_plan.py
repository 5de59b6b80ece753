import inspect
import json

import numpy as np
import pytest

import ravine
from ravine._io import TextFormat, UsageError
from ravine.cli import _app
from ravine.cli._errors import explain
from ravine.cli._options import StreamMethod
from ravine.cli._plan import METHODS, PARAMETERS, Plan, make_model
from ravine.cli._rows import StreamOptions
from ravine.cli._screen import Screen
from ravine.cli._stream import stream
from ravine.datasets import make_blobs


@pytest.fixture(scope="module", name="X")
def rows_in_very_different_units():
    X, _ = make_blobs(2000, centers=[[0, 0], [9, 0], [0, 9]], random_state=0)
    return (X * [1, 1e-3]).round(6)


@pytest.fixture
def file(X, tmp_path):
    path = tmp_path / "t.csv"
    np.savetxt(path, X, delimiter=",", header="a,b", comments="", fmt="%.6f")
    return path


def run(file, out, **plan):
    stream(str(file), StreamOptions(TextFormat()), Plan(out=out, **plan), Screen(quiet=True))
    return [json.loads(line) for line in out.read_text().splitlines()]


def refused(call, *args, **options):
    with pytest.raises(UsageError) as caught:
        call(*args, **options)
    message, code = explain(caught.value)
    assert code == 2
    return message


def test_the_command_and_the_plan_have_the_same_methods_and_the_same_default():
    assert [method.value for method in StreamMethod] == list(METHODS)
    default = inspect.signature(_app.stream).parameters["method"].default
    assert default.value == Plan().method == "stream"
    assert type(make_model(Plan())) is ravine.StreamClusterer


def test_the_default_method_scales_the_columns_itself(file, X, tmp_path):
    found = [record["cluster"] for record in run(file, tmp_path / "out", batch=500)]
    model = ravine.StreamClusterer().partial_fit(X[:500])
    for start in range(500, 2000, 500):
        assert found[start : start + 500] == model.cluster_ids_[model.predict(X[start : start + 500])].tolist()
        model.partial_fit(X[start : start + 500])
    assert model.n_clusters_ == 3


def test_the_defaults_that_the_help_names_are_those_of_the_estimator():
    for name in PARAMETERS:
        option = inspect.signature(_app.stream).parameters[name]
        (described,) = option.annotation.__metadata__
        assert option.default is None
        default = getattr(ravine.StreamClusterer(), name)
        assert f"Default: {default:g}".replace("1e+08", "1e8") in described.help


def test_parameters_reach_the_estimator():
    given = {"significance": 0.01, "run_length": 1e6, "max_clusters": 3}
    assert given.items() <= make_model(Plan(parameters=given)).get_params().items()
    for method in METHODS:
        assert make_model(Plan(method, parameters={"significance": 0.01})).significance == 0.01


def test_a_limit_on_the_number_of_clusters_is_kept(file, tmp_path):
    found = run(file, tmp_path / "out", batch=500, per_batch=True, parameters={"max_clusters": 2})
    assert max(record["n_clusters"] or 0 for record in found) == 2


REFUSED = {
    (
        "imdh",
        "max_clusters",
        3,
    ): "--max-clusters does not go with --method imdh: leave it out, or choose --method",
    ("hsdc", "run_length", 500.0): "--run-length does not go with --method hsdc: leave it out, or choose --method",
    ("stream", "significance", 0.0): "--significance 0: --method stream needs a float in the range (0.0, 1.0)",
    ("stream", "significance", np.nan): "--significance nan: --method stream needs a float",
    ("hsdc", "significance", 0.3): "--significance 0.3: --method hsdc needs a float in the range [0.001, 0.2]",
    ("stream", "run_length", 5.0): "--run-length 5: --method stream needs a float",
    ("stream", "max_clusters", 0): "--max-clusters 0: --method stream needs an int in the range [1, 100000]",
}


@pytest.mark.parametrize(("method", "name", "value"), REFUSED)
def test_a_parameter_that_the_method_does_not_take_is_refused_before_anything_is_written(
    file, tmp_path, method, name, value
):
    message = refused(run, file, tmp_path / "out", method=method, parameters={name: value})
    assert REFUSED[method, name, value] in message
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("before", "now", "line"),
    [
        ({}, {"significance": 0.01}, "was made with no --significance, but this command has --significance 0.01"),
        ({"run_length": 1e6}, {}, "was made with --run-length 1000000.0, but this command has no --run-length"),
        ({"max_clusters": 3}, {"max_clusters": 4}, "was made with --max-clusters 3, but this command has --max-clu"),
    ],
)
def test_a_stream_continues_with_the_same_parameters_only(file, tmp_path, before, now, line):
    options = {"batch": 500, "checkpoint": tmp_path / "kept"}
    run(file, tmp_path / "out", parameters=before, **options)
    message = refused(run, file, tmp_path / "out", parameters=now, **options)
    assert line in message
    assert len(run(file, tmp_path / "out", parameters=before, **options)) == 2000
