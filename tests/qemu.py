"""The mark of tests that run AArch64 in QEMU."""

from __future__ import annotations

import platform
import shutil

import pytest

needs_qemu = pytest.mark.skipif(
    shutil.which("qemu-aarch64") is None or platform.system() != "Linux",
    reason="qemu-aarch64 is not here: apt install qemu-user",
)
