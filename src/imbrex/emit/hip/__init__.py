"""HIP source for AMD GPUs: what one work item does, printed from the statements of a kernel."""

from imbrex.emit.hip.files import CHIPS, units

__all__ = ["CHIPS", "units"]
