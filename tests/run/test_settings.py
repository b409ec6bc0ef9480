"""Settings to TOML and back."""

import hashlib
import tomllib
from dataclasses import asdict
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from decoupling.run.settings import (
    LARGEST_SEED,
    Settings,
    file_digest,
    read_settings,
    settings_toml,
)
from decoupling.tables.reading import TableError

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)


@given(
    label=TEXT,
    exclude=st.lists(TEXT, max_size=3),
    noise=st.none() | st.floats(0, 1),
    seed=st.integers(0, LARGEST_SEED),
)
def test_round_trip(tmp_path_factory, label, exclude, noise, seed):
    settings = Settings(label=label, exclude=tuple(exclude), noise=noise, seed=seed)
    path = tmp_path_factory.mktemp("settings") / "run.toml"
    path.write_text(settings_toml(settings, label, "abc"), encoding="utf-8", newline="")
    table = Path("-") if label == "-" else path.parent / label
    assert read_settings(path) == (settings, table, "abc")
    assert tomllib.loads(path.read_text(encoding="utf-8"))["file"] == label


def test_what_is_not_known(tmp_path):
    path = tmp_path / "run.toml"
    path.write_text("[settings]\nlables = 1\n")
    with pytest.raises(TableError, match="settings that are not known: lables"):
        read_settings(path)
    for line in ("exclude = 5", "label = 5", "seed = 'a'", "exclude = [1]"):
        path.write_text(f"[settings]\n{line}\n")
        with pytest.raises(TableError, match="cannot be"):
            read_settings(path)
    for text in ("", "folds = 3\n", "[setings]\nfolds = 3\n"):
        path.write_text(text)
        with pytest.raises(TableError, match=r"no settings: put them below a line \[settings\]"):
            read_settings(path)
    path.write_text("folds = 3\n[settings]\nrounds = 2\n")
    with pytest.raises(TableError, match=r"folds must stand below the line \[settings\]"):
        read_settings(path)
    path.write_text("file = 5\n[settings]\n")
    with pytest.raises(TableError, match="file cannot be 5"):
        read_settings(path)
    path.write_text("settings = 5\n")
    with pytest.raises(TableError, match="settings must be a table"):
        read_settings(path)
    path.write_text("settings = [")
    with pytest.raises(TableError, match="is no TOML file"):
        read_settings(path)


def test_defaults_are_written_too():
    """Since another version may have others."""
    written = tomllib.loads(settings_toml(Settings(), "a", "b"))["settings"]
    given = {name: value for name, value in asdict(Settings()).items() if value is not None}
    assert written == given | {"exclude": [], "categorical": [], "numeric": []}


def test_digest(tmp_path):
    (tmp_path / "a").write_bytes(b"x" * 3_000_000)
    assert file_digest(tmp_path / "a") == hashlib.sha256(b"x" * 3_000_000).hexdigest()
