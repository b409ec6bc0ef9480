"""Run the code blocks of Markdown files, so that what they show stays true.

Blocks are read by the language of their fence:

python   executed in order, in one namespace per file
text     directly after one of the others: exactly what that block prints
console  every line `$ command` is run with bash from the root of the repository and has to succeed;
         `make` is only asked whether it knows the target, and set-up (`pip install`, `git clone`,
         `cd`) is skipped

Other blocks are left alone. Failures are named by file and line, and make the exit status 1.
With --write a text block is made what its block prints.
"""

import argparse
import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
FENCE = re.compile(r"^(?P<fence>`{3,})(?P<language>[^`\s]*)[^`]*$")
SET_UP = ("pip install", "git clone", "cd ")


@dataclass(frozen=True)
class Block:
    """A fenced block: `line` is where its content starts, `end` where its fence closes."""

    language: str
    line: int
    end: int
    content: str


@dataclass(frozen=True)
class Failure:
    """A failure at a line of the file, and what was printed instead of what is shown there."""

    line: int
    message: str
    printed: str | None = None


def read_blocks(text: str) -> Iterator[Block]:
    """Yield the fenced blocks of a Markdown text, in order."""
    lines = text.splitlines()
    opened: tuple[str, str, int] | None = None
    for number, line in enumerate(lines, start=1):
        if opened is None:
            if match := FENCE.match(line):
                opened = match["fence"], match["language"], number
        elif line.rstrip() == opened[0]:
            _, language, start = opened
            yield Block(language, start + 1, number, "\n".join(lines[start : number - 1]))
            opened = None


def printed_after(block: Block, following: Block | None, text: str) -> str | None:
    """Return the output that the file shows for a block, if a text block directly follows it."""
    if following is None or following.language != "text":
        return None
    between = text.splitlines()[block.end : following.line - 2]
    return None if any(map(str.strip, between)) else following.content


def run_python(
    block: Block, expected: str | None, namespace: dict[str, Any], path: Path
) -> Iterator[Failure]:
    """Execute a python block and compare what it prints with what the file shows."""
    # Leading newlines make the line numbers of a traceback those of the file.
    source = "\n" * (block.line - 1) + block.content
    output = io.StringIO()
    try:
        with contextlib.redirect_stdout(output):
            exec(compile(source, str(path), "exec"), namespace)
    except Exception:
        yield Failure(block.line, traceback.format_exc(limit=-3))
        return
    yield from compared(block, expected, output.getvalue())


def compared(block: Block, expected: str | None, output: str) -> Iterator[Failure]:
    """Compare what a block prints with what the file shows, if it shows anything."""
    if expected is not None and output.rstrip() != expected.rstrip():
        shown, printed = expected.rstrip(), output.rstrip()
        message = f"the file shows\n{shown}\nbut the block prints\n{printed}"
        yield Failure(block.line, message, printed)


def run_console(block: Block, expected: str | None) -> Iterator[Failure]:
    """Run the commands of a console block, each in a shell of its own."""
    output = ""
    for line, content in enumerate(block.content.splitlines(), start=block.line):
        command = content.removeprefix("$ ")
        if command == content or command.startswith(SET_UP):
            continue
        words = ["bash", "-c", command]
        if command.startswith("make"):
            words = ["make", "--dry-run", *shlex.split(command, comments=True)[1:]]
        done = subprocess.run(words, cwd=ROOT, env=environment(), capture_output=True, text=True)
        if done.returncode != 0:
            yield Failure(line, f"`{command}` ended with {done.returncode}\n{done.stderr.rstrip()}")
        output += done.stdout
    yield from compared(block, expected, output)


def environment() -> dict[str, str]:
    """Return an environment in which `python` is this one, and `make` starts afresh."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    return kept | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}


def run_file(path: Path) -> Iterator[Failure]:
    """Run every block of a Markdown file."""
    text = path.read_text(encoding="utf-8")
    namespace: dict[str, Any] = {"__name__": "__main__"}
    blocks = list(read_blocks(text))
    for block, following in zip(blocks, [*blocks[1:], None], strict=True):
        shown = printed_after(block, following, text)
        if block.language == "python":
            yield from run_python(block, shown, namespace, path)
        elif block.language == "console":
            yield from run_console(block, shown)


def corrected(text: str, failures: list[Failure]) -> str:
    """The text with what blocks print in place of what it shows."""
    lines, blocks = text.splitlines(), list(read_blocks(text))
    printed = {failure.line: failure.printed for failure in failures}
    for block, following in reversed(list(pairwise(blocks))):
        instead = printed.get(block.line)
        if instead is not None:
            lines[following.line - 1 : following.end - 1] = instead.splitlines()
    return "\n".join(lines) + "\n"


def main() -> int:
    """Run the files named on the command line and report their failures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "files", nargs="*", type=Path, default=[ROOT / "README.md"], help="default: the README"
    )
    parser.add_argument("--write", action="store_true", help="correct what files show as printed")
    arguments = parser.parse_args()
    failed = 0
    for path in arguments.files:
        failures = list(run_file(path))
        if arguments.write:
            text = path.read_text(encoding="utf-8")
            path.write_text(corrected(text, failures), encoding="utf-8")
            failures = [failure for failure in failures if failure.printed is None]
        for failure in failures:
            print(f"{path.name}:{failure.line}: {failure.message}\n", file=sys.stderr)
        print(f"{path.name}: {f'{len(failures)} failed' if failures else 'all blocks run'}")
        failed += len(failures)
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
