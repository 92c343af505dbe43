"""The file of a report: JSON, replaced as a whole."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

from imbrex.cli.text import json_text
from imbrex.diagnostic import Diagnostic

__all__ = ["write_report"]


def write_report(document: dict[str, Any], path: Path) -> None:
    """The whole file or none of it."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", dir=path.parent, prefix=f".{path.name}.", delete=False) as file:
            file.write(json_text(document) + "\n")
        os.chmod(file.name, 0o644)
        os.replace(file.name, path)
    except OSError as error:
        raise Diagnostic(f"cannot write '{path}': {(error.strerror or str(error)).lower()}") from None
