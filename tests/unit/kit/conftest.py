"""The command, for kits."""

from tests.unit.cli.conftest import imbrex

__all__ = ["imbrex"]
