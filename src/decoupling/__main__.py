"""Start of the command line: it says what to install if something is missing."""

import signal
import sys
from types import FrameType


def main() -> None:
    """Run the command line."""
    for stream in (sys.stdout, sys.stderr):
        # Letters that a terminal cannot show become escapes: a finished run must not fail by them.
        stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    for name in ("SIGTERM", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), _interrupt)
    try:
        from decoupling.cli import app

        app()
    except ModuleNotFoundError as error:
        if error.name not in {"typer", "rich", "click"}:
            raise
        sys.exit(f'The command line needs {error.name}: pip install "decoupling[cli]".')
    except KeyboardInterrupt:
        sys.exit(130)


def _interrupt(number: int, frame: FrameType | None) -> None:
    """Answer every signal to stop as Ctrl-C is answered, so that half-written files are removed."""
    raise KeyboardInterrupt


if __name__ == "__main__":
    main()
