"""The attribute of device functions that unoptimised kernels go without: a quarter less to compile."""

CALLED = "always_inline"
CALLS, INLINES = f"-D{CALLED}=", f"-U{CALLED}"
"""Flags of those, and of what is compiled as for users beside them."""
