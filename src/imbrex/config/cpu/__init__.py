"""Tunings of a CPU: cache blocks and register tiles."""
