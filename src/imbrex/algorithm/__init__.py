"""From a problem to a configuration, and to passes; the algorithms are in `config.algorithm.table`.

Where none is asked for, a model chooses for warpgroups: the estimated cycles of the products and the copies.
"""

from __future__ import annotations

from imbrex.algorithm.configured import configured, schedule_of, untuned, word_in_ir
from imbrex.algorithm.passes import to_product
from imbrex.config.algorithm.choice import algorithm_of
from imbrex.config.request import Request, multiplies

__all__ = [
    "Request", "algorithm_of", "configured", "multiplies", "schedule_of", "to_product", "untuned",
    "word_in_ir",
]  # fmt: skip
