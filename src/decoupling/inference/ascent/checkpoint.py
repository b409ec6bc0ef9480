"""Checkpoints: what a run has found out so far, so that an interrupted one can go on.

A file per round holds T, gamma and the terms of the bound: kilobytes. The rows of Y are not kept.
They depend on nothing but p(s|x) and on the T and gamma of every round, so each block replays its
own rounds, without waiting for the others, and ends with the same bits.
"""

from __future__ import annotations

import json
from dataclasses import astuple, dataclass, replace
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any, Final
from zipfile import BadZipFile

import numpy as np

from decoupling._files import written_whole
from decoupling._typing import FloatArray
from decoupling._version import __version__
from decoupling.inference.ascent.class_prior import GammaPosterior, KnownGamma
from decoupling.inference.ascent.elbo import Terms
from decoupling.inference.ascent.steps import Problem, State
from decoupling.inference.rows.blocks import Blocks
from decoupling.inference.rows.rows import Rows

_FORMAT: Final = 1
_HEADER: Final = "problem.json"


@dataclass(frozen=True, eq=False)
class Round:
    """A step of the rows and the step of T and gamma that followed.

    Attributes
    ----------
    leap : float
        How far the steps of the rows were extrapolated.
    terms : Terms
        The bound before the round.
    transitions : array (C, S)
        Parameters of q(T) after it.
    class_prior : KnownGamma or GammaPosterior
        Gamma, or q(gamma), after it.
    move : float
        How far gamma went.
    """

    leap: float
    terms: Terms
    transitions: FloatArray
    class_prior: KnownGamma | GammaPosterior
    move: float


class Checkpoint:
    """A folder with a file per round of a run.

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

    def rounds(self, start: KnownGamma | GammaPosterior, most: int) -> list[Round]:
        """What an interrupted run has left, at ``most`` so much; q(gamma) began at ``start``."""
        rounds: list[Round] = []
        while len(rounds) < most and (path := self._path(len(rounds))).exists():
            try:
                with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
                    rounds.append(_as_round(dict(arrays), start))
            except (BadZipFile, KeyError, OSError, ValueError, EOFError) as error:
                raise ValueError(
                    f"checkpoint: {path.name} cannot be read ({error}). Remove it and those "
                    "after it to go on from the round before."
                ) from None
        return rounds

    def save(self, number: int, done: Round) -> None:
        """Keep a round; it is there whole or not at all."""
        arrays: dict[str, Any] = {
            "leap": done.leap,
            "terms": astuple(done.terms),
            "transitions": done.transitions,
            "move": done.move,
        }
        if isinstance(done.class_prior, GammaPosterior):
            arrays |= {name: getattr(done.class_prior, name) for name in _GAMMA}
        with written_whole(self._path(number)) as path:
            np.savez(path, **arrays)

    def _path(self, number: int) -> Path:
        return self.folder / f"round-{number:05d}.npz"


# What changes of q(gamma) from round to round.
_GAMMA: Final = ("shape", "location", "heading")


def _as_round(arrays: dict[str, Any], start: KnownGamma | GammaPosterior) -> Round:
    class_prior = start
    if isinstance(start, GammaPosterior):
        class_prior = replace(start, **{name: arrays[name] for name in _GAMMA})
    return Round(
        float(arrays["leap"]),
        Terms(*arrays["terms"].tolist()),
        arrays["transitions"],
        class_prior,
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
    problem: Problem, state: State, blocks: Blocks, *, warm: bool, **settings: object
) -> str:
    """A digest of the rows, block by block, and of all that the answer depends on.

    Where a ``warm`` run begins, its state and the rows of Y, is a part of that.
    """
    digest = sha256()
    digest.update(blocks.query(partial(_rows_digest, warm=warm), _merged_digest))
    digest.update(_bytes(state.transitions.parameters))
    digest.update(_bytes(state.class_prior.mean))
    prior = problem.class_prior
    gamma = prior.prior.rate if isinstance(prior, GammaPosterior) else prior.mean
    eta = prior.prior.eta if isinstance(prior, GammaPosterior) else None
    for array in (problem.transition_prior.parameters, problem.transition_prior.known, gamma):
        digest.update(_bytes(array))
    if isinstance(prior, GammaPosterior):
        digest.update(_bytes(prior.share))
    plain = {"method": problem.method, "order": problem.order, "eta": eta, **settings}
    digest.update(json.dumps(plain, sort_keys=True).encode())
    return digest.hexdigest()


def _merged_digest(one: bytes, other: bytes) -> bytes:
    """Of both, in the order in which statistics are merged: it tells what sums round to."""
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
