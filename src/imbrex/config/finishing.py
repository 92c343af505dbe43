"""What comes between a product's sums and C: what a kernel keeps in registers beside them."""

from __future__ import annotations

from enum import IntEnum

from imbrex.problem.epilogue import Epilogue

__all__ = ["Finishing", "finishing_of", "scaling_of"]


class Finishing(IntEnum):
    """Ordered by what is kept: nothing; numbers, and vectors of rows or columns; elements of a matrix, of a
    residual or of C itself.
    """

    NONE = 0
    VECTORS = 1
    MATRIX = 2


def finishing_of(epilogue: Epilogue | None) -> Finishing:
    """What an epilogue keeps; nothing where there is none."""
    if epilogue is None:
        return Finishing.NONE
    return Finishing.MATRIX if "residual" in epilogue.arrays else Finishing.VECTORS


def scaling_of(has_alpha: bool, has_beta: bool) -> Finishing:
    """What alpha other than 1 keeps, and beta other than 0."""
    return Finishing.MATRIX if has_beta else Finishing.VECTORS if has_alpha else Finishing.NONE
