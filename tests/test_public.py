"""The public names, and what importing them costs."""

import subprocess
import sys

import decoupling


def test_public_names():
    assert set(decoupling.__all__) <= set(dir(decoupling))
    promised = {
        "ClassPrior",
        "DecouplingClassifier",
        "Posterior",
        "TransitionPrior",
        "agreement_terms",
    }
    assert promised | {"expected_log", "infer", "load", "save"} <= set(decoupling.__all__)


def test_importing_brings_no_extras():
    # scikit-learn itself brings pandas where it is installed.
    code = (
        "import sys, sklearn.linear_model, sklearn.model_selection; before = set(sys.modules); "
        "import decoupling; print(*(set(sys.modules) - before))"
    )
    names = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {name.split(".")[0] for name in names.stdout.split()}
    extras = {"pandas", "polars", "pyarrow", "matplotlib", "dask", "mpmath", "gensim", "torch"}
    assert not loaded & (extras | {"typer", "jinja2", "rich", "skops"})
