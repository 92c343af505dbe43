"""Text of configurations: lossless, and located errors."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from imbrex.config.configuration import MOST_CHANNELS, MOST_PRODUCTS, Configuration, TunedProduct, parse, text
from imbrex.config.general.plan import GeneralTuning
from imbrex.config.halo.plan import LinesTuning
from imbrex.config.strips import Box
from imbrex.config.tiles import DATA_PARALLEL, TileSchedule
from imbrex.config.warpgroup.plan import WarpgroupTuning
from imbrex.config.xdlops.plan import XdlopsTuning
from imbrex.diagnostic import Diagnostic
from imbrex.view.work.workgroup import RasterOrder

SIZES = st.integers(1, 2**31)
TUNINGS = st.one_of(
    st.builds(GeneralTuning, *[SIZES] * 6),
    st.builds(XdlopsTuning, *[SIZES] * 6),
    st.builds(WarpgroupTuning, *[SIZES] * 7, st.booleans(), st.booleans(), SIZES),
    st.builds(LinesTuning, *[SIZES] * 10, st.booleans()),
)
ORDERS = st.builds(
    RasterOrder, st.integers(1, 1 << 16), st.sampled_from(["m", "n"]), st.integers(1, 64), st.booleans()
)
SCHEDULES = st.one_of(
    st.builds(TileSchedule, st.just("data_parallel"), st.none(), st.none() | ORDERS),
    st.builds(TileSchedule, st.sampled_from(["split_k", "stream_k"]), st.none() | st.integers(1, 1 << 16)),
    st.builds(TileSchedule, st.just("cluster_k"), st.sampled_from([2, 4, 8])),
)
PARTS = st.builds(TunedProduct, TUNINGS, SCHEDULES, st.booleans())
PRODUCTS = st.lists(PARTS, max_size=4).map(lambda parts: (*parts, *parts[-1:] * 3))
CONFIGURATIONS = st.builds(
    Configuration,
    st.sampled_from(["direct", "v4r1", "halo:4", "data_tiled:f16_16x16x16_8x8_Kx2", "unheard_of"]),
    st.booleans(),
    st.integers(1, MOST_CHANNELS),
    st.booleans(),
    st.none() | st.builds(Box, *[SIZES] * 5),
    PRODUCTS,
    st.booleans(),
    st.booleans(),
)
LANES = "v2:channel_vectors+strips=2,4,14,1,32"
GENERAL = "v1:general:256,128,128,8,4,4"


@given(CONFIGURATIONS)
def test_text_is_lossless(configuration: Configuration) -> None:
    line = text(configuration)
    assert parse(line) == configuration
    assert text(parse(line)) == line == str(configuration)
    assert not set(line) & set(" \n;&|<>$*?()'\"\\"), "a shell takes it as one word"


def test_spelling() -> None:
    tuning, other = GeneralTuning(256, 128, 128, 8, 4, 4), TileSchedule("split_k", 8)
    assert text(Configuration("direct")) == "v2:direct"
    whole, shared = TunedProduct(tuning), TunedProduct(tuning, other, is_early=True)
    told = Configuration("v4r1", True, 64, products=(whole, whole, shared), has_flags=False)
    parts = f"product:2={GENERAL}@data_parallel+product={GENERAL}@split_k:8,early"
    assert text(told) == f"v2:v4r1+taps_first+channels=64+{parts}+flags=none"
    assert parse(f"v2:v4r1+flags=none+channels=64+{parts}+taps_first") == told
    assert (
        text(Configuration("channel_vectors", strips=Box(2, 4, 14))) == "v2:channel_vectors+strips=2,4,14,1,1"
    )


@pytest.mark.parametrize(
    ("line", "message", "under"),
    [
        ("", "configuration starts with '', expected 'v2'", ""),
        ("v3:direct", "configuration starts with 'v3', expected 'v2'", "v3"),
        (GENERAL, "configuration starts with 'v1', expected 'v2'", "v1"),
        ("v2:", "a configuration begins with an algorithm", ""),
        ("v2", "a configuration begins with an algorithm", ""),
        ("v2:direct+", "unknown key '' of a configuration", ""),
        ("v2:direct+chanels=3", "unknown key 'chanels' of a configuration", "chanels"),
        ("v2:direct+channels", "'channels' takes a value", "channels"),
        ("v2:direct+taps_first=1", "'taps_first' takes no value", "taps_first=1"),
        ("v2:direct+taps_first+taps_first", "'taps_first' is given twice", "taps_first"),
        ("v2:v4r4+images_last=8", "'images_last' takes no value", "images_last=8"),
        ("v2:direct+channels=8+channels=8", "'channels' is given twice", "channels=8"),
        ("v2:direct+channels:2=8", "only 'product' takes a number, got 'channels:2'", "channels:2"),
        ("v2:direct+channels=1", "channels is '1', expected a whole number from 2 to 4096", "1"),
        ("v2:direct+channels=1e3", "channels is '1e3', expected a whole number from 2 to 4096", "1e3"),
        ("v2:direct+strips=1,2,3", "strips takes 5 whole numbers from 1, slots, columns, rows", "1,2,3"),
        ("v2:direct+strips=1,2,3,0,1", "strips takes 5 whole numbers from 1", "1,2,3,0,1"),
        ("v2:direct+flags=all", "flags is 'all', expected none, or nothing at all", "all"),
        (f"v2:direct+product={GENERAL}", "a product is TUNING@SCHEDULE", GENERAL),
        (
            f"v2:direct+product:1={GENERAL}@split_k",
            "'product:COUNT' takes a whole number from 2",
            "product:1",
        ),
        (
            f"v2:direct+product:{MOST_PRODUCTS + 1}={GENERAL}@split_k",
            "'product:COUNT' takes a whole number from 2 to 1024",
            f"product:{MOST_PRODUCTS + 1}",
        ),
        ("v2:direct+product=v1:genral:1@split_k", "unknown kind of tuning 'genral'", "genral"),
        (f"v2:direct+product={GENERAL}@splitk", "unknown schedule of tiles 'splitk'", "splitk"),
        (f"v2:direct+product={GENERAL}@cluster_k:3", "takes the number of workgroups", "cluster_k:3"),
        (f"v2:direct+product={GENERAL}@data_parallel,late", "unknown schedule", "data_parallel,late"),
        (f"v2:direct+product={GENERAL}@data_parallel/wgn=8", "unknown option 'wgn'", "wgn"),
    ],
)
def test_bad_text_is_located(line: str, message: str, under: str) -> None:
    with pytest.raises(Diagnostic) as error:
        parse(line)
    assert message in error.value.message
    assert error.value.source == line and error.value.line == 1
    start = (error.value.col or 0) - 1
    assert line[start : start + error.value.length].startswith(under)
    assert start + len(under) <= len(line)


def test_a_tuning_is_told_from_a_configuration() -> None:
    with pytest.raises(Diagnostic) as error:
        parse(GENERAL)
    assert error.value.hint == "this is a tuning, which --tuning takes"


@given(st.text(max_size=40) | st.text("v2:+=,@product1dirct", max_size=60).map(lambda t: f"v2:direct+{t}"))
def test_any_text_is_a_configuration_or_a_diagnostic(line: str) -> None:
    try:
        assert parse(text(parse(line))) == parse(line)
    except Diagnostic as error:
        assert error.line == 1 and error.col is not None


def test_the_default_schedule_is_whole_tiles() -> None:
    assert TunedProduct(GeneralTuning(256, 128, 128, 8, 4, 4)).schedule == DATA_PARALLEL
