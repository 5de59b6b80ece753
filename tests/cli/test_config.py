"""Options in a TOML file: the command line overrules it, and a run can be repeated from what it wrote."""

import inspect
import json
import tomllib

import pandas as pd
import pytest

from ravine.cli._app import cluster
from ravine.cli._config import KEYS
from ravine.datasets import make_messy_table


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("shop") / "shop.csv"
    make_messy_table(500, n_segments=3, separation=6.0, random_state=5).to_csv(path)
    return path


@pytest.fixture
def config(tmp_path):
    """Writes a file of options and returns its path."""

    def write(text):
        (tmp_path / "ravine.toml").write_text(text, encoding="utf-8")
        return tmp_path / "ravine.toml"

    return write


def roles_in(done):
    return {column["name"]: column["role"] for column in json.loads(done.out)["columns"]}


def test_keys_are_the_options_of_the_command():
    options = {name.replace("_", "-") for name in inspect.signature(cluster).parameters}
    others = {"context", "data", "config", "write-config", "quiet", "json", "role"}
    assert set(KEYS) == options - others | {"roles"}


def test_options_of_a_file_are_used(file, config, tmp_path, ravine_here):
    out = tmp_path / "labels.csv"
    text = f"""
        method = "pddp"
        clusters = 3
        ignore = ["tier", "comment"]
        keep = ["city"]
        out = {json.dumps(str(out))}
        [roles]
        postcode = "category"
    """
    done = ravine_here("cluster", file, "--config", config(text), "--json")
    found = json.loads(done.out)
    assert (done.err, found["method"], found["n_clusters"]) == ("", "pddp", 3)
    assert roles_in(done) | {"postcode": "category", "tier": "ignore", "comment": "ignore"} == roles_in(done)
    assert pd.read_csv(out).columns.tolist() == ["row", "city", "cluster"]


def test_the_command_line_overrules_the_file_and_adds_roles(file, config, ravine_here):
    text = 'clusters = 4\nmethod = "pddp"\nroles = {postcode = "category", city = "text"}'
    options = ("--clusters", 3, "--role", "city=ignore,tier=ignore")
    done = ravine_here("cluster", file, "--config", config(text), *options, "--json")
    assert json.loads(done.out)["n_clusters"] == 3
    assert roles_in(done) | {"postcode": "category", "city": "ignore", "tier": "ignore"} == roles_in(done)


def test_no_file_is_read_without_being_asked_for(file, tmp_path, monkeypatch, ravine_here):
    (tmp_path / "ravine.toml").write_text("clusters = 7")
    monkeypatch.chdir(tmp_path)
    assert json.loads(ravine_here("cluster", file, "--json").out)["n_clusters"] == 3


def test_names_with_commas_and_quotes_can_be_given(tmp_path, config, ravine_here):
    names = ["size, in cm", 'a "b"', "plain", "rest"]
    rows = [[i % 2 * 9 + i / 50, i % 7 + 0.5, i % 5, i % 11] for i in range(60)]
    pd.DataFrame(rows, columns=names).to_csv(tmp_path / "t.csv", index=False)
    text = f"columns = {json.dumps(names[:3])}\n[roles]\n{json.dumps(names[1])} = 'category'"
    done = ravine_here("cluster", tmp_path / "t.csv", "--config", config(text), "--json")
    assert roles_in(done) == dict(zip(names, ("number", "category", "number", "ignore"), strict=True))
    by_hand = ravine_here("cluster", tmp_path / "t.csv", "--columns", '"size, in cm",plain', "--json")
    assert [role for role in roles_in(by_hand).values() if role == "ignore"] == ["ignore"] * 2


BAD = {
    "an unknown key": (
        'metod = "mdh"',
        "there is no key 'metod' (did you mean 'method'?); the keys are method, clusters",
    ),
    "two unknown keys": (
        "in_passes = true\nzzz = 1",
        "there are no keys 'in_passes' (did you mean 'in-passes'?), 'zzz'",
    ),
    "a number as text": ('clusters = "four"', 'clusters must be a whole number, not "four"'),
    "a fraction": ("clusters = 4.5", "clusters must be a whole number, not 4.5"),
    "a Boolean as a number": ("clusters = true", "clusters must be a whole number, not true"),
    "a number as a Boolean": ("encode = 1", "encode must be true or false, not 1"),
    "a list of numbers": ("columns = [1, 2]", 'columns must be a list of columns, as in ["a", "b"], not [1, 2]'),
    "text instead of a list": ('columns = "a"', 'columns must be a list of columns, as in ["a", "b"], not "a"'),
    "roles that are no text": ("roles = {city = 3}", "roles must be a table of columns and roles"),
    "a date": ("label = 2024-01-01", 'label must be text, as in "a", not "2024-01-01"'),
    "no TOML": ("clusters: 4", "this is not TOML: "),
    "a method that is not there": ('method = "kmeens"', "Invalid value for '--method'"),
    "a role that is not there": ('roles = {city = "place"}', "the role of 'city' must be one of"),
    "a column that is not there": ('roles = {town = "text"}', "there is no column 'town'; choose from"),
    "roles by hand": ('scale = true\nroles = {city = "text"}', "--role does not go with"),
}


