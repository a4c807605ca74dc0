"""Run the command line: ``python -m tilewright``."""

from tilewright.cli import app

if __name__ == "__main__":
    app()
