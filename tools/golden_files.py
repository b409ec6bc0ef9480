"""Write the files of the present schema that later versions must still load, where there are none.

A file that is there is left alone: it was written by the version that it stands for. Raise the
schema in ``decoupling.persistence.manifest``, run this once, and commit what it makes.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from golden import FOLDER, KINDS, NEW, ROWS, path_of, said  # noqa: E402

from decoupling import save  # noqa: E402
from decoupling.persistence.manifest import SCHEMA  # noqa: E402


def write_missing(folder: Path = FOLDER) -> list[Path]:
    """Write the models of the kinds that have no file yet, with what they say; their paths."""
    new = []
    for kind, make in KINDS.items():
        path = path_of(kind, SCHEMA, folder)
        if path.exists() or path.with_suffix(".json").exists():
            continue
        model = make()
        save(model, path)
        path.with_suffix(".json").write_text(
            json.dumps(said(model, ROWS.get(kind, NEW)), indent=1) + "\n"
        )
        new.append(path)
    return new


if __name__ == "__main__":
    for path in write_missing():
        print(f"wrote {path.relative_to(ROOT)} and what it says")
