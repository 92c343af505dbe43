"""How one stage of an operand's tile lies in memory that a workgroup shares."""
