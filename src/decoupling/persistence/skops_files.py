"""Classifiers that are not ours, through skops: no pickle, and types are checked before use."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NoReturn

import numpy as np
from scipy.sparse import load_npz

from decoupling._text import Message
from decoupling._validation import needs_extra
from decoupling.persistence.archive import (
    ONE_HEADER_AT_A_TIME,
    array_bytes,
    array_kind,
    packed,
    unpacked,
)

_SCHEMA: Final = "schema.json"

# What fitted classifiers of scikit-learn are made of besides what skops trusts by itself. A list of
# names, since a whole package has functions in it that write files and run commands. Trees and
# neighbour searches are left out on purpose: their compiled code follows indices without looking,
# so that a forged file can crash the process.
TRUSTED: Final = frozenset(
    {
        "numpy.dtype",
        "scipy.sparse._csc.csc_array",
        "scipy.sparse._csc.csc_matrix",
        "scipy.sparse._csr.csr_array",
        "scipy.sparse._csr.csr_matrix",
        "decoupling.fits.given.GivenProba",
        "sklearn.calibration._CalibratedClassifier",
        "sklearn.calibration._SigmoidCalibration",
        "sklearn.feature_selection._univariate_selection.chi2",
        "sklearn.feature_selection._univariate_selection.f_classif",
        "sklearn.gaussian_process._gpc._BinaryGaussianProcessClassifierLaplace",
        "sklearn.gaussian_process.kernels.CompoundKernel",
        "sklearn.gaussian_process.kernels.ConstantKernel",
        "sklearn.gaussian_process.kernels.DotProduct",
        "sklearn.gaussian_process.kernels.ExpSineSquared",
        "sklearn.gaussian_process.kernels.Exponentiation",
        "sklearn.gaussian_process.kernels.Matern",
        "sklearn.gaussian_process.kernels.Product",
        "sklearn.gaussian_process.kernels.RBF",
        "sklearn.gaussian_process.kernels.RationalQuadratic",
        "sklearn.gaussian_process.kernels.Sum",
        "sklearn.gaussian_process.kernels.WhiteKernel",
        "sklearn.metrics._scorer._PassthroughScorer",
        "sklearn.model_selection._split.GroupKFold",
        "sklearn.model_selection._split.KFold",
        "sklearn.model_selection._split.PredefinedSplit",
        "sklearn.model_selection._split.RepeatedKFold",
        "sklearn.model_selection._split.RepeatedStratifiedKFold",
        "sklearn.model_selection._split.ShuffleSplit",
        "sklearn.model_selection._split.StratifiedGroupKFold",
        "sklearn.model_selection._split.StratifiedKFold",
        "sklearn.model_selection._split.StratifiedShuffleSplit",
        "sklearn.neural_network._stochastic_optimizers.AdamOptimizer",
        "sklearn.neural_network._stochastic_optimizers.SGDOptimizer",
        "sklearn.utils._bunch.Bunch",
    }
)

# Module and class under which a type of ours stands in older files, and those of today. What is
# renamed is only what these two say: the new name is trusted or not like that of any other type.
MOVED: Final = {
    ("decoupling.given_proba", "GivenProba"): ("decoupling.fits.given", "GivenProba"),
}


@dataclass(frozen=True, eq=False)
class NotKept:
    """Stands where an object could not be written, or was not read.

    Attributes
    ----------
    what : str
        Name of its type.
    """

    what: str

    def predict_proba(self, X: Any) -> NoReturn:
        """Say why there is no prediction."""
        raise ValueError(
            f"New rows cannot be predicted: the file holds no fitted {self.what}. What was found "
            "of the training rows is there. To predict, pass a classifier that was fitted on the "
            "labels: load(path, estimator=classifier)."
        )

    def fit(self, X: Any, y: Any = None) -> NoReturn:
        """Say what to do before fitting."""
        raise ValueError(
            f"The file does not hold this {self.what}: set it with set_params before fitting."
        )


def type_name(value: object) -> str:
    """Full name of the type of an object."""
    return f"{type(value).__module__}.{type(value).__qualname__}"


def written(estimator: Any) -> bytes | None:
    """The object in the format of skops, the same bytes each time; None if it cannot be written.

    It is read back, since skops also writes what it cannot read, such as a lambda.
    """
    dumped = jotted(estimator)
    if dumped is None:
        return None
    try:
        data = _in_order(dumped)
    except RecursionError:  # skops can write deeper nesting than can be put in order here
        return None
    try:
        _read_back(data)
    except Exception:  # the code of the object runs, which may raise anything
        return None
    return data


def jotted(estimator: Any) -> bytes | None:
    """The object in the format of skops, without reading it back; None if it cannot be written.

    That takes a third of the time of `written`, and the bytes differ each time.
    """
    # Never `import skops.io; skops.io.dumps`: while another thread imports skops for the first
    # time, the module is there a moment before the package has it as an attribute.
    try:
        from skops.io import dumps
    except ModuleNotFoundError:
        return None
    try:
        data = dumps(estimator)
    except Exception:  # the code of the object runs, which may raise anything
        return None
    return bytes(data)


def _read_back(data: bytes) -> Any:
    """The object in a file of skops, whatever its types are."""
    from skops.io import get_untrusted_types, loads

    return loads(data, trusted=get_untrusted_types(data=data))


def _in_order(data: bytes) -> bytes:
    """Rewrite a file of skops, with numbers in place of memory addresses, and without times."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    numbers: dict[int, int] = {}
    files: dict[str, str] = {}

    def renamed(node: Any) -> Any:
        if isinstance(node, list):
            return [renamed(item) for item in node]
        if not isinstance(node, dict):
            return node
        node = {key: renamed(value) for key, value in node.items()}
        # Whether two equal constants are one object is up to the interpreter.
        address = node.pop("__id__", None)
        if address is not None and node.get("__loader__") != "JsonNode":
            node["__id__"] = numbers.setdefault(address, len(numbers) + 1)
        if node.get("file") in members:
            suffix = node["file"].rpartition(".")[2]
            node["file"] = files.setdefault(node["file"], f"{len(files):06d}.{suffix}")
        if node.get("__loader__") == "SetNode":
            node["content"].sort(key=json.dumps)  # by hash, which changes from run to run
        return node

    schema = json.dumps(renamed(json.loads(members[_SCHEMA])), separators=(",", ":"))
    stored = {new: _stored(members[old], new) for old, new in files.items()}
    return packed({_SCHEMA: schema.encode(), **stored})


