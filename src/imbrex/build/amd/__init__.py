"""From HIP source to a code object, and what its assembly says of it."""
