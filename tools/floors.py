"""The lowest versions that `pyproject.toml` allows, as constraints for pip, one in a line.

`make floors` installs them and runs the tests on them. A dependency of a dependency is not held,
since pip finds the newest one that goes with these.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

PROJECT = Path(__file__).parents[1] / "pyproject.toml"
REQUIREMENT = re.compile(r"^([\w.-]+)(?:\[[\w,]+\])?\s*>=\s*([\w.]+)$")


def floors(project: Path = PROJECT, extra: str = "test") -> dict[str, str]:
    """The lowest version of each dependency of the core and of an extra."""
    about = tomllib.loads(project.read_text(encoding="utf-8"))["project"]
    extras = about["optional-dependencies"]

    def requirements(names: list[str]) -> Iterator[str]:
        for name in names:
            own = re.match(r"decoupling\[([\w,]+)\]", name)
            if own is None:
                yield name
            else:
                for other in own.group(1).split(","):
                    yield from requirements(extras[other])

    found: dict[str, str] = {}
    for text in requirements([*about["dependencies"], *extras[extra]]):
        match = REQUIREMENT.match(text)
        if match is not None:
            found[match.group(1)] = match.group(2)
    return found


if __name__ == "__main__":
    for name, version in sorted(floors().items()):
        print(f"{name}=={version}")
