"""Pack results that `decoupling reproduce` has written: `python tools/pack.py FILE ...`.

Lines of `results.jsonl` move to `results.jsonl.xz` beside it, and the command goes on from there as
before. `make quality`, `make study` and `make sbc` pack their results by themselves.
"""

import argparse
from pathlib import Path

from decoupling.experiments.json_lines import pack


def main() -> None:
    """Pack the files that are named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE", help="lines of JSON")
    for file in parser.parse_args().files:
        if not file.exists():
            parser.error(f"{file} is not there, so that nothing is to be packed.")
        pack(file)


if __name__ == "__main__":
    main()
