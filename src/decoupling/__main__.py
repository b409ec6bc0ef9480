"""Entry of the command line, which says what to install if it cannot begin."""

import sys


def main() -> None:
    """Run the command line."""
    try:
        from decoupling.cli import app
    except ModuleNotFoundError as error:
        if error.name not in {"typer", "rich", "click"}:
            raise
        sys.exit(f'The command line needs {error.name}: pip install "decoupling[cli]".')
    app()


if __name__ == "__main__":
    main()
