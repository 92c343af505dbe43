"""Subject: a request, and all that panels ask about it, each found once and only when it is asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from imbrex.config.configuration import Configuration
from imbrex.config.request import Request
from imbrex.explore.ladder import Ladder
from imbrex.explore.products import Product, products
from imbrex.pipeline import configuration_of

__all__ = ["Subject"]


@dataclass(frozen=True)
class Subject:
    """What a study is about.  request: with the configuration that a kernel would have, or none."""

    request: Request

    @cached_property
    def configuration(self) -> Configuration:
        """All that is chosen; a Diagnostic where nothing serves."""
        return configuration_of(self.request)

    @cached_property
    def products(self) -> Sequence[Product]:
        """The matrix products, in the order in which they run; none where lanes multiply."""
        return products(self.request)

    @property
    def product(self) -> Product | None:
        """The product that panels draw: the first of those with most to multiply."""
        return max(self.products, key=lambda p: p.context.multiplies, default=None)

    @cached_property
    def ladders(self) -> Mapping[str, Ladder]:
        """The maps of the drawn product's operands, by the operand's name."""
        if self.product is None:
            return {}
        return {
            view.operand: Ladder(f"{view.operand} is {view.array}", view.map, view.array)
            for view in self.product.operands
        }
