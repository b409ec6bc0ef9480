"""All that a run depends on, and the file that keeps it."""

from __future__ import annotations

import hashlib
import json
import tomllib
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any, Final

import decoupling
from decoupling.tables.reading import TableError

# What a field of a type may be in TOML.
_KINDS: Final[dict[str, tuple[type, ...]]] = {
    "str": (str,),
    "str | None": (str,),
    "int": (int,),
    "bool": (bool,),
    "float | None": (int, float),
    "tuple[str, ...]": (list,),
}


@dataclass(frozen=True)
class Settings:
    """All that a run depends on, besides the file.

    Attributes
    ----------
    label, id, exclude, categorical, numeric, unlabelled, label_proba, image
        As in `pose`; ``id`` is its ``id_column``.
    task, negative, noise, labelled, rounds
        As in `DecouplingClassifier`.
    folds : int
        Its ``cv``.
    estimator : str
        As in `make_estimator`.
    seed : int
        Its ``random_state``.
    delimiter, encoding, decimal
        As in `read_table`.
    decisions : str
        Path of a file as `read_decisions` takes it.
    format, raw_csv
        Of the tables that are written.
    """

    label: str | None = None
    id: str | None = None
    exclude: tuple[str, ...] = ()
    categorical: tuple[str, ...] = ()
    numeric: tuple[str, ...] = ()
    unlabelled: str | None = None
    label_proba: str | None = None
    image: str | None = None
    task: str = "auto"
    negative: str = "negative"
    noise: float | None = None
    labelled: float | None = None
    estimator: str = "logistic"
    folds: int = 5
    rounds: int = 5
    seed: int = 0
    delimiter: str | None = None
    encoding: str | None = None
    decimal: str | None = None
    decisions: str | None = None
    format: str = "parquet"
    raw_csv: bool = False


def settings_toml(settings: Settings, file: str, digest: str) -> str:
    """A run as TOML, with the version that made it, the path of the file and its SHA-256."""
    lines = [
        "# decoupling run --config run.toml --out FOLDER does the same again.",
        f"version = {json.dumps(decoupling.__version__)}",
        f"file = {_toml(file)}",
        f"sha256 = {json.dumps(digest)}",
        "",
        "[settings]",
    ]
    given = {name: value for name, value in asdict(settings).items() if value is not None}
    return (
        "\n".join([*lines, *(f"{name} = {_toml(value)}" for name, value in given.items())]) + "\n"
    )


def _toml(value: Any) -> str:
    """Text, a number or a list of texts; what JSON writes of them TOML reads."""
    text = json.dumps(list(value) if isinstance(value, tuple) else value, ensure_ascii=False)
    return text.replace("\x7f", "\\u007f")


def read_settings(path: Path) -> tuple[Settings, Path | None, str | None]:
    """Settings from a file that a run wrote, its table, and the SHA-256 of that.

    Paths are from the folder of the file; "-" is standard input.
    """
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise TableError(f"{path.name} is no TOML file: {error}.") from error
    if "settings" not in content:
        raise TableError(f"{path.name} has no settings: put them below a line [settings].")
    astray = sorted(set(content) - {"version", "file", "sha256", "settings"})
    if astray:
        raise TableError(f"{path.name}: {', '.join(astray)} must stand below the line [settings].")
    given, file = content["settings"], content.get("file")
    if not isinstance(file, str | None):
        raise TableError(f"{path.name}: file cannot be {file!r}.")
    if not isinstance(given, dict):
        raise TableError(f"{path.name}: settings must be a table, [settings].")
    kinds = {field.name: _KINDS[str(field.type)] for field in fields(Settings)}
    unknown = sorted(set(given) - set(kinds))
    if unknown:
        raise TableError(f"{path.name} has settings that are not known: {', '.join(unknown)}.")
    for name, value in given.items():
        items = value if isinstance(value, list) else []
        if not isinstance(value, kinds[name]) or not all(isinstance(item, str) for item in items):
            raise TableError(f"{path.name}: {name} cannot be {value!r}.")
    plain: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in given.items()
    }
    settings = Settings(**plain)
    if settings.decisions is not None:
        settings = replace(settings, decisions=str(path.parent / settings.decisions))
    table = None if file is None else Path(file) if file == "-" else path.parent / file
    return settings, table, content.get("sha256")


def file_digest(path: Path) -> str:
    """SHA-256 of a file."""
    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist.")
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder; give a file.")
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
