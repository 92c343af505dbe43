"""An emulator of CDNA, the instruction set of AMD's gfx90a, gfx942 and gfx950: code objects on this CPU.

Law: nothing here knows what Imbrex generates or how: a code object goes in, and what its instructions do to
memory comes out, so that what agrees with a reference was not made to agree.
"""
