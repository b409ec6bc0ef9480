"""The command line: parses, calls, prints."""

from __future__ import annotations

from typing import Final

import typer

from decoupling.cli import reproduce
from decoupling.cli.checking import check
from decoupling.cli.models import apply, explain, info, report
from decoupling.cli.running import demo, run

COMMANDS: Final = (demo, check, run, apply, report, explain, info)

app = typer.Typer(
    help="True classes behind noisy, missing or one-sided labels.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)
for command in COMMANDS:
    app.command()(command)
app.add_typer(reproduce.app, name="reproduce")
