"""Verification: operands, the true result, and the comparison of a kernel's result with it."""
