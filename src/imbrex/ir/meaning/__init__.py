"""What each operation means, on numpy arrays: one problem gives the same numbers at every level.

A workgroup runs after the other; its work items run together, as arrays whose first axis is the work item.
"""

from imbrex.ir.meaning.run import execute

__all__ = ["execute"]
