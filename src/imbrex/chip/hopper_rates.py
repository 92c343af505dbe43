"""What an H100 and an H200 were seen to do, for the models of kernels of warpgroups.

Rates of products without a source of their own were fitted together to all times in
tests/unit/config/warpgroup/data, from several starts that met; a multiprocessor's true clock is between 1.3
and 1.98 GHz, lower the more of them multiply.
"""

from __future__ import annotations

from typing import Final

from imbrex.chip.warpgroup_rates import (
    HaloRates,
    ItemRates,
    LaneRates,
    LaunchRates,
    LineRates,
    ProductRates,
    RowRates,
    WarpgroupRates,
    WeightRates,
)

__all__ = ["HOPPER_ITEMS", "HOPPER_LANES", "HOPPER_RATES"]

PRODUCT: Final = ProductRates(
    matrix=0.982,
    power=0.2,
    product=47.1,
    taking=150.0,  # 64 rows by 8 columns of tf32 nn took 340 cycles a step on an H200
    shared_bytes=128.0,  # 32 banks of 4 bytes
    row=1.47,
    short_row=0.532,
    # Not fitted: with it, two weight gradients of planes of 1568 bytes get what took 0.75 and 0.82 of the
    # time of the pick without.
    apart_row=0.35,
    crossing_row=2.62,
    inside_row=2.86,
    walked_row=1.69,
    shared_stage=32.1,
    l2_rows=40.1,  # 5100 bytes
    each_row=0.43,
    near=27.3,
    cast=1.213,
    split_row=1.5,
    answer=2042.0,
    streams=8.0,
    memory_bytes=2150.0,  # 3.8 TB/s, between an H100's 3.1 and an H200's 4.4
    memory_norm=2.5,
    cached_bytes=17.4e6,  # of 50 MB in two halves, each keeps what its multiprocessors read
    strided=10,  # 13 MB took an H200 32 us more than without gaps
    phased=2.5,  # an H200 wrote 1.3 TB/s of 103 and of 206 MB
    first_bytes=49000.0,
    stored_bytes=24.0,
    narrow_store={8: 2.0, 4: 3.0, 2: 5.0, 1: 8.0},
    shifted_store=2.5,
    turned_store=1.3,
    turned_halves=1.04,
    sent_bytes=3000.0,
    start=3660.0,  # launched programmatically, 900 to 1300 less than plainly
    cluster=100.0,
    turn=30.0,
    handing=194.0,
    meeting=2800.0,
    each=300.0,
    follow=171.0,
    gathering=142.0,
    gathered_bytes=6.18,
    read_apart=0.3,  # 128 rows and 47 MB to 117 MB of B on an H200: 1.17 to 1.21 times as long
    ordinary=105.0,  # 90 to 140 were seen
    copying=52.0,  # by 300 tunings of 49 products of f16, i8 and fp8 with rows of 8 bytes more, on an H200
    copying_window=96.0,  # three times 26 to 36, which a load was seen to take
    copying_pieces=39.0,  # with it products of 77 and 257 rows are copied first, in 0.9 and 0.6 of the time
    scattered=3.0,  # planes of 1225 pixels by tiles of 96 to 240 of them, on an H200: 1.8 to 7
    turning=46.0,  # an H200 took 35 to 56 of tf32, by tiles of 64x64 to 128x256
    turning_bytes=38.0,  # by 291 tunings of 49 products of i8 and fp8 on an H200
    turning_step=130.0,  # 32, 64, 88 and 256 columns of tf32 tn took 496, 773, 1172 and 2660 cycles a step
    pieces=950.0,  # 64 products of 197 x 64 x 197 on an H200, by tiles of 16 to 128 rows
    issue=8.0,
    window=3.0,
    kept=25.0,  # filters, and pixels of one channel, on an H200: 20 to 36
    known=40.0,  # 3x3 and 5x5 of one to six channels on an H200: 37 to 68; of two steps 55 and 112
    # Both are within a tenth of what copies of 2 to 400 MB took on an H200.
    whole_rows=0.9,  # 12 to 20 % of the time were seen to be saved on an H200
    launch=2300.0,
    transposed_bytes=2200.0,
)

