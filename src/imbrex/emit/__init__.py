"""Source text: the C printer, one table per target, device headers, and the bundle of files that users
own.
"""
