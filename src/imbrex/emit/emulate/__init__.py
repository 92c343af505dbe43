"""The source of a GPU's schedule as a CPU runs it, lane by lane."""
