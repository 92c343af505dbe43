"""Panels: one module each, from a subject to a panel."""
