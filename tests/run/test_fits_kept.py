"""Fits that are kept, and taken up again bit by bit."""

import json
import warnings

import numpy as np
import pytest
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline

from decoupling import DecouplingClassifier
from decoupling.fits.ensembles import FITTING, fit_clone
from decoupling.persistence.skops_files import written
from decoupling.run import fits_kept
from decoupling.run.fits_kept import (
    KeptFits,
    is_there,
    keeping_fits,
    refuse_other_run,
    what_runs,
)
from decoupling.tables.reading import TableError

X = np.random.default_rng(0).normal(size=(40, 3))
Y = (X[:, 0] + X[:, 1] > 0).astype(np.int64)
RUN = what_runs({"folds": 3, "exclude": (), "decisions": "somewhere"}, "of the table", "of them")


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "above" / "out.resume"


@pytest.fixture
def fitted(monkeypatch):
    """Estimators that were really fitted."""
    made = []

    def fit(estimator, *arguments):
        made.append(estimator)
        return fit_clone(estimator, *arguments)

    monkeypatch.setattr(fits_kept, "fit_clone", fit)
    return made


def fit(kept, estimator=None, rows=X, codes=Y, **params):
    return kept.fit(LogisticRegression() if estimator is None else estimator, rows, codes, params)


def keep(folder, *fits):
    """A run that is interrupted after these fits."""
    kept = KeptFits(folder, RUN)
    for options in fits:
        fit(kept, **options)
    kept.write_waiting()


def test_a_fit_is_taken_up_bit_by_bit(folder, fitted):
    keep(folder, {"sample_weight": X[:, 2] ** 2})
    again = fit(KeptFits(folder, RUN), sample_weight=X[:, 2] ** 2)
    assert len(fitted) == 1
    alone = LogisticRegression().fit(X, Y, sample_weight=X[:, 2] ** 2)
    assert written(again) == written(alone)


@pytest.mark.parametrize(
    "other",
    [
        {"rows": X + 1e-15},
        {"rows": X[:, ::-1]},
        {"rows": X.astype(np.float32)},
        {"codes": 1 - Y},
        {"sample_weight": np.ones(40)},
        {"estimator": LogisticRegression(C=2)},
    ],
)
def test_another_fit_is_another(folder, fitted, other):
    keep(folder, {})
    fit(KeptFits(folder, RUN), **other)
    assert len(fitted) == 2


def test_rows_of_texts(folder, fitted):
    texts = np.array([["ant bee"], ["cow"], [None], ["bee"]], dtype=object)
    made = make_pipeline(CountVectorizer(preprocessor=str), LogisticRegression())
    keep(folder, {"estimator": made, "rows": texts[:, 0], "codes": np.array([0, 1, 1, 0])})
    again = KeptFits(folder, RUN)
    options = {"estimator": made, "codes": np.array([0, 1, 1, 0])}
    fit(again, rows=np.array(["ant bee", "cow", None, "bee"], dtype=object), **options)
    assert len(fitted) == 1
    fit(again, rows=np.array(["ant bee", "cow", "None", "bee"], dtype=object), **options)
    assert len(fitted) == 2


def test_warnings_are_kept_too(folder, fitted):
    short = LogisticRegression(max_iter=1)
    told = []
    for _ in range(2):
        kept = KeptFits(folder, RUN)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            fit(kept, short)
        kept.write_waiting()
        told.append([str(warning.message) for warning in caught])
    assert len(fitted) == 1
    assert "failed to converge" in told[0][0]
    assert told[0] == told[1]


