"""Run what is left of the study, and write its page: `make study`."""

import argparse

from benchmarks.calibration.report import write
from benchmarks.calibration.study import BATCH, FOLDER, load, run


def main() -> None:
    """Parse, run, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=500, help="data sets of each setting")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--report", action="store_true", help="only write the page")
    options = parser.parse_args()
    if not options.report:
        run(options.sets, options.jobs)
    write(load(), BATCH, FOLDER)


if __name__ == "__main__":
    main()