def _stored(data: bytes, name: str) -> bytes:
    """A member without what is up to chance.

    A sparse matrix is a zip file of its own, which is compressed. Nodes of trees have bytes between
    them that nobody has set: they would be whatever was in memory.
    """
    if name.endswith(".npy"):
        with ONE_HEADER_AT_A_TIME:
            array = np.load(io.BytesIO(data), allow_pickle=False)
        if array.dtype.names is None:
            return data
        clean = np.zeros(array.shape, array.dtype)  # zeros_like leaves them as they are
        for field in array.dtype.names:
            clean[field] = array[field]
        return array_bytes(clean)
    if not name.endswith(".npz"):
        return data
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return packed({name: archive.read(name) for name in archive.namelist()})


def not_trusted(members: Sequence[bytes]) -> set[str]:
    """Full names of the types in these files of skops that are not safe to build."""
    return _types([_checked(data) for data in members]) - TRUSTED


def built(members: Sequence[bytes], trusted: Iterable[str | type]) -> list[Any]:
    """The objects in these files of skops.

    Raises
    ------
    ValueError
        If there are types that nobody trusts, before anything is built.
    """
    names = {t if isinstance(t, str) else f"{t.__module__}.{t.__qualname__}" for t in trusted}
    checked = [_checked(data) for data in members]
    unknown = sorted(_types(checked) - TRUSTED - names)
    if unknown:
        raise ValueError(
            f"It holds {len(unknown)} types that are not trusted: {', '.join(unknown)}. If you "
            f"know where the file comes from, pass trusted={unknown}. Or pass estimator=, a "
            "classifier that was fitted on the labels; those in the file are then not read."
        )
    return [_built(data) for data in checked]


def _built(data: bytes) -> Any:
    try:
        return _read_back(data)
    except Exception as error:  # the code of any type that is built runs
        raise ValueError(
            Message(
                "not-built",
                "A classifier in it cannot be built: {error}. Install what it was made with"
                "{, or pass estimator=, a classifier that was fitted on the labels|}.",
                error=repr(error),
            )
        ) from error


def _types(members: Sequence[bytes]) -> set[str]:
    """Full names of the types that skops does not trust by itself."""
    with needs_extra("skops", "Reading the classifiers of this file"):
        from skops.io import get_untrusted_types
    found: set[str] = set()
    for data in members:
        try:
            found |= set(get_untrusted_types(data=data))
        except Exception as error:  # skops takes its description at its word
            raise _damaged(error) from error
    return found


def _checked(data: bytes) -> bytes:
    """A file of skops whose members are safe to read, under the names that types have today."""
    try:
        members = unpacked(data)
        _check_members(members)
        schema = members.get(_SCHEMA, b"")
        if not any(module.encode() in schema for module, _ in MOVED):
            return data
        renamed = json.dumps(_with_new_names(json.loads(schema)))
    except Exception as error:  # forged arrays and matrices fail in ways of numpy and scipy
        raise _damaged(error) from error
    return packed({**members, _SCHEMA: renamed.encode()})


def _damaged(error: Exception) -> ValueError:
    return ValueError(f"A classifier in it is damaged: {error}")


def _with_new_names(node: Any) -> Any:
    """A part of the description by skops, in which a type is its class and its module."""
    if isinstance(node, list):
        return [_with_new_names(entry) for entry in node]
    if not isinstance(node, dict):
        return node
    node = {key: _with_new_names(value) for key, value in node.items()}
    old = node.get("__module__"), node.get("__class__")
    if all(isinstance(name, str) for name in old) and old in MOVED:
        node["__module__"], node["__class__"] = MOVED[old]
    return node


def _check_members(members: Mapping[str, bytes]) -> None:
    """Refuse members other than plain arrays, sparse matrices, bytes and one description."""
    for name, member in members.items():
        if name.endswith(".npz"):
            _check_members(unpacked(member))
            # Compiled code follows the indices of a sparse matrix without looking.
            with ONE_HEADER_AT_A_TIME:
                matrix = load_npz(io.BytesIO(member))
            if matrix.format in ("csc", "csr"):
                matrix.check_format(full_check=True)
        elif name.endswith(".npy"):
            array_kind(member, structured=True)  # nodes of trees
