"""`python -m imbrex`: the `imbrex` program."""

from __future__ import annotations

from imbrex.cli import main

if __name__ == "__main__":
    main()
