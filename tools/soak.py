"""A thousand fits in one process, then fits from eight threads at once: what they take and leave.

The classifier and its report are made anew each time, on rows of another seed. Memory in use after
200 fits, when all caches are warm, is compared with that after the last; growth by more than the
slack, or a bit that differs between threads, ends in an error.
"""

from __future__ import annotations

import argparse
import gc
import resource
import sys
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from sklearn.naive_bayes import GaussianNB

from decoupling import DecouplingClassifier

# Fits after which all caches are warm, and memory in use is taken for the first time.
WARM = 200
# Growth of memory in MiB that an allocator may keep for itself; a leak of 10 kB a fit is as much.
SLACK_MIB = 8.0
# Threads that fit at once, more than most machines have cores for.
THREADS = 8


def draw(seed: int, n_rows: int = 300) -> tuple[np.ndarray, np.ndarray]:
    """Rows of three classes with labels of which some are wrong and some are missing."""
    rng = np.random.default_rng(seed)
    classes = rng.integers(0, 3, n_rows)
    X = 2.0 * np.eye(3)[classes] + rng.standard_normal((n_rows, 3))
    given = np.where(rng.random(n_rows) < 0.2, rng.integers(0, 3, n_rows), classes).astype(float)
    return X, np.where(rng.random(n_rows) < 0.3, np.nan, given)


def fit(seed: int) -> bytes:
    """One fit, its intervals and its report; the bits of its answer."""
    X, y = draw(seed)
    clf = DecouplingClassifier(GaussianNB(), cv=3, rounds=1, random_state=0).fit(X, y)
    clf.transition_interval()
    clf.report().markdown()
    return clf.label_conditional_proba_.tobytes() + clf.predict_proba(X).tobytes()


def resident_mib() -> float:
    """Memory in use, in MiB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 2**20


def soak(n_fits: int) -> float:
    """Fit so often; growth of memory since the fits were warm, in MiB."""
    began, warm = time.perf_counter(), 0.0
    for k in range(1, n_fits + 1):
        fit(k)
        if k % WARM == 0:
            gc.collect()
            now = resident_mib()
            warm = warm or now
            print(f"{k:5d} fits  {time.perf_counter() - began:6.1f} s  {now:7.1f} MiB", flush=True)
    return resident_mib() - warm


def main() -> None:
    """Soak, then compare threads."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fits", type=int, default=1000)
    n_fits = parser.parse_args().fits
    warnings.simplefilter("ignore")  # of a fit with few rows; filters are those of all threads
    grown = soak(n_fits)
    print(f"grown by {grown:.1f} MiB since the first {WARM}")
    seeds = range(4 * THREADS)
    alone = [fit(seed) for seed in seeds]
    with ThreadPoolExecutor(THREADS) as threads:
        together = list(threads.map(fit, seeds))
    same = sum(one == other for one, other in zip(alone, together, strict=True))
    print(f"{THREADS} threads at once: {same} of {len(alone)} fits have the same bits as alone")
    if grown > SLACK_MIB or same < len(alone):
        sys.exit("Not as it should be.")
    print("all is well")


if __name__ == "__main__":
    main()
