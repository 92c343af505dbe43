"""Tuning: which configurations to try, what their times teach, and which one has won."""
