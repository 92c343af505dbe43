"""Schedules of a GPU without matrix instructions."""
