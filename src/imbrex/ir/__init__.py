"""The `miopen` dialect in xDSL: text, operations, their meaning and the passes between the levels.

The only folder that imports xdsl.
"""
