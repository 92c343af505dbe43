"""Schedules: what may be tuned, what follows from it, what is legal, which tuning is chosen."""
