"""Blocks of rows on threads: the same function for each, results in order."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import cache
from threading import Lock
from typing import Any, Final, TypeVar

import numpy as np
from threadpoolctl import ThreadpoolController  # scikit-learn brings it

Result = TypeVar("Result")

# glibc hands freed memory back to the system, and every temporary would fault its pages in anew.
# Once an array of this size was freed, it keeps twice as much: see M_MMAP_THRESHOLD in mallopt(3).
_KEPT_BYTES: Final = 24 * 2**20


class LinearAlgebraLimit:
    """Limits linear algebra to one thread while anyone is inside.

    The limit belongs to the process. With several `infer` at once the first one in sets it and the
    last one out restores what was before.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._inside = 0
        self._before = 1

    def before(self) -> int:
        """Threads that linear algebra may use outside."""
        with self._lock:
            return self._before if self._inside else _linear_algebra_threads()

    def __enter__(self) -> None:
        with self._lock:
            if self._inside == 0:
                self._before = _linear_algebra_threads()
                self._limits = _controller().limit(limits=1, user_api="blas")
            self._inside += 1

    def __exit__(self, *exception: object) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                self._limits.restore_original_limits()


@cache
def _controller() -> ThreadpoolController:
    """Looked for once: the libraries of NumPy and SciPy are loaded by now, and looking is slow."""
    return ThreadpoolController()


def _linear_algebra_threads() -> int:
    libraries = _controller().select(user_api="blas").info()
    return max((int(x["num_threads"]) for x in libraries), default=1)


_ONE_THREAD: Final = LinearAlgebraLimit()


class BlockMap:
    """Applies a function to every block, on threads, and hands results back in order.

    By default there are as many threads as linear algebra may use, so that the limits of a cluster
    or of an outer parallel loop hold here too. Within a block linear algebra runs on one thread:
    the products are too small to be shared.
    """

    def __init__(self, n_threads: int | None = None, n_blocks: int = 1) -> None:
        self.n_threads = min(n_threads or _ONE_THREAD.before(), n_blocks)

    def __enter__(self) -> BlockMap:
        """Start the threads."""
        np.empty(_KEPT_BYTES, dtype=np.uint8)  # never written to, so it costs two system calls
        self._stack = ExitStack()
        self._stack.enter_context(_ONE_THREAD)
        self._map: Callable[..., Iterable[Any]] = map
        if self.n_threads > 1:
            self._map = self._stack.enter_context(ThreadPoolExecutor(self.n_threads)).map
        return self

    def __exit__(self, *exception: object) -> None:
        """Stop them."""
        self._stack.close()

    def __call__(
        self, function: Callable[[slice], Result], blocks: list[slice]
    ) -> Iterable[Result]:
        """Results in the order of the blocks."""
        return self._map(function, blocks)
