"""Save a model in one file, and load it again, without pickle."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from importlib.util import find_spec
from os import PathLike
from pathlib import Path
from typing import Any, Final, TypeAlias

from sklearn.utils.validation import check_is_fitted

from decoupling._files import written_whole
from decoupling._text import Message, message_of
from decoupling._validation import warn_user
from decoupling._version import __version__
from decoupling.classifier.estimator import DecouplingClassifier
from decoupling.classifier.fit_input import prefit_columns
from decoupling.fits.ensembles import Ensemble, Renamed
from decoupling.inference.posterior import Posterior
from decoupling.label_model.forms import LabelSet
from decoupling.label_model.model import prefit_form
from decoupling.labels.observed import encode_labels
from decoupling.persistence.archive import array_of
from decoupling.persistence.consistency import check_whole
from decoupling.persistence.manifest import (
    ARRAY,
    MODEL,
    STATE,
    as_json,
    checked_about,
    file_of,
    parsed,
    read_file,
)
from decoupling.persistence.records import Reader, Writer
from decoupling.persistence.skops_files import NotKept, built, not_trusted, type_name
from decoupling.setred.classifier import SetredClassifier

Model: TypeAlias = Posterior | DecouplingClassifier | SetredClassifier

_HOLDS: Final = {
    kind.__name__: kind for kind in (Posterior, DecouplingClassifier, SetredClassifier)
}


def save(
    model: Model, path: str | PathLike[str], *, about: Mapping[str, Any] | None = None
) -> None:
    """Write a model to a file, from which `load` gives it back with every bit.

    The file is there whole or not at all, is free of pickle, and has the same bytes for the same
    model. Classifiers of scikit-learn in it are written with skops, if that is installed; if it is
    not, or cannot write them, there is a warning, and the file holds all but the classifiers.

    Parameters
    ----------
    model : Posterior, DecouplingClassifier or SetredClassifier
        What `infer` returned, or a fitted estimator.
    path : str or path
        Where to. What is there is replaced.
    about : mapping, optional
        Anything that JSON can say, such as names of columns. `describe` returns it.

    Notes
    -----
    Names of classes and labels may be strings, numbers, booleans, dates of numpy, or tuples of
    these. An index of pandas with several levels is not kept.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from decoupling import TransitionPrior, infer, load, save
    >>> prior = TransitionPrior.noisy(["cat", "dog"], noise=0.2)
    >>> posterior = infer([[0.78, 0.22], [0.21, 0.79]], prior)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "animals.decoupling"
    ...     save(posterior, path)
    ...     again = load(path)
    >>> bool((again.class_proba == posterior.class_proba).all())
    True
    """
    if type(model) not in _HOLDS.values():
        raise TypeError(
            f"{type_name(model)} cannot be saved: it must be a Posterior, or a fitted "
            "DecouplingClassifier or SetredClassifier."
        )
    if not isinstance(model, Posterior):
        check_is_fitted(model)
    said = checked_about(about)
    writer = Writer()
    members = {STATE: as_json(writer.tree(model)), **writer.members}
    _warn_of_lost(writer.lost)
    with written_whole(Path(path)) as part:
        part.write_bytes(file_of(__version__, type(model).__name__, said, members))


def load(
    path: str | PathLike[str],
    *,
    estimator: Any = None,
    trusted: Iterable[str | type] | None = (),
) -> Any:
    """Read a model that `save` wrote. It gives the same numbers, bit by bit.

    Nothing is built before the whole file has been checked, and no code in it is run.

    Parameters
    ----------
    path : str or path
        The file.
    estimator : classifier, optional
        Predicts new rows instead of the classifiers in the file, which are then not read. It must
        have been fitted on the labels, by their names (on the classes, for a `SetredClassifier`).
        p(class | x) is then inferred from its p(label | x) with T as learned.
    trusted : names or types
        Types in the classifiers of the file to trust, by their full names, beside those of
        scikit-learn that are safe to build. Trees, forests and neighbour searches are not among
        these: a forged one can crash the process. None leaves the classifiers in the file alone.

    Returns
    -------
    Posterior, DecouplingClassifier or SetredClassifier
        As it was saved. Arrays are read-only. Without its classifiers it still has T, the issues
        and all else of the training rows; to predict new rows is an error.

    Raises
    ------
    ValueError
        If the file is not one of `save`, was altered, was made by a later version, or has types in
        it that are not trusted.

    Notes
    -----
    Fitted classifiers belong to the version of scikit-learn that they were fitted with, which
    warns if it reads those of another one. All else is read by every later version.

    Examples
    --------
    >>> import tempfile
    >>> from sklearn.datasets import load_iris
    >>> from decoupling import DecouplingClassifier, load, save
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = DecouplingClassifier(noise=0.1, rounds=0, random_state=0).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(clf, f"{folder}/iris.decoupling", about={"columns": 4})
    ...     again = load(f"{folder}/iris.decoupling")
    >>> bool((again.predict_proba(X) == clf.predict_proba(X)).all())
    True
    """
    data = Path(path).read_bytes()
    with _naming(path):
        manifest, members = read_file(data)
        models = [name for name in members if MODEL.fullmatch(name)]
        found: Iterable[Any] = [NotKept("classifier")] * len(models)
        if estimator is None and trusted is not None and models:
            names = (trusted,) if isinstance(trusted, str | type) else tuple(trusted)
            found = built([members[name] for name in models], names)
        arrays = {name: array_of(members[name]) for name in members if ARRAY.fullmatch(name)}
        reader = Reader(arrays, dict(zip(models, found, strict=True)))
        model = _rebuilt(reader, members[STATE], manifest["holds"])
    return model if estimator is None else _predicting_with(model, estimator)


def untrusted_types(path: str | PathLike[str]) -> list[str]:
    """Full names of the types in a file that `load` builds only if they are named as trusted.

    Examples
    --------
    A posterior is arrays and names, which need no trust:

    >>> import tempfile
    >>> from decoupling import TransitionPrior, infer, save
    >>> posterior = infer([[0.8, 0.2]], TransitionPrior.noisy(["cat", "dog"]))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(posterior, f"{folder}/a.decoupling")
    ...     untrusted_types(f"{folder}/a.decoupling")
    []
    """
    data = Path(path).read_bytes()
    with _naming(path):
        _, members = read_file(data)
        return sorted(not_trusted([members[name] for name in members if MODEL.fullmatch(name)]))


def describe(path: str | PathLike[str]) -> dict[str, Any]:
    """Return the manifest of a file of `save`, once the whole file has been checked.

    Nothing is built. The manifest has ``format``, ``schema``, ``library_version``, ``holds`` (the
    type of the model), ``about``, and ``members``: for each its ``sha256``, its ``size`` in bytes,
    and ``dtype`` and ``shape`` of an array.

    Examples
    --------
    >>> import tempfile
    >>> from decoupling import TransitionPrior, infer, save
    >>> posterior = infer([[0.8, 0.2]], TransitionPrior.noisy(["cat", "dog"]))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(posterior, f"{folder}/a.decoupling", about={"source": "animals.csv"})
    ...     manifest = describe(f"{folder}/a.decoupling")
    >>> manifest["holds"], manifest["about"]
    ('Posterior', {'source': 'animals.csv'})
    """
    data = Path(path).read_bytes()
    with _naming(path):
        return read_file(data)[0]


def _warn_of_lost(lost: list[str]) -> None:
    if not lost:
        return
    reason = "skops cannot write them"
    if find_spec("skops") is None:
        reason = 'that needs skops: pip install "decoupling[skops]"'
    warn_user(
        Message(
            "not-kept",
            "The file does not hold {names}: {reason}. All that was found of the training rows is "
            "kept. New rows cannot be predicted without the classifiers; then pass one that was "
            "fitted on the labels, load(path, estimator=classifier).",
            names=", ".join(sorted(set(lost))),
            reason=reason,
        )
    )


@contextmanager
def _naming(path: str | PathLike[str]) -> Iterator[None]:
    """Name the file in errors about it."""
    try:
        yield
    except ValueError as error:
        why = message_of(error)
        message = Message("not-loaded", "{path} cannot be loaded. {why}", path=path, why=why)
        raise ValueError(message) from error


def _rebuilt(reader: Reader, state: bytes, holds: str) -> Any:
    if holds not in _HOLDS:
        raise ValueError(f"It holds none of {', '.join(_HOLDS)}.")
    tree = parsed(STATE, state)
    try:
        model = reader.value(tree, _HOLDS[holds])
        check_whole(model)
    except Exception as error:  # records check themselves, each in its own way
        raise ValueError(f"{STATE} does not describe a {holds}: {error!r}.") from error
    return model


def _predicting_with(model: Any, estimator: Any) -> Any:
    """The model with another classifier for new rows."""
    if isinstance(model, Posterior):
        raise ValueError("A Posterior has no classifier: leave estimator= out.")
    model.estimator = estimator
    if isinstance(model, SetredClassifier):
        check_is_fitted(estimator)
        codes = encode_labels(estimator.classes_, model.classes_.tolist())
        model.estimator_ = Ensemble((Renamed(estimator, codes),), len(model.classes_))
        return model
    task, posterior = model.task_, model.posterior_
    counts = posterior.row_counts
    form = prefit_form(
        estimator,
        prefit_columns(estimator, task, model.observed_, model.unlabelled),
        float(counts[model.observed_.labelled].sum() / counts.sum()),
        LabelSet.of(task),
    )
    model.label_model_ = replace(model.label_model_, form=form)
    model.retrained_ = None  # these classifiers are on classes
    return model
