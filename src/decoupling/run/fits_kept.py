"""Fits of a run that was interrupted, for the one that goes on from there."""

from __future__ import annotations

import hashlib
import json
import platform
import warnings
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from time import monotonic
from typing import Any, Final, NamedTuple

import numpy as np
import scipy
import sklearn

from decoupling._files import written_whole
from decoupling._typing import AnyArray, IntArray
from decoupling._version import __version__
from decoupling.fits.ensembles import FITTING, fit_clone
from decoupling.persistence.archive import packed, unpacked
from decoupling.persistence.skops_files import built, jotted, not_trusted, written
from decoupling.run.settings import option_of
from decoupling.tables.reading import TableError

_RUN: Final = "run.json"
_MODEL, _WARNINGS = "model.skops", "warnings.json"
# All that is ever in the folder, also what a killed process leaves half written.
_OURS: Final = (_RUN, ".run.*.part.json", "*.fit")
# Share of the time that writing fits may take. Writing one can take half as long as the fit itself.
# What is not yet written is written when the run is interrupted; with twice the share fewer fits
# are lost when it is killed outright.
_SHARE: Final = 0.03
# Networks of scikit-learn answer an interruption with this warning, and return half trained.
_HALF_TRAINED: Final = "Training interrupted by user."
# Types that are built from a kept fit although a forged file of them could crash the process: the
# folder was written by the user's own run.
_TREES: Final = frozenset(
    {
        "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
        "sklearn.tree._tree.Tree",
    }
)


class _Fit(NamedTuple):
    """A fitted classifier, and what was warned of meanwhile."""

    model: Any
    warnings: list[str]


def _fitted(estimator: Any, X: Any, codes: IntArray, params: dict[str, Any]) -> _Fit:
    with warnings.catch_warnings(record=True) as caught:
        model = fit_clone(estimator, X, codes, params)
    texts = [str(warning.message) for warning in caught]
    if _HALF_TRAINED in texts:
        raise KeyboardInterrupt
    return _Fit(model, texts)


def what_runs(
    settings: Mapping[str, Any], table: str, decisions: str | None = None
) -> dict[str, Any]:
    """Everything that the bits of the answer depend on, by name.

    Parameters
    ----------
    settings : mapping
        Options of the command.
    table, decisions : str
        SHA-256 of these files.
    """
    run = {
        "table": table,
        **{option_of(name): value for name, value in settings.items()},
        "--decisions": decisions,  # by what is in the file, wherever it lies
        "Python": platform.python_version(),
        "decoupling": __version__,
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "scikit-learn": sklearn.__version__,
    }
    return dict(json.loads(json.dumps(run)))


def is_there(folder: Path) -> bool:
    """Whether the folder has fits of an interrupted run."""
    return (folder / _RUN).is_file()


def refuse_other_run(folder: Path, run: Mapping[str, Any]) -> None:
    """Refuse to go on from what is kept of another run, and say in what it is another."""
    try:
        before = json.loads((folder / _RUN).read_text(encoding="utf-8"))
        differ = [name for name in {**before, **run} if before.get(name) != run.get(name)]
    except (ValueError, TypeError) as error:
        raise TableError(f"{folder / _RUN} is damaged. Run without --resume.") from error
    if differ:
        words = ", ".join(_difference(name, before.get(name), run.get(name)) for name in differ)
        raise TableError(
            f"{folder} is of another run: {words}. Give the command that was interrupted, or leave "
            "out --resume to begin anew."
        )


def _difference(name: str, before: Any, now: Any) -> str:
    if name in ("table", "--decisions"):
        return f"{name} has other content"
    return f"{name} was {_said(before)} and is {_said(now)}"


def _said(value: Any) -> str:
    return "not given" if value in (None, []) else json.dumps(value, ensure_ascii=False)


