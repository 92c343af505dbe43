"""A stack is the map that its layers make, written down the other way round."""

from __future__ import annotations

from imbrex.index.map import Dim, Map, identity, layer_over, merging, passing, replacing
from imbrex.index.rule import Merge, Pad, Unmerge
from imbrex.index.stack import over

ARRAY = (Dim("n", 2), Dim("h", 5), Dim("w", 6))


def test_each_layer_stands_on_the_one_before() -> None:
    padded = passing(ARRAY, (Pad(0, 1), "h", "h"))
    split = passing(padded.upper, (Unmerge(), "block near", "h"), block=2, near=3)
    joined = replacing(split.upper, (Merge(), "pixel", "near w"))
    chosen = layer_over(joined.upper, (Merge(), "k", "n block"), (Merge(), "m", "pixel"))
    top = merging(chosen.upper, a="k m")
    stack = over(ARRAY).padded(h=1).passing((Unmerge(), "block near", "h"), block=2, near=3)
    stack = stack.replacing((Merge(), "pixel", "near w"))
    stack = stack.layer((Merge(), "k", "n block"), (Merge(), "m", "pixel"))
    assert stack.merging(a="k m").map == Map((top, chosen, joined, split, padded))
    assert over(stack.map).under(top) == stack.merging(a="k m")


def test_what_changes_nothing_is_no_layer() -> None:
    assert over(ARRAY).padded(h=0, w=0) == over(ARRAY)
    assert over(ARRAY).map == identity(ARRAY)