@pytest.mark.parametrize("possible", [True, False])
def test_networks_do_not_swallow_an_interruption(folder, monkeypatch, possible):
    def interrupt(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(MLPClassifier, "_backprop", interrupt)
    kept = KeptFits(folder, RUN)
    rows = X if possible else X.tolist()
    with warnings.catch_warnings(action="always"), pytest.raises(KeyboardInterrupt):
        fit(kept, MLPClassifier((2,)), rows)
    assert kept.n_waiting == len(kept) == 0


@pytest.mark.parametrize("n_bytes", [0, 2, 1000, -50])
def test_what_cannot_be_read_is_fitted_again(folder, fitted, n_bytes):
    keep(folder, {})
    (path,) = folder.glob("*.fit")
    path.write_bytes(path.read_bytes()[:n_bytes])
    fit(KeptFits(folder, RUN))
    assert len(fitted) == 2


def test_types_that_are_not_trusted_are_not_built(folder, fitted, monkeypatch):
    class Unheard(LogisticRegression):
        pass

    keep(folder, {})
    (path,) = folder.glob("*.fit")
    data = fits_kept.packed(
        {"model.skops": fits_kept.jotted(Unheard().fit(X, Y)), "warnings.json": b"[]"}
    )
    path.write_bytes(data)
    assert type(fit(KeptFits(folder, RUN))) is LogisticRegression
    assert len(fitted) == 2


def test_writing_takes_a_small_share_of_the_time(folder, monkeypatch):
    """The clock moves by 10 in each fit, and by 1 while one is written."""
    now = [0.0]

    def after(seconds, function):
        def timed(*arguments):
            now[0] += seconds
            return function(*arguments)

        return timed

    monkeypatch.setattr(fits_kept, "monotonic", lambda: now[0])
    monkeypatch.setattr(fits_kept, "fit_clone", after(10.0, fit_clone))
    monkeypatch.setattr(fits_kept, "jotted", after(1.0, fits_kept.jotted))
    kept = KeptFits(folder, RUN)
    for k in range(20):
        fit(kept, rows=X + k)
    spent = now[0] - 200.0
    assert spent == len(kept) == 6
    assert kept.n_waiting == 14
    kept.write_waiting()
    assert len(kept) == 20


@pytest.mark.parametrize("error", [None, ValueError, KeyboardInterrupt, OSError, MemoryError])
def test_an_interruption_or_the_machine_leaves_the_folder(folder, error):
    kept = KeptFits(folder, RUN)
    try:
        with keeping_fits(kept):
            DecouplingClassifier(cv=2, rounds=0, random_state=0).fit(X, Y)
            assert is_there(folder)
            if error is not None:
                raise error
    except (ValueError, KeyboardInterrupt, OSError, MemoryError):
        pass
    assert FITTING.get() is fit_clone
    assert is_there(folder) == folder.parent.exists() == (error not in (None, ValueError))


def test_files_of_others_stay(folder):
    folder.mkdir(parents=True)
    (folder / "letter.txt").write_text("Dear Mary")
    keep(folder, {})
    KeptFits(folder, RUN).remove()
    assert [path.name for path in folder.iterdir()] == ["letter.txt"]


def test_another_run_is_refused(folder):
    keep(folder, {})
    refuse_other_run(folder, RUN)
    for name, now, said in [
        ("table", "of another", "table has other content."),
        ("--decisions", None, "--decisions has other content."),
        ("--folds", 4, "--folds was 3 and is 4."),
        ("--exclude", ["a"], '--exclude was not given and is ["a"].'),
        ("numpy", "0.1", f'numpy was "{np.__version__}" and is "0.1".'),
        ("--newer", 1, "--newer was not given and is 1."),
    ]:
        with pytest.raises(TableError) as caught:
            refuse_other_run(folder, RUN | {name: now})
        assert f"is of another run: {said}" in str(caught.value)


@pytest.mark.parametrize("content", [b"", b"[1]", b"\xff", b"3"])
def test_a_damaged_description_is_refused(folder, content):
    keep(folder, {})
    assert json.loads((folder / "run.json").read_bytes()) == RUN
    (folder / "run.json").write_bytes(content)
    with pytest.raises(TableError, match=r"damaged\. Run without --resume"):
        refuse_other_run(folder, RUN)
