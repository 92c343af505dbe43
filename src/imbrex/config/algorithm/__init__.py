"""The algorithm of a problem: what is copied or seen in another way before it becomes matrix products."""
