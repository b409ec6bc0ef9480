"""The command line: parses, calls, prints."""

from __future__ import annotations

import typer

from decoupling.cli import reproduce, tables

app = typer.Typer(
    help="True classes behind noisy, missing or one-sided labels.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)
for command in tables.COMMANDS:
    app.command()(command)
app.add_typer(reproduce.app, name="reproduce")