@pytest.mark.parametrize("what", BAD)
def test_bad_files_are_told_in_a_line(what, file, config, ravine_here):
    text, message = BAD[what]
    done = ravine_here("cluster", file, "--config", config(text))
    assert done.returncode in (1, 2)
    assert (done.out, done.err.count("\n")) == ("", 1)
    assert message in done.err


def test_a_file_that_is_not_there_or_not_text_is_told_in_a_line(file, tmp_path, ravine_here):
    done = ravine_here("cluster", file, "--config", tmp_path / "none.toml")
    assert (done.returncode, done.err) == (2, f"error: {tmp_path / 'none.toml'}: there is no such file or folder\n")
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe\x00")
    done = ravine_here("cluster", file, "--config", tmp_path / "binary.toml")
    assert (done.returncode, done.err.count("\n")) == (2, 1)
    assert "this is not TOML" in done.err


def test_a_run_is_repeated_from_what_it_wrote(file, tmp_path, ravine_here):
    out, again, config = (tmp_path / name for name in ("first.csv", "again.csv", "ravine.toml"))
    options = ("--role", "postcode=category", "--ignore", "tier", "--keep", "customer_id,city", "--seed", 3)
    first = ravine_here("cluster", file, *options, "--out", out, "--write-config", config)
    assert (first.returncode, first.err) == (0, "")
    assert f"options {config}" in first.out
    written = tomllib.loads(config.read_text(encoding="utf-8"))
    assert (written["method"], written["seed"], written["keep"]) == ("imdh", 3, ["customer_id", "city"])
    assert (
        written["roles"]
        | {
            "customer_id": "identifier",
            "postcode": "category",
            "tier": "ignore",
            "currency": "ignore",
            "spend": "number",
        }
        == written["roles"]
    )
    assert '# constant: all its cells are "EUR"' in config.read_text(encoding="utf-8")
    second = ravine_here("cluster", file, "--config", config, "--out", again)
    assert (second.returncode, second.err) == (0, "")
    assert again.read_bytes() == out.read_bytes()


def test_a_run_by_hand_is_repeated_from_what_it_wrote(file, tmp_path, ravine_here):
    out, again, config = (tmp_path / name for name in ("first.csv", "again.csv", "ravine.toml"))
    options = ("--no-scale", "--missing", "mean", "--clusters", 3, "--method", "mdh")
    assert ravine_here("cluster", file, *options, "--out", out, "--write-config", config, "-q").returncode == 0
    written = tomllib.loads(config.read_text(encoding="utf-8"))
    assert (written["scale"], written["missing"], written["clusters"]) == (False, "mean", 3)
    done = ravine_here("cluster", file, "--config", config, "--out", again)
    assert (done.returncode, done.err) == (0, "")
    assert again.read_bytes() == out.read_bytes()


def test_odd_names_and_values_are_written_as_toml(tmp_path, ravine_here):
    names = ['say "hi"', "back\\slash", "two\nlines", "a.b", "größe", "\x7f", "plain-name_1", "#"]
    rows = [[i % 2 * 9 + i / 50 + j for j in range(len(names))] for i in range(60)]
    table = pd.DataFrame(rows, columns=names)
    table.to_parquet(tmp_path / "t.parquet")
    config = tmp_path / "ravine.toml"
    assert ravine_here("cluster", tmp_path / "t.parquet", "--write-config", config, "-q").returncode == 0
    assert list(tomllib.loads(config.read_text(encoding="utf-8"))["roles"]) == names
    assert ravine_here("cluster", tmp_path / "t.parquet", "--config", config, "-q").returncode == 0


def test_the_options_that_are_read_are_not_overwritten(file, config, ravine_here):
    path = config("clusters = 3")
    done = ravine_here("cluster", file, "--config", path, "--write-config", path)
    assert done.returncode == 2
    assert "is the same file as --config" in done.err
