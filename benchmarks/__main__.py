"""Run the benchmarks and print what they measured beside what was aimed for.

``--write`` puts what has a target into the README, and all of it into speed.md.
"""

import argparse
import importlib
from pathlib import Path

from benchmarks.table import Measurement, environment, markdown, measured, write_between
from benchmarks.timing import progress

NAMES = (
    "agreement",
    "topic_models",
    "iteration",
    "scaling",
    "scale",
    "budget",
    "class_prior",
    "command_line",
    "width",
)
README = Path(__file__).with_name("README.md")
EVERYTHING = Path(__file__).with_name("speed.md")
BEGIN, END = "<!-- table: begin -->", "<!-- table: end -->"
COMMAND = "python -m benchmarks --write"


def main() -> None:
    """Parse the command line, run, print, and write if asked to."""
    arguments = parse()
    progress(environment())
    measurements: list[Measurement] = []
    for name in arguments.only or NAMES:
        progress(f"--- {name}")
        measurements += importlib.import_module(f"benchmarks.{name}").run(arguments.quick)
    table = markdown(measurements)
    print(table)
    if arguments.write:
        head = f"`{COMMAND}` {measured()}:"
        targets = markdown([m for m in measurements if m.target is not None])
        write_between(README, BEGIN, END, f"{head}\n\n{targets}")
        write_between(EVERYTHING, BEGIN, END, f"{head}\n\n{table}")


def parse() -> argparse.Namespace:
    """Return the arguments of the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--only", nargs="+", choices=NAMES, metavar="NAME", help=", ".join(NAMES))
    parser.add_argument("--quick", action="store_true", help="a tenth of the rows, to try it out")
    parser.add_argument(
        "--write", action="store_true", help="put the tables into README.md and speed.md"
    )
    arguments = parser.parse_args()
    if arguments.write and (arguments.only or arguments.quick):
        parser.error("--write is for the whole table at full size: without --only and --quick")
    return arguments


if __name__ == "__main__":
    main()
