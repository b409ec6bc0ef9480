"""Printing and failing, which all commands do alike."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any, Final

import typer
from rich.console import Console
from rich.markup import escape

from decoupling._text import Message, message_of, visible
from decoupling.run.settings import OPTIONS

console = Console(highlight=False, soft_wrap=True)
errors = Console(stderr=True, highlight=False, soft_wrap=True)

# Exit code after an error that the user can mend: a file, an option, a missing package.
BAD_INPUT: Final = 2
# Exit code if all files were written, but the inference has not converged.
NOT_CONVERGED: Final = 3
# Exit code after Ctrl-C, as shells have it: 128 and the number of the signal.
INTERRUPTED: Final = 130


@contextmanager
def plainly(
    interrupted: str = "What is finished is kept: the same command goes on from here.",
) -> Iterator[None]:
    """Print an error in one line, in the words of the command line, and end with its exit code.

    ``interrupted`` is said after Ctrl-C.
    """
    try:
        yield
    except (ValueError, OSError, ModuleNotFoundError) as error:
        errors.print(f"[bold red]Error:[/] {escape(shown(_words_of(error)))}")
        raise typer.Exit(BAD_INPUT) from error
    except (typer.Exit, typer.Abort):
        raise
    except Exception as error:
        if os.environ.get("DECOUPLING_DEBUG"):
            raise
        errors.print(
            f"[bold red]Error:[/] unexpected {type(error).__name__}: {escape(shown(str(error)))}. "
            "This should not happen: please report it with what `decoupling info` prints. "
            "DECOUPLING_DEBUG=1 shows where."
        )
        raise typer.Exit(BAD_INPUT) from error
    except KeyboardInterrupt:
        errors.print(f"Interrupted. {interrupted}")
        raise typer.Exit(INTERRUPTED) from None


def _words_of(error: Exception) -> str:
    """An error in the words of the command line; of one of the system what, and of which file."""
    if isinstance(error, OSError) and error.strerror:
        named = "" if error.filename is None else f"{error.filename}: "
        return f"{named}{error.strerror}."
    return message_of(error).told(OPTIONS)


def busy(step: str) -> AbstractContextManager[object]:
    """Show which step is going on, if the output is a terminal."""
    return errors.status(escape(shown(step))) if errors.is_terminal else nullcontext()


def shown(text: str) -> str:
    r"""A text without characters that would steer the terminal.

    Examples
    --------
    >>> print(shown("red \x1b[31m"))
    red \x1b[31m
    """
    return "\n".join(visible(line) for line in text.split("\n"))


def told(messages: Iterable[Message]) -> list[str]:
    """Texts of messages, in the words of the command line."""
    return [message.told(OPTIONS) for message in messages]


def print_json(found: dict[str, Any]) -> None:
    """One JSON object, for machines: nothing else goes to standard output then."""
    console.out(json.dumps(found, indent=2, ensure_ascii=False), highlight=False)


def print_written(paths: Iterable[Path]) -> None:
    """Say which files were written, as they are."""
    for path in paths:
        console.print(f"wrote {shown(str(path))}", markup=False)