class KeptFits:
    """Fits of a run in a folder.

    Parameters
    ----------
    folder : Path
        Made with the first fit.
    run : mapping
        As from `what_runs`.

    Attributes
    ----------
    complete : bool
        Whether no more fits are to come.
    """

    def __init__(self, folder: Path, run: Mapping[str, Any]) -> None:
        self.folder = folder
        self.run = run
        self._waiting: deque[tuple[str, _Fit]] = deque()
        self._estimator: tuple[Any, bytes | None] = (None, None)
        self._made: list[Path] = []
        self._possible, self._room = True, True
        self.complete = False
        self._begun, self._spent, self._last = monotonic(), 0.0, 0.0

    def __len__(self) -> int:
        """Fits in the folder."""
        return sum(not path.name.startswith(".") for path in self.folder.glob("*.fit"))

    def stays_after(self, error: Exception) -> bool:
        """Whether the folder stays: the fits are of use to the next run.

        They are if what went wrong had to do with what is made of them, or with the machine, such
        as a full disk or too little memory. Any other error would come again.
        """
        return self.complete or isinstance(error, OSError | MemoryError)

    @property
    def n_waiting(self) -> int:
        """Fits that are not yet in the folder."""
        return len(self._waiting)

    def fit(self, estimator: Any, X: Any, codes: IntArray, params: dict[str, Any]) -> Any:
        """Return a fit that was kept, or make one and keep it; give its warnings in both cases."""
        key = self._key(estimator, X, codes, params) if self._possible else None
        found = None if key is None else self._read(key)
        if found is None:
            found = _fitted(estimator, X, codes, params)
            if key is not None:
                self._waiting.append((key, found))
            while self._may_write() and self._write_next():
                pass
        for text in found.warnings:
            warnings.warn(text, stacklevel=2)
        return found.model

    def write_waiting(self) -> None:
        """Write all fits that wait to the folder, as far as there is room."""
        while self._waiting and self._write_next():
            pass

    def remove(self) -> None:
        """Remove the folder, unless there are files of others in it."""
        for path in [path for pattern in _OURS for path in self.folder.glob(pattern)]:
            path.unlink(missing_ok=True)
        for path in (self.folder, *self._made):
            try:
                path.rmdir()
            except OSError:  # it is not there, or not empty
                break

    def _may_write(self) -> bool:
        """Whether it is time to write the next fit, which takes as long as the last one did."""
        in_time = self._spent + self._last <= _SHARE * self._time()
        return bool(self._waiting) and self._room and in_time

    def _time(self) -> float:
        return monotonic() - self._begun

    def _key(self, estimator: Any, X: Any, codes: IntArray, params: dict[str, Any]) -> str | None:
        """SHA-256 of all that the fit depends on; None if that cannot be told."""
        if self._estimator[0] is not estimator:
            self._estimator = estimator, written(estimator)
        about = self._estimator[1]
        if about is None or not isinstance(X, np.ndarray):
            return None
        key = hashlib.sha256(about)
        for name, array in {"X": X, "codes": codes, **params}.items():
            key.update(_content(name, np.asarray(array)))
        return key.hexdigest()

    def _read(self, key: str) -> _Fit | None:
        """A fit that was kept; None if there is none, or it cannot be read."""
        path = self.folder / f"{key}.fit"
        if not path.is_file():
            return None
        try:
            members = unpacked(path.read_bytes())
            (model,) = built([members[_MODEL]], _TREES)
            return _Fit(model, [str(text) for text in json.loads(members[_WARNINGS])])
        except (OSError, ValueError, LookupError, TypeError, ModuleNotFoundError):
            return None  # it is fitted once more

    def _write_next(self) -> bool:
        """Write the fit that waits longest, and say whether that went well.

        One that could not be read again ends the keeping. One for which there is no room waits for
        `write_waiting`: by then there may be some.
        """
        start = self._time()
        key, fit = self._waiting[0]
        data = jotted(fit.model)
        try:
            if data is None or not_trusted([data]) - _TREES:
                raise ValueError("It could not be read.")
            self._make_folder()
            texts = json.dumps(fit.warnings).encode()
            with written_whole(self.folder / f"{key}.fit") as part:
                part.write_bytes(packed({_MODEL: data, _WARNINGS: texts}))
        except ValueError:
            self._possible = False
            self._waiting.clear()
            return False
        except OSError:
            self._room = False
            return False
        self._waiting.popleft()
        self._last = self._time() - start
        self._spent += self._last
        return True

    def _make_folder(self) -> None:
        if is_there(self.folder):
            return
        self._made = [path for path in self.folder.parents if not path.exists()]
        with written_whole(self.folder / _RUN) as part:
            part.write_text(json.dumps(self.run, indent=1), encoding="utf-8")


def _content(name: str, array: AnyArray) -> bytes:
    """An array as bytes that tell it from others."""
    if array.dtype.hasobject:
        content = "\0".join(map(repr, array.ravel().tolist())).encode()
    else:
        content = array.tobytes()
    return f"{name} {array.dtype.str} {array.shape} {len(content)}\n".encode() + content


@contextmanager
def keeping_fits(kept: KeptFits) -> Iterator[None]:
    """Keep the fits made inside, and take those that were kept.

    They are removed at the end, and after an error that they do not stay after. An interruption
    leaves them.
    """
    token = FITTING.set(kept.fit)
    try:
        yield
    except Exception as error:
        if not kept.stays_after(error):
            kept.remove()
        raise
    finally:
        FITTING.reset(token)
    kept.remove()