HALO: Final = HaloRates(
    matrix=1.0,
    power=0.27,
    shared_bytes=128.0,
    received_bytes=128.0,
    l2_bytes=7160.0,
    pixel=2.5,  # an H200 brought 32 bytes in so many
    latency=450.0,
    memory_bytes=1750.0,
    # An H200 read 2.5 TB/s of 32 bytes and 3.3 of 64, and took a tenth more of 64 than of 128 for all of a
    # layer.
    short_pixel={32: 1.3, 64: 1.1},
    stored_bytes=32.0,
    turn=60.0,
    overlap=0.293,
    start=3500.0,
)

LINE: Final = LineRates(
    memory_bytes=2200.0,  # 3.9 TB/s
    short_pixel={32: 1.35, 64: 1.16},
    third=1.12,
    # A line of an image is stored alone, where a raster's tile stores several that are one stretch.  Rows of
    # 112 bytes took 1.5, of 56 2.2.
    along_rows=1.8,
    passing=1.35,
    finish=980.0,
    in_turn=0.03,
    filter_bytes=54.0,
    norm=10.0,
    start=6000.0,
)
"""Fitted to fourteen times of an H200, of six layers, which it gives within 5 %."""

WEIGHT: Final = WeightRates(
    # An H200 took 1.02 to 1.1 for small integers, 1.2 to 1.3 for numbers at random, whose power lowers the
    # clock: 57 us for 256 channels of 14 x 14.
    matrix=1.2,
    step=60.0,
    warp_product=8.0,
    memory_bytes=2250.0,  # an H200 read 3.9 TB/s where warps multiplied
    # An H200 took 6.1 to 6.8 for 112 bytes, of which every second row begins inside of a sector of the
    # caches.
    plane_row=6.3,
    answer=2100.0,
    norm=8.0,
)

ROWS: Final = RowRates(
    step={128: 1.0, 64: 1.1, 32: 1.3},
    channels={128: 1.0, 64: 1.1, 32: 1.35},
    taps={128: 1.0, 64: 1.1, 32: 1.3},
)
LAUNCH: Final = LaunchRates(
    flops=240e9,  # 400 microseconds at 600 TFLOP/s, which an H100 reaches
    bytes=300e6,  # 100 microseconds at 3 TB/s
    behind_flops=60e9,
)
HOPPER_RATES: Final = WarpgroupRates(
    1.75e9, PRODUCT, HALO, LINE, WEIGHT, ROWS, LAUNCH,
    "measured on an H100 and an H200; see chip/hopper_rates.py",
)  # fmt: skip

HOPPER_LANES: Final = LaneRates(
    instructions=80.0, each=3.0, memory=0.95, tall=1.7, clash=0.098, busy_items=379, round_workgroups=2
)
HOPPER_ITEMS: Final = ItemRates(
    waiting_warps=2.7,
    crowded=117,
    spill=1.42,
    phases={4: 1.0, 8: 1.5, 16: 4.0},
    cache_bytes=19.0,
    cache_fraction=0.26,
    shared_fraction=0.11,
    row=0.23,
    step=18.0,
    part=8900.0,
    part_load=55.0,
    part_trip=1230.0,
    latency=400.0,
    k_latency=120.0,
    chain=1.55,
    start=3000.0,
    # 49 products by lot and 12 of a set, with 3 to 22 tunings and schedules each: where a tuning takes less
    # than 1.3 of the best one's time, the model is within 7 % in the mean square.  Parts, the way of a k and
    # the start: 60 products by lot, 44 of few tiles, with 10 to 14 each, whose picks are within 3.4 % of the
    # fastest in the mean.
    source="f32 products on an H200, compiled by NVRTC 13.0",
)
