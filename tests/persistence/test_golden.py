"""Files of every schema that is read keep loading, and say what they said when written."""

import json
import runpy
from pathlib import Path

import golden
import numpy as np
import pytest

from decoupling import load
from decoupling.persistence import describe, manifest, models

TOOL = Path(__file__).parents[2] / "tools" / "golden_files.py"
EVERY = [
    (kind, schema)
    for kind in golden.KINDS
    for schema in range(manifest.OLDEST, manifest.SCHEMA + 1)
]


def assert_says(found, expected):
    """Numbers are equal but for rounding, of quadrature where there is any; names are equal."""
    assert set(expected) <= set(found)
    for name, value in expected.items():
        if np.asarray(value).dtype.kind == "f":
            rtol = 1e-6 if name in ("lower", "upper") else 1e-9
            np.testing.assert_allclose(found[name], value, rtol=rtol, err_msg=name)
        else:
            assert found[name] == value


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.InconsistentVersionWarning")
@pytest.mark.parametrize(("kind", "schema"), EVERY)
def test_a_file_of_every_kind_and_schema_keeps_loading(kind, schema):
    """After the schema was raised: python tools/golden_files.py."""
    path = golden.path_of(kind, schema)
    assert path.exists(), f"{path.name} is not there: python tools/golden_files.py makes it."
    assert describe(path)["schema"] == schema
    expected = json.loads(path.with_suffix(".json").read_text())
    assert_says(golden.said(load(path), expected.get("rows", golden.NEW)), expected)


def test_there_is_a_kind_for_all_that_can_be_saved():
    kinds = {describe(golden.path_of(kind, manifest.SCHEMA))["holds"] for kind in golden.KINDS}
    assert kinds == set(models._HOLDS)


def test_a_file_that_says_something_else_is_noticed():
    path = golden.path_of("posterior", manifest.OLDEST).with_suffix(".json")
    expected = json.loads(path.read_text())
    with pytest.raises(AssertionError, match="elbo"):
        assert_says(expected | {"elbo": expected["elbo"] + 1.0}, expected)


@pytest.mark.skipif(not TOOL.exists(), reason="tools are not part of a source distribution")
def test_files_that_are_there_are_left_alone(tmp_path, monkeypatch):
    write_missing = runpy.run_path(str(TOOL))["write_missing"]
    for kind in ("self_trained", "one_sided", "given", "setred"):
        monkeypatch.delitem(golden.KINDS, kind)
    old = golden.path_of("classifier", manifest.SCHEMA, tmp_path)
    old.write_bytes(b"of a version before")
    assert write_missing(tmp_path) == [golden.path_of("posterior", manifest.SCHEMA, tmp_path)]
    assert old.read_bytes() == b"of a version before"
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        f"classifier_schema_{manifest.SCHEMA}.decoupling",
        f"posterior_schema_{manifest.SCHEMA}.decoupling",
        f"posterior_schema_{manifest.SCHEMA}.json",
    ]
    assert write_missing(tmp_path) == []


def test_a_schema_without_files_would_be_noticed():
    assert not any(golden.path_of(kind, manifest.SCHEMA + 1).exists() for kind in golden.KINDS)
