"""Break the mathematics on purpose and see that the tests notice.

Each mutant changes one line in a copy of the sources. A mutant that no test catches is a hole in
the tests. Run it with ``make mutants``; names of modules on the command line choose their mutants.
The tests of the module itself come first, those of all the inference only if these do not notice.
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
    """One line that is wrong; modules are those of the package, such as ``inference/infer``."""

    name: str
    module: str
    right: str
    wrong: str


MUTANTS = [
    Mutant(
        "sign of the entropy of Y flipped",
        "inference/ascent/elbo",
        "entropy = log_normaliser - dirichlet",
        "entropy = -log_normaliser + dirichlet",
    ),
    Mutant(
        "sign of the entropy of T flipped",
        "inference/ascent/elbo",
        "entropy=float(posterior.entropy().sum())",
        "entropy=-float(posterior.entropy().sum())",
    ),
    Mutant(
        "prior of Y dropped",
        "inference/ascent/elbo",
        "prior = logs @ class_prior - total",
        "prior = 0 * total",
    ),
    Mutant(
        "prior of T dropped",
        "inference/ascent/elbo",
        "prior=float((weights * logs).sum())",
        "prior=0.0",
    ),
    Mutant(
        "entropy of T dropped from the bound",
        "inference/ascent/elbo",
        "gained.sum() + posterior.log_normaliser().sum()",
        "gained.sum()",
    ),
    Mutant(
        "normaliser of gamma counted once",
        "inference/ascent/elbo",
        "constant=-n_rows * float",
        "constant=-1 * float",
    ),
    Mutant(
        "T transposed in the bound",
        "inference/math/bound",
        "self._class_weights @ method.transition_weights ",
        "self._class_weights @ method.transition_weights.T.reshape(class_logs.shape[1], -1) ",
    ),
    Mutant(
        "T transposed in the agreement terms",
        "inference/math/agreement_series",
        "product = (power @ coefficient).reshape",
        "product = (power @ coefficient.T.reshape(coefficient.shape)).reshape",
    ),
    Mutant(
        "T transposed given the label",
        "transitions/conditional",
        "transitions[:, codes].T",
        "transitions[codes % len(transitions), : len(transitions)]",
    ),
    Mutant(
        "step of T not checked",
        "inference/ascent/shared_steps",
        "if terms.elbo >= floor:",
        "if True:",
    ),
    Mutant(
        "steps of Y not checked",
        "inference/ascent/row_steps",
        "accepted = dirichlet.row_sum(terms) >= floor[pending]",
        "accepted = np.full(len(terms), True)",
    ),
    Mutant(
        "extrapolated steps of Y not checked",
        "inference/ascent/row_steps",
        "no_lower = dirichlet.row_sum(ahead_terms) >= no_lower_than(terms)",
        "no_lower = np.full(len(terms), True)",
    ),
    Mutant(
        "prior of T dropped, classes integrated out",
        "inference/errors/log_transitions",
        "value + self._log_prior(transitions), mean",
        "value, mean",
    ),
    Mutant(
        "draws of Y not weighed by what they come from",
        "inference/errors/drawn_rows",
        "return cls(draws, target - proposed, weight, counts)",
        "return cls(draws, 0 * proposed, weight, counts)",
    ),
    Mutant(
        "draws of T not weighed by what they come from",
        "inference/errors/integrated",
        "worth = _worth(values_there - proposed)",
        "worth = _worth(values_there)",
    ),
    Mutant(
        "curvature of ln T itself dropped",
        "inference/errors/log_transitions",
        "second += totals[classes] *",
        "second += 0 * totals[classes] *",
    ),
    Mutant(
        "covariance of the draws' slopes dropped",
        "inference/errors/drawn_rows",
        "second += (off * counted.reshape(-1, 1)).T @ off",
        "second += 0",
    ),
    Mutant(
        "members of a row's classes not by chance",
        "inference/errors/drawn_rows",
        "variance += share[rows] @ (own - square) / n_rows",
        "variance += 0",
    ),
    Mutant(
        "classes of a row known for the balance",
        "inference/errors/drawn_rows",
        "variance += share[rows] ** 2 @ (square - own**2)",
        "variance += 0",
    ),
    Mutant(
        "pulls of rows left out not centred",
        "inference/errors/drawn_rows",
        "pulls = self.slopes - self.slopes.mean(axis=0)",
        "pulls = self.slopes",
    ),
    Mutant(
        "balance does not follow rows left out",
        "inference/errors/drawn_rows",
        "balance = self.balance_parts + of_logs",
        "balance = self.balance_parts + 0 * of_logs",
    ),
    Mutant(
        "variance by the curvature of another scale",
        "inference/errors/integrated",
        "variance = mean**2 * (turned**2)",
        "variance = mean * (turned**2)",
    ),
    Mutant(
        "balance as of draws with tails that are too long",
        "inference/errors/integrated",
        "worth = _worth(-0.5 * (steps**2).sum(axis=1) - proposed)",
        "worth = _worth(-0.0 * (steps**2).sum(axis=1))",
    ),
    Mutant(
        "variance of a Beta distribution off by one",
        "inference/math/intervals",
        "np.where(varies, variance, 0.1) - 1.0",
        "np.where(varies, variance, 0.1)",
    ),
    Mutant(
        "rest of the stick lost",
        "inference/errors/marginal",
        "gamma[c + 1 :].sum() - 1.0, gamma[c] - 1.0",
        "gamma[c + 1] - 1.0, gamma[c] - 1.0",
    ),
    Mutant(
        "equal rows counted once",
        "inference/errors/marginal",
        "out[k] += repeats[rows] @",
        "out[k] += np.ones_like(repeats[rows]) @",
    ),
    Mutant(
        "shape not drawn to 1/2",
        "inference/errors/pareto",
        "return (n * shape + _PRIOR_DRAWS * _PRIOR_SHAPE) / (n + _PRIOR_DRAWS)",
        "return shape",
    ),
    Mutant(
        "tail from the smallest weights",
        "inference/errors/pareto",
        "ordered = np.sort(log_weights)",
        "ordered = -np.sort(-log_weights)",
    ),
    Mutant(
        "prior of T dropped from importance weights",
        "inference/errors/overlap",
        "prior.parameters - reported.parameters",
        "-reported.parameters",
    ),
]


def main() -> int:
    """Run the tests of the inference on every mutant; the number that survived."""
    survived, chosen = 0, sys.argv[1:]
    for mutant in MUTANTS:
        if chosen and mutant.module not in chosen:
            continue
        folder, _, module = mutant.module.rpartition("/")
        own = f"tests/{folder}/test_{module}.py"
        failed = (ROOT / own).exists() and failing_tests(mutant, own)
        failed = failed or failing_tests(mutant, "tests/inference")
        survived += not failed
        names = sorted({re.sub(r"\[.*", "", test.split("::")[-1]) for test in failed})
        verdict = f"caught by {len(failed)} tests: {', '.join(names[:4])}" if failed else "SURVIVED"
        print(f"{mutant.name}: {verdict}", flush=True)
    return survived


def failing_tests(mutant: Mutant, tests: str) -> list[str]:
    """Find those of these tests that fail when the sources carry this mutant."""
    with tempfile.TemporaryDirectory() as folder:
        for part in ("src", "tests"):
            shutil.copytree(ROOT / part, Path(folder, part))
        shutil.copy(ROOT / "pyproject.toml", folder)
        path = Path(folder, f"src/decoupling/{mutant.module}.py")
        source = path.read_text()
        if source.count(mutant.right) != 1:
            raise SystemExit(f"{mutant.name}: the line to change stands elsewhere or not at all.")
        path.write_text(source.replace(mutant.right, mutant.wrong))
        command = [sys.executable, "-m", "pytest", "-q", "--tb=no", "-p", "no:cacheprovider"]
        command += ["-n", "auto", "-k", "not exact", tests]
        environment = os.environ | {"PYTHONPATH": str(Path(folder, "src")), "OMP_NUM_THREADS": "1"}
        done = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, check=False
        )
    return re.findall(r"^(?:FAILED|ERROR) (\S+)", done.stdout, flags=re.MULTILINE)


if __name__ == "__main__":
    sys.exit(main())
