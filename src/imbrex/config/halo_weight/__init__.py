"""Tunings of backward weight whose pixels come into shared memory once, for all taps of a window."""
