"""Settings of a run, declared once: options of commands, and the file that keeps them."""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Mapping
from dataclasses import Field, asdict, dataclass, field, fields, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from decoupling._version import __version__
from decoupling.tables.reading import TableError

# The largest random state that numpy takes.
LARGEST_SEED: Final = 2**32 - 1
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
class Option:
    """A setting as the command line shows it, and its name in Python.

    Attributes
    ----------
    text : str
        What ``--help`` says.
    arguments : tuple of str
        Arguments of Python with this value, if they have another name.
    least, most : float or None
        Bounds of a number.
    is_path : bool
        Whether it is the path of a file.
    """

    text: str
    arguments: tuple[str, ...] = ()
    least: float | None = None
    most: float | None = None
    is_path: bool = False


def _setting(default: Any, text: str, **more: Any) -> Any:
    return field(default=default, metadata={"option": Option(text, **more)})


@dataclass(frozen=True)
class Settings:
    """Settings of a run, besides its file: the options of ``decoupling run``.

    Attributes are in the order of run.toml. Those from ``label`` to ``images_anywhere`` are
    fields of `Roles`. Those from ``task`` to ``seed`` are arguments of `DecouplingClassifier`, from
    ``delimiter`` to ``decimal`` of `read_table`, and ``decisions`` is a file for `read_decisions`.
    """

    label: str | None = _setting(None, "Column of the labels; guessed if left out.")
    id: str | None = _setting(
        None,
        "Column that names the rows; it is no feature.",
        arguments=("id_column", "row_names"),
    )
    exclude: tuple[str, ...] = _setting((), "Column to leave out; may be repeated.")
    categorical: tuple[str, ...] = _setting(
        (), "Column of categories, though of numbers by its looks; may be repeated."
    )
    numeric: tuple[str, ...] = _setting(
        (), "Column of numbers, though written like 1,234.50, 12% or $3; may be repeated."
    )
    unlabelled: str | None = _setting(None, "Value that means unlabelled, besides an empty cell.")
    label_proba: str | None = _setting(
        None, "Columns whose names begin so are p(label | x), known from elsewhere."
    )
    image: str | None = _setting(
        None,
        "Column of images or of their paths, shown in the report.",
        arguments=("thumbnails",),
    )
    images_anywhere: bool = _setting(
        False, "Show images that lie outside the folder of the table, too."
    )
    task: str = _setting(
        "auto",
        "auto, supervised, semi-supervised, positive-unlabelled, multi-positive-unlabelled, "
        "noisy, class-conditional-noise or complementary.",
    )
    negative: str = _setting(
        "negative", "Class that is never labelled, in positive-unlabelled tasks."
    )
    noise: float | None = _setting(None, "Share of wrong labels, if it is known.", least=0, most=1)
    labelled: float | None = _setting(
        None, "Share of rows with a label, by class.", least=0, most=1
    )
    estimator: str = _setting("logistic", "logistic, forest, boosting, mlp, or module:object.")
    folds: int = _setting(5, "Folds of the cross-fitting.", arguments=("cv",), least=2)
    rounds: int = _setting(5, "Rounds of retraining at most; 0 is the paper.", least=0)
    seed: int = _setting(
        0,
        "Deals rows to folds, and draws bags of a rare label.",
        arguments=("random_state",),
        least=0,
        most=LARGEST_SEED,
    )
    delimiter: str | None = _setting(None, "Between cells; guessed if left out.")
    encoding: str | None = _setting(None, "Of the text; guessed if left out.")
    decimal: str | None = _setting(None, "Decimal point or comma; guessed if left out.")
    decisions: str | None = _setting(
        None,
        "decisions.csv from the report: classes that are known.",
        arguments=("known_classes",),
        is_path=True,
    )
    format: str = _setting("parquet", "Of the probabilities: parquet or csv.")
    raw_csv: bool = _setting(False, "Leave texts alone that a spreadsheet would take for formulas.")


def option_of(name: str) -> str:
    """A setting as it is typed.

    Examples
    --------
    >>> option_of("raw_csv")
    '--raw-csv'
    """
    return f"--{name.replace('_', '-')}"


def _options() -> dict[str, str]:
    found = {"n_review": "--review", "path": "--out"}  # of other commands
    for each in fields(Settings):
        names = each.metadata["option"].arguments or (each.name,)
        found |= dict.fromkeys(names, option_of(each.name))
    return found


# The option of each argument of Python, for `Message.told`.
OPTIONS: Final[Mapping[str, str]] = MappingProxyType(_options())


def settings_toml(settings: Settings, file: str, digest: str) -> str:
    """A run as TOML, with the version that made it, the path of the file and its SHA-256."""
    lines = [
        "# decoupling run --config run.toml --out FOLDER does the same again.",
        f"version = {json.dumps(__version__)}",
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
    known = {each.name: each for each in fields(Settings)}
    unknown = sorted(set(given) - set(known))
    if unknown:
        raise TableError(f"{path.name} has settings that are not known: {', '.join(unknown)}.")
    for name, value in given.items():
        if not _may_be(known[name], value):
            raise TableError(f"{path.name}: {name} cannot be {value!r}.")
    plain: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in given.items()
    }
    settings = Settings(**plain)
    if settings.decisions is not None:
        settings = replace(settings, decisions=str(path.parent / settings.decisions))
    table = None if file is None else Path(file) if file == "-" else path.parent / file
    return settings, table, content.get("sha256")


def _may_be(setting: Field[Any], value: Any) -> bool:
    """Whether a value in a file is of the kind of a setting, and within its bounds."""
    # Not isinstance: to Python, true and false are numbers.
    if type(value) not in _KINDS[str(setting.type)]:
        return False
    if isinstance(value, list):
        return all(isinstance(item, str) for item in value)
    option: Option = setting.metadata["option"]
    above = option.least is None or value >= option.least
    return above and (option.most is None or value <= option.most)


def file_digest(path: Path) -> str:
    """SHA-256 of a file."""
    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist.")
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder; give a file.")
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
