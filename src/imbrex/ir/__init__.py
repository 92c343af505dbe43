"""The `miopen` dialect in xDSL: text, operations, their meaning and the passes between the levels.

    from_problem, to_problem    a problem as a function over its arrays, and back
    ops/, attrs, entry          operations, a file a level, and their attributes
    chosen, planned             attributes that carry a configuration's values
    source, text, literal       the reader, with the place of everything; slips: the mend of usual mistakes
    printed                     the printer
    passes/, rewrite            from level to level
    meaning/, trial             what operations compute, on numpy arrays; functions executed and compared
    opt                         imbrex-opt
    finder                      xdsl's finder of modules, which other imports ask, too

The only folder that imports xdsl.
"""
