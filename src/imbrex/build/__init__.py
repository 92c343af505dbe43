"""From source text to a shared object: the machine's instruction set, the compiler, the on-disk cache."""
