"""Results checked on a GPU, where NumPy would take too long."""
