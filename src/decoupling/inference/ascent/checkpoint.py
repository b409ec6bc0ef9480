"""Checkpoints: what a run has found out so far, so that an interrupted one can go on.

A file per iteration holds T, gamma and the terms of the bound: kilobytes. The rows of Y are not
kept. They depend on nothing but p(s|x) and on the T and gamma of every iteration, so each block
replays its own steps, without waiting for the others, and ends with the same bits.
"""

from __future__ import annotations

import json
from dataclasses import astuple, dataclass
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

import numpy as np

from decoupling._files import written_whole
from decoupling._typing import FloatArray
from decoupling._version import __version__
from decoupling.inference.ascent.state import AscentProblem, Gamma, State
from decoupling.inference.ascent.terms import Terms
from decoupling.inference.rows.block import Blocks, Rows

# Raised when files change their meaning: those of another format are refused.
_FORMAT: Final = 1
# The file that says which problem the folder is of.
_HEADER: Final = "problem.json"


@dataclass(frozen=True, eq=False)
class Iteration:
    """A step of the rows and the step of T and gamma that followed.

    Attributes
    ----------
    leap : float
        How far the steps of the rows were extrapolated.
    terms : Terms
        The bound before both steps.
    transitions : array (C, S)
        Parameters of q(T) after them.
    class_prior : Gamma
        Gamma, or q(gamma), after them.
    move : float
        How far gamma went.
    """

    leap: float
    terms: Terms
    transitions: FloatArray
    class_prior: Gamma
    move: float


class Checkpoint:
    """A folder with a file per iteration of a run.

    Parameters
    ----------
    folder : path
        Made if it is not there. One of another problem is refused.
    digest : str
        What tells this problem from others: see `digest_of`.
    """

    def __init__(self, folder: str | Path, digest: str) -> None:
        self.folder = Path(folder)
        header = self.folder / _HEADER
        own = {"format": _FORMAT, "decoupling": __version__, "problem": digest}
        if not header.exists():
            # A run that was killed as it began leaves a file that begins with a dot.
            found = self.folder.iterdir() if self.folder.exists() else ()
            if any(not path.name.startswith(".") for path in found):
                raise ValueError(
                    f"checkpoint: the folder {str(self.folder)!r} holds something else. "
                    "Give one that is empty or not there yet."
                )
            with written_whole(header) as path:
                path.write_text(json.dumps(own))
            return
        kept = _read_header(header)
        differing = [name for name, value in own.items() if kept.get(name) != value]
        if differing:
            what = {
                "format": "is of another format",
                "decoupling": f"was made by version {kept.get('decoupling')} of decoupling",
                "problem": "is of other rows, in other blocks, or with other settings",
            }[differing[0]]
            raise ValueError(
                f"checkpoint: that in {str(self.folder)!r} {what}. Remove it, or give another "
                "folder, to start anew."
            )

    def iterations(self, start: Gamma, most: int) -> list[Iteration]:
        """The iterations that an interrupted run has left, or the first ``most`` of them.

        ``start`` is where gamma began.
        """
        found: list[Iteration] = []
        while len(found) < most and (path := self._path(len(found))).exists():
            try:
                with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
                    found.append(_as_iteration(dict(arrays), start))
            except Exception as error:  # a damaged zip has errors of many kinds
                raise ValueError(
                    f"checkpoint: {path.name} cannot be read ({error}). Remove it and those "
                    "after it to go on from the round before."
                ) from None
        return found

    def save(self, number: int, done: Iteration) -> None:
        """Keep an iteration; its file is there whole or not at all."""
        arrays: dict[str, Any] = {
            "leap": done.leap,
            "terms": astuple(done.terms),
            "transitions": done.transitions,
            "move": done.move,
        } | done.class_prior.moving
        with written_whole(self._path(number)) as path:
            np.savez(path, **arrays)

    def _path(self, number: int) -> Path:
        return self.folder / f"round-{number:05d}.npz"


def _as_iteration(arrays: dict[str, Any], start: Gamma) -> Iteration:
    return Iteration(
        float(arrays["leap"]),
        Terms(*arrays["terms"].tolist()),
        arrays["transitions"],
        start.moved_to(arrays),
        float(arrays["move"]),
    )


def _read_header(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text())
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise ValueError(
            f"checkpoint: {str(path)!r} cannot be read. Remove its folder to start anew."
        )
    return found


def digest_of(
    problem: AscentProblem, state: State, blocks: Blocks, *, warm: bool, **settings: object
) -> str:
    """A digest of the rows, block by block, and of all that the answer depends on.

    A ``warm`` run depends on the rows of Y where it begins, too. ``settings`` are the options and
    the method.
    """
    digest = sha256()
    digest.update(blocks.query(partial(_rows_digest, warm=warm), _merged_digest))
    digest.update(_bytes(state.transitions.parameters))
    digest.update(_bytes(state.class_prior.mean))
    gamma, eta, share = problem.class_prior.fixed
    for array in (problem.transition_prior.parameters, problem.transition_prior.known, gamma):
        digest.update(_bytes(array))
    if share is not None:
        digest.update(_bytes(share))
    digest.update(json.dumps({"eta": eta, **settings}, sort_keys=True).encode())
    return digest.hexdigest()


def _merged_digest(one: bytes, other: bytes) -> bytes:
    """Digest of the digests of two blocks.

    Blocks are merged in the order in which statistics are: that decides what their sums round to.
    """
    return sha256(one + other).digest()


def _rows_digest(rows: Rows, *, warm: bool) -> bytes:
    digest = sha256()
    begin = (rows.class_concentration,) if warm else ()
    for array in (rows.label_proba, rows.evidence, rows.multiplicity, *begin):
        digest.update(_bytes(array))
    return digest.digest()


def _bytes(array: Any) -> bytes:
    contiguous = np.ascontiguousarray(array)
    return f"{contiguous.dtype.str}{contiguous.shape}".encode() + contiguous.tobytes()
