"""Chip: GPUs by the names that people know, and what this Imbrex has for each.

Law: a name of a product, a vendor or an architecture is no target, and is told which target it means; a chip
that exists and that nothing is written for is told so by name, without a guess at another.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from imbrex.diagnostic import Diagnostic, did_you_mean

__all__ = ["KNOWN", "Chip", "no_target", "products_of"]

AMD_SOURCE: Final = "LLVM, AMDGPU Usage, table of processors"
NVIDIA_SOURCE: Final = "NVIDIA, CUDA GPU compute capability"


@dataclass(frozen=True)
class Chip:
    """A GPU as compilers call it, its architecture, and products that hold it."""

    name: str
    architecture: str
    products: tuple[str, ...]
    source: str

    @property
    def text(self) -> str:
        """`sm_80 (Ampere: A100, A30)`."""
        return f"{self.name} ({self.architecture}: {', '.join(self.products)})"


KNOWN: Final[dict[str, Chip]] = {
    name: Chip(name, architecture, products, AMD_SOURCE if name.startswith("gfx") else NVIDIA_SOURCE)
    for name, architecture, products in (
        ("gfx900", "GCN 5", ("MI25", "RX Vega 64")),
        ("gfx906", "GCN 5", ("MI50", "MI60", "Radeon VII")),
        ("gfx908", "CDNA", ("MI100",)),
        ("gfx90a", "CDNA 2", ("MI210", "MI250", "MI250X")),
        ("gfx942", "CDNA 3", ("MI300X", "MI300A", "MI325X")),
        ("gfx950", "CDNA 4", ("MI350X", "MI355X")),
        ("gfx1030", "RDNA 2", ("RX 6800", "RX 6900 XT")),
        ("gfx1100", "RDNA 3", ("RX 7900 XTX", "RX 7900 XT", "PRO W7900")),
        ("gfx1101", "RDNA 3", ("RX 7800 XT", "RX 7700 XT")),
        ("gfx1102", "RDNA 3", ("RX 7600",)),
        ("gfx1151", "RDNA 3.5", ("Radeon 8060S",)),
        ("gfx1200", "RDNA 4", ("RX 9060 XT",)),
        ("gfx1201", "RDNA 4", ("RX 9070", "RX 9070 XT", "AI PRO R9700")),
        ("sm_70", "Volta", ("V100",)),
        ("sm_75", "Turing", ("T4", "RTX 2080")),
        ("sm_80", "Ampere", ("A100", "A30")),
        ("sm_86", "Ampere", ("A10", "A40", "RTX 3090", "RTX A6000")),
        ("sm_89", "Ada", ("L4", "L40S", "RTX 4090")),
        ("sm_90a", "Hopper", ("H100", "H200", "GH200")),
        ("sm_100", "Blackwell", ("B200", "GB200")),
        ("sm_103", "Blackwell Ultra", ("B300", "GB300")),
        ("sm_120", "Blackwell", ("RTX 5090", "RTX 5080", "RTX PRO 6000")),
    )
}

VENDORS: Final = {"cuda": "sm_", "nvidia": "sm_", "hip": "gfx", "rocm": "gfx", "amd": "gfx"}
"""Words that people try, and how the names of that vendor's chips begin."""

_PREFIXES: Final = re.compile(r"(amd|nvidia|instinct|radeon|geforce|tesla)(?=.)")


def products_of(chip: str) -> str:
    """`H100, H200 or GH200`."""
    *others, last = KNOWN[chip].products
    return f"{', '.join(others)} or {last}" if others else last


def no_target(word: str, known: Iterable[str]) -> Diagnostic:
    """What to say of a word that is none of the targets `known`."""
    known = tuple(known)
    if (chip := KNOWN.get(_family(word))) is not None:
        if chip.name in known:  # sm_90 for sm_90a
            return Diagnostic(f"unknown target '{word}'", hint=f"{', '.join(chip.products)} are {chip.name}")
        return Diagnostic(f"{chip.text} is not supported; {_siblings(chip.name, known)}")
    if re.fullmatch(r"gfx[0-9a-f]+|sm_[0-9]+[af]?", word):
        message = f"target '{word}' is not supported; {_siblings(word, known)}"
        return Diagnostic(message, hint=did_you_mean(word, known))
    for chip in KNOWN.values():
        for product in chip.products:
            if _plain(product) == _plain(word):
                where = f"{product} is {chip.name}"
                if chip.name in known:
                    return Diagnostic(f"unknown target '{word}'", hint=where)
                message = (
                    f"{where} ({chip.architecture}), which is not supported; {_siblings(chip.name, known)}"
                )
                return Diagnostic(message)
    if (start := VENDORS.get(word.lower())) is not None:
        return Diagnostic(f"unknown target '{word}'", hint=_siblings(start, known))
    near = None if word == "gpu" else did_you_mean(word, known)  # cpu is near, and nothing like it
    near = near or f"known: {', '.join(known)}"
    return Diagnostic(f"unknown target '{word}'", hint=near)


def _family(word: str) -> str:
    """The row of a chip's name; suffixes of NVIDIA's are of the compiler, and Hopper's row has its own."""
    found = re.fullmatch(r"(sm_[0-9]+)[af]?", word)
    if found is None:
        return word
    return f"{found[1]}a" if f"{found[1]}a" in KNOWN else found[1]


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", _PREFIXES.sub("", name.lower().replace(" ", "")))


def _siblings(word: str, known: Iterable[str]) -> str:
    """What there is of the vendor: `of NVIDIA's GPUs there is sm_90a (H100, H200, GH200)`."""
    start, vendor = ("sm_", "NVIDIA") if word.startswith("sm_") else ("gfx", "AMD")
    found = [
        f"{name} ({', '.join(KNOWN[name].products)})" if name in KNOWN else name
        for name in known
        if name.startswith(start)
    ]
    return f"of {vendor}'s GPUs there {'is' if len(found) == 1 else 'are'} {', '.join(found) or 'none'}"
