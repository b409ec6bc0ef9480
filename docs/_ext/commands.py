"""All commands with their options, from where `--help` has them.

The line `% commands` in a page is replaced by a section for each.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from typer.main import get_command

from decoupling import cli

if TYPE_CHECKING:
    from sphinx.application import Sphinx

_LINE: Final = "% commands\n"


def sections() -> str:
    """A heading, what it does, an example, and its arguments and options, of every command."""
    return "\n".join(section(name, command) for name, command in named(get_command(cli.app)))


def named(group: Any, before: str = "") -> Iterator[tuple[str, Any]]:
    """Commands by what is typed; of a group those that are in it."""
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from named(command, f"{before}{name} ")
        else:
            yield before + name, command


def section(name: str, command: Any) -> str:
    """One command."""
    words = [text for text in command.help.split("\n\n") if not text.startswith("decoupling ")]
    examples = [text for text in command.help.split("\n\n") if text.startswith("decoupling ")]
    shown = "\n".join(f"$ {line.strip()}" for line in examples)
    lines = [f"## {name}", *map(plain, words), f"```console\n{shown}\n```"]
    rows = [f"| {typed(each)} | {plain(each.help)} | {default(each)} |" for each in command.params]
    if rows:
        lines.append("\n".join(["| | | default |", "|---|---|---|", *rows]))
    return "\n\n".join(lines) + "\n"


def typed(parameter: Any) -> str:
    """An option as it is typed; an argument is in capitals."""
    if parameter.param_type_name == "argument":
        return f"`{parameter.name.upper()}`"
    return ", ".join(f"`{name}`" for name in [*parameter.opts, *parameter.secondary_opts])


def default(parameter: Any) -> str:
    """What holds if an option is left out, if that says anything."""
    value = parameter.default
    return "" if value is None or isinstance(value, bool) else f"`{value}`"


def plain(text: str) -> str:
    """A text whose signs are no Markdown; options are code, lest two hyphens become a dash."""
    text = re.sub(r"([|$*_<])", r"\\\1", " ".join(text.split()))
    return re.sub(r"--[a-z-]+", r"`\g<0>`", text)


def _read(app: Sphinx, name: str, source: list[str]) -> None:
    if _LINE in source[0]:
        source[0] = source[0].replace(_LINE, sections())
        for file in [Path(__file__), *Path(cli.__file__).parent.glob("*.py")]:
            app.env.note_dependency(str(file), docname=name)


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("source-read", _read)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
