"""Functions of arrays: convolutions and matrix products, each compiled at its first call.

Law: a result equals the definition on the arrays as they are indexed, however they lie in memory.  An array
that is dense in any order of its dimensions is read in place; only one with gaps is copied.  Mistakes are
NumPy's: TypeError for what a thing is, ValueError for the shape it has.
"""
