"""How long an abstract loop takes on a compute unit of AMD's, and a kernel of such loops on a chip.

A loop is operations, waits and bytes.  `config.xdlops.loop` derives it from a plan, before anything is
compiled; `build.amd.hot_loop` reads it from what the compiler made.  What comes out is a prediction: no
kernel of ours has run on an AMD GPU.
"""
