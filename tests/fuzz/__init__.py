"""Fuzz: random cases of everything that a user can give, each with an oracle that knows what is right.

`python -m tests.fuzz --seconds 60` tries all generators in turn (docs/fuzz.md); `corpus/` keeps what
they found.
"""
