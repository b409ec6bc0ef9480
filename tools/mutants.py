"""Break the mathematics on purpose and see that the tests notice.

Each mutant changes one line in a copy of the sources. A mutant that no test catches is a hole in
the tests. Run it with ``make mutants``.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]


class Mutant(NamedTuple):
    """One line that is wrong."""

    name: str
    module: str
    right: str
    wrong: str


MUTANTS = [
    Mutant(
        "sign of the entropy of Y flipped",
        "elbo",
        "entropy = log_normaliser - dirichlet",
        "entropy = -log_normaliser + dirichlet",
    ),
    Mutant(
        "sign of the entropy of T flipped",
        "elbo",
        "entropy=float(posterior.entropy().sum())",
        "entropy=-float(posterior.entropy().sum())",
    ),
    Mutant("prior of Y dropped", "elbo", "prior = logs @ class_prior - total", "prior = 0 * total"),
    Mutant("prior of T dropped", "elbo", "prior=float((weights * logs).sum())", "prior=0.0"),
    Mutant(
        "normaliser of gamma counted once",
        "elbo",
        "constant=-n_rows * float",
        "constant=-1 * float",
    ),
    Mutant(
        "T transposed in the bound",
        "expected_log",
        "self._class_weights @ method.transition_weights ",
        "self._class_weights @ method.transition_weights.T.reshape(class_logs.shape[1], -1) ",
    ),
    Mutant(
        "T transposed in the agreement terms",
        "agreement",
        "product = (power @ coefficient).reshape",
        "product = (power @ coefficient.T.reshape(coefficient.shape)).reshape",
    ),
    Mutant(
        "T transposed given the label",
        "posterior",
        "transitions[:, codes].T",
        "transitions[codes % len(transitions), : len(transitions)]",
    ),
    Mutant(
        "second term of the mean's derivative dropped",
        "dirichlet",
        "(weight - centre) / total",
        "weight / total",
    ),
    Mutant("step of T not checked", "steps", "if terms.elbo >= floor:", "if True:"),
    Mutant(
        "steps of Y not checked",
        "steps",
        "accepted = dirichlet.row_sum(terms) >= floor[pending]",
        "accepted = np.full(len(terms), True)",
    ),
    Mutant(
        "extrapolated steps of Y not checked",
        "steps",
        "no_lower = dirichlet.row_sum(ahead_terms) >= _no_lower_than(terms)",
        "no_lower = np.full(len(terms), True)",
    ),
]


def main() -> int:
    """Run the tests of the inference on every mutant; the number that survived."""
    survived = 0
    for mutant in MUTANTS:
        failed = failing_tests(mutant)
        survived += not failed
        names = sorted({re.sub(r"\[.*", "", test.split("::")[-1]) for test in failed})
        verdict = f"caught by {len(failed)} tests: {', '.join(names[:4])}" if failed else "SURVIVED"
        print(f"{mutant.name}: {verdict}", flush=True)
    return survived


def failing_tests(mutant: Mutant) -> list[str]:
    """Tests that fail when the sources carry this mutant."""
    with tempfile.TemporaryDirectory() as folder:
        for part in ("src", "tests"):
            shutil.copytree(ROOT / part, Path(folder, part))
        shutil.copy(ROOT / "pyproject.toml", folder)
        path = Path(folder, f"src/decoupling/inference/{mutant.module}.py")
        source = path.read_text()
        if source.count(mutant.right) != 1:
            raise SystemExit(f"{mutant.name}: the line to change stands elsewhere or not at all.")
        path.write_text(source.replace(mutant.right, mutant.wrong))
        command = [sys.executable, "-m", "pytest", "-q", "--tb=no", "-p", "no:cacheprovider"]
        command += ["-n", "auto", "-k", "not exact", "tests/inference"]
        environment = os.environ | {"PYTHONPATH": str(Path(folder, "src")), "OMP_NUM_THREADS": "1"}
        done = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, check=False
        )
    return re.findall(r"^(?:FAILED|ERROR) (\S+)", done.stdout, flags=re.MULTILINE)


if __name__ == "__main__":
    sys.exit(main())
