"""The command line: parses, calls, prints.

Commands are in `checking`, `running`, `using`, `demonstrating` and `reproduce`. They share
`options`, `terminal` for what is printed, `progress` for the bar, `pipes` for standard input, and
`run_files` for the files of a run.
"""

from __future__ import annotations

from typing import Annotated, Final

import typer

from decoupling._version import __version__
from decoupling.cli import reproduce
from decoupling.cli.checking import check
from decoupling.cli.demonstrating import demo
from decoupling.cli.running import run
from decoupling.cli.using import apply, explain, info, report

COMMANDS: Final = (demo, check, run, apply, report, explain, info)

app = typer.Typer(
    help="True classes behind noisy, missing or one-sided labels.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)


def _tell_version(asked: bool) -> None:
    if asked:
        print(f"decoupling {__version__}")
        raise typer.Exit


@app.callback()
def common_options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_tell_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
) -> None:
    """Options that come before the command."""


for command in COMMANDS:
    app.command()(command)
app.add_typer(reproduce.app, name="reproduce")
