"""How many threads the libraries below may use."""

from __future__ import annotations

from functools import cache
from threading import Lock
from typing import Any, Final

from threadpoolctl import ThreadpoolController  # scikit-learn brings it


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


def one_openmp_thread() -> Any:
    """Context in which OpenMP has one thread. The limit is that of the calling thread alone.

    The limit of linear algebra is not touched, neither at the start nor at the end.
    """
    return _controller().select(user_api="openmp").limit(limits=1)


@cache
def _controller() -> ThreadpoolController:
    """Controller of the loaded libraries, made once: NumPy and SciPy are loaded, and it is slow."""
    return ThreadpoolController()


def _linear_algebra_threads() -> int:
    libraries = _controller().select(user_api="blas").info()
    return max((int(x["num_threads"]) for x in libraries), default=1)


ONE_THREAD: Final = LinearAlgebraLimit()
