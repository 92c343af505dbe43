"""Imbrex: convolutions and matrix products as kernel source that its user can read, own and ship."""

__version__ = "0.1.0"
