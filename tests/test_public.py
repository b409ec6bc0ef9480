"""The public names, and what importing them costs."""

import subprocess
import sys

import decoupling


def test_public_names():
    assert set(decoupling.__all__) <= set(dir(decoupling))
    for name in ("Posterior", "TransitionPrior", "agreement_terms", "expected_log", "infer"):
        assert name in decoupling.__all__


def test_importing_brings_no_extras():
    code = "import sys, decoupling; print(*sys.modules)"
    names = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {name.split(".")[0] for name in names.stdout.split()}
    assert not loaded & {"pandas", "matplotlib", "dask", "mpmath", "gensim", "torch", "typer"}
