"""Kernels as statements: a closed set, one way to say each thing, no target."""
