"""Fuzz `load`, guided by the code that it reaches: files refused, or models that are whole.

Files are forged as in ``tests/forging.py``: damaged, or altered and signed anew. Whatever
is no ValueError, a model that cannot be used, more memory than the limit or more time than a minute
ends the run and leaves the input behind.

    python tools/fuzz_load.py --seconds 600

Needs atheris, which is not among our dependencies.
"""

from __future__ import annotations

import argparse
import collections
import re
import sys
import tempfile
import warnings
from pathlib import Path

import atheris

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

with atheris.instrument_imports(include=["decoupling", "skops", "zipfile", "json"]):
    import forging
    import golden
    import skops.io  # noqa: F401 - which `load` imports on use

    from decoupling import load
    from decoupling.persistence.manifest import SCHEMA

# Memory that the process may take, in MiB; imports take half of it.
MOST_MIB = 512
# Seconds that one file may take; whole ones take a fraction of a second.
LONGEST_S = 60


class Fuzzed:
    """Choices out of the bytes of the fuzzer."""

    def __init__(self, data: bytes) -> None:
        self.provider = atheris.FuzzedDataProvider(data)

    def below(self, n: int) -> int:
        """A number from 0 to n - 1."""
        return int(self.provider.ConsumeIntInRange(0, n - 1))

    def some_bytes(self, most: int) -> bytes:
        """At most so many bytes."""
        return bytes(self.provider.ConsumeBytes(self.below(most + 1)))


class Target:
    """One file, forged, written and loaded; counts what became of it."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "forged.decoupling"
        self.files = [golden.path_of(kind, SCHEMA).read_bytes() for kind in sorted(golden.KINDS)]
        self.ends: collections.Counter[str] = collections.Counter()
        for kind in golden.KINDS:
            load(golden.path_of(kind, SCHEMA))

    def __call__(self, data: bytes) -> None:
        """Refused with a ValueError, or a whole model."""
        draw = Fuzzed(data)
        forged = forging.forged(forging.one_of(draw, self.files), draw)
        self.path.write_bytes(forged)
        self.ends["files"] += 1
        try:
            model = load(self.path)
        except ValueError as error:
            self.ends["refused"] += 1
            # Messages without what they name: how many reasons were given.
            self.ends["reason: " + re.sub(r"[^a-z ]+", "*", str(error)[60:140])] = 1
            return
        self.ends["loaded"] += 1
        forging.check_usable(model)


def main() -> None:
    """Fuzz for some time; say what was done."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=int, default=600)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")  # of numbers that make no sense
    with tempfile.TemporaryDirectory() as folder:
        target = Target(Path(folder))
        options = [
            f"-max_total_time={arguments.seconds}", f"-seed={arguments.seed}",
            f"-rss_limit_mb={MOST_MIB}", f"-timeout={LONGEST_S}", "-max_len=600", "-len_control=0",
            "-print_final_stats=1",
        ]  # fmt: skip

        def counted(data: bytes) -> None:
            target(data)
            if target.ends["files"] % 500 == 0:
                told = {name: n for name, n in target.ends.items() if not name.startswith("reason")}
                print(told, len(target.ends) - len(told), "reasons", flush=True)

        atheris.Setup([sys.argv[0], *options], counted)
        atheris.Fuzz()


if __name__ == "__main__":
    main()
