"""Tunings of AMD GPUs with matrix instructions."""
