"""Copies of arrays before and after a product: what a packed, channels-last or sampled array holds."""
