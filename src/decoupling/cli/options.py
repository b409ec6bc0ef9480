"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import Field, fields
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Annotated, Any, Final, get_type_hints

import typer

from decoupling.run.settings import Option, Settings, option_of

NOTHING_WRITTEN: Final = "Nothing was written."
TABLE: Final = "CSV, TSV or Parquet, also compressed with gzip; - is standard input."

File = Annotated[Path, typer.Argument(help=TABLE)]
Model = Annotated[Path, typer.Argument(help="model.decoupling of a run, or its folder.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object, for machines.")]
Force = Annotated[bool, typer.Option("--force", help="Replace files that are there already.")]

# Options of commands that take settings, in the order of --help.
_ORDER: Final = (
    "ctx", "model", "file", "label", "task", "out", "trust", "estimator", "id", "exclude",
    "categorical", "numeric", "unlabelled", "negative", "noise", "labelled", "label_proba", "image",
    "images_anywhere", "decisions", "folds", "rounds", "seed", "delimiter", "encoding", "decimal",
    "config", "format", "raw_csv", "resume", "force", "strict", "as_json",
)  # fmt: skip
_TYPES: Final = get_type_hints(Settings)


def with_settings(*names: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command an option for each of these settings, or for all of them.

    The command itself has one keyword argument instead, ``settings``. A setting without an option
    has its default there.
    """

    def with_options(command: Callable[..., None]) -> Callable[..., None]:
        @wraps(command)
        def called(**given: Any) -> None:
            values = {each.name: _as_setting(each, given.pop(each.name)) for each in taken}
            command(**given, settings=Settings(**values))

        taken = [each for each in fields(Settings) if not names or each.name in names]
        own = signature(command, eval_str=True).parameters.values()
        both = [*(p for p in own if p.name != "settings"), *map(_parameter, taken)]
        _declare(called, sorted(both, key=lambda parameter: _ORDER.index(parameter.name)))
        return called

    return with_options


def with_fields(record: type[Any]) -> Callable[[Callable[..., None]], Callable[[Any], None]]:
    """Give a command an option for each field of a record, which it takes as its one argument."""

    def with_options(command: Callable[[Any], None]) -> Callable[..., None]:
        @wraps(command)
        def called(**given: Any) -> None:
            command(record(**given))

        hints = get_type_hints(record, include_extras=True)
        _declare(
            called,
            [
                Parameter(
                    each.name,
                    Parameter.KEYWORD_ONLY,
                    default=each.default,
                    annotation=hints[each.name],
                )
                for each in fields(record)
            ],
        )
        return called

    return with_options


def _declare(command: Callable[..., None], parameters: Iterable[Parameter]) -> None:
    """Have typer see these parameters instead of those that the function is written with."""
    keywords = [each.replace(kind=Parameter.KEYWORD_ONLY) for each in parameters]
    command.__signature__ = Signature(keywords)  # type: ignore[attr-defined]
    command.__annotations__ = {each.name: each.annotation for each in keywords}


def _parameter(setting: Field[Any]) -> Parameter:
    """A setting as a parameter of a command."""
    option: Option = setting.metadata["option"]
    kind, default = _TYPES[setting.name], setting.default
    if default == ():
        kind, default = list[str] | None, None
    elif option.is_path:
        kind = Path | None
    shown = typer.Option(
        option_of(setting.name), help=option.text, min=option.least, max=option.most
    )
    annotation = Annotated[kind, shown]  # type: ignore[valid-type]
    return Parameter(setting.name, Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _as_setting(setting: Field[Any], typed: Any) -> Any:
    """Turn what was typed into the value that `Settings` holds."""
    if setting.default == ():
        return tuple(typed or ())
    if isinstance(typed, Path):
        return str(typed)
    if setting.name == "delimiter" and typed in ("tab", "\\t"):
        return "\t"  # a tab is hard to type
    return typed
