"""The algorithm of a problem: what is copied or seen in another way before it becomes matrix products.

    convolution     v4r4, v4r1 or v1r1      nothing
                    channels_last           arrays that are read are copied, their channels fastest
                    input_last, output_last of backward weight, this array alone
                    all_last                those that are read, and the result is copied back
                    interleaved             the phases of backward data, to where they belong
                    window_rows             those of few channels, so that a row of a window is one stretch
                    merged_groups:COUNT     so many groups are computed as one, with zeros between
                    whole_images:COUNT      nothing; images have a multiple of so many positions
                    halo:COUNT              pixels come into shared memory once for all taps; groups as above
                    channel_vectors         lanes multiply, each neighbouring groups of one channel
    product         direct                  nothing
                    aligned                 operands whose rows tensor maps cannot read are copied
                    data_tiled              all three are, tile by tile

Where none is asked for, a model chooses for warpgroups: the estimated cycles of the products and the copies.
"""

from __future__ import annotations

from imbrex.algorithm.choice import algorithm_of
from imbrex.algorithm.configured import configured, schedule_of, untuned, word_in_ir
from imbrex.algorithm.passes import to_product
from imbrex.config.request import Request, multiplies

__all__ = [
    "Request", "algorithm_of", "configured", "multiplies", "schedule_of", "to_product", "untuned",
    "word_in_ir",
]  # fmt: skip
