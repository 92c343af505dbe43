"""Tunings of a GPU without matrix instructions."""
