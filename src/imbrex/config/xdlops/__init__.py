"""Schedules of AMD GPUs with matrix instructions."""
