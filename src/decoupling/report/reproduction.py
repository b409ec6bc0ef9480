"""Options, versions and commands with which a report can be made again."""

from __future__ import annotations

import platform
import re
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from inspect import signature
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from decoupling.classifier.estimator import DecouplingClassifier

_PACKAGES: Final = ("decoupling", "numpy", "scipy", "scikit-learn")


def reproduction_of(
    clf: DecouplingClassifier,
    settings: Mapping[str, Any] | None,
    data_hash: str | None,
    commands: Sequence[str],
) -> dict[str, Any]:
    """Options, versions and commands; arguments as in `report_content`."""
    options = {name: _repr(value) for name, value in clf.get_params(deep=False).items()}
    for name, value in (settings or {}).items():
        options[str(name)] = value if isinstance(value, str) else _repr(value)
    python = (
        "from decoupling import DecouplingClassifier\n\n"
        f"clf = {_call(clf)}\n"
        'clf.fit(X, y)\nclf.report().save("report.html")'
    )
    packages = {"python": platform.python_version(), **{name: version(name) for name in _PACKAGES}}
    return {
        "settings": options,
        "seed": _repr(clf.random_state),
        "versions": packages,
        "data_hash": data_hash,
        "commands": [str(text) for text in commands] or [python],
    }


def _call(clf: DecouplingClassifier) -> str:
    """The constructor with the options that are not the defaults."""
    defaults = {name: p.default for name, p in signature(type(clf)).parameters.items()}
    options = [
        f"    {name}={_repr(value)},\n"
        for name, value in clf.get_params(deep=False).items()
        if repr(value) != repr(defaults[name])
    ]
    inside = "\n" + "".join(options) if options else ""
    return f"{type(clf).__name__}({inside})"


def _repr(value: Any) -> str:
    """On one line, and without addresses, which differ from run to run."""
    return re.sub(r" at 0x[0-9a-fA-F]+", "", " ".join(repr(value).split()))
