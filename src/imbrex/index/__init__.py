"""The algebra of coordinate transforms: expressions, rules, maps, and the questions asked of them.

Imports nothing else of Imbrex.
"""
