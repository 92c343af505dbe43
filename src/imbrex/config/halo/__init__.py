"""Tunings of windows whose pixels come into shared memory once, with their halo."""
