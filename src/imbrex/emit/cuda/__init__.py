"""CUDA C++ for NVIDIA GPUs: what one thread does, printed from the statements of a kernel."""

from imbrex.emit.cuda.files import CHIPS, units

__all__ = ["CHIPS", "units"]
