"""Configuration: all that is chosen about a kernel, on any target, as one value and one text.

    v2:ALGORITHM[+KEY[=VALUE]]...

    v2:v4r4+product=v1:cpu:8,48,192,96,256,16,k_major,a,straight@data_parallel
    v2:direct+product=v1:warpgroup:128,256,64,4,2,2,1,cooperative,straight,8@stream_k:66,early
    v2:channel_vectors+taps_first+strips=2,4,14,1,32

ALGORITHM    one of those of `--algorithm`; direct of a product that copies nothing
taps_first   gemmK, or gemmN of backward weight, runs over the taps of a window before its channels
images_last  gemmK of backward weight runs over pixels before images
channels     what the channels of each tap are counted up to multiples of; 1 by default
in_place     backward weight by halo reads planes where they are, instead of copies with channels last
strips       what a work item has of a depthwise convolution by lanes: slots, columns, rows, images, lanes
product      TUNING@SCHEDULE of a matrix product, `product:4` of four that follow each other.  A schedule
             without an order begins tiles in the order of their numbers.  `,early`: it may begin before the
             launch ahead of it has ended, where it waits for that by itself.  `,upto=16`: of a run-time size
             up to 16 alone, where the next product is of greater ones (`config.buckets`)
flags=none   the compiler gets no flags of the kernel's own, with which its registers spilled

Law: `parse` undoes `text`.  A problem and a configuration decide the source: nothing is chosen after it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any, Final

from imbrex.config import tiles
from imbrex.config import tuning as tunings
from imbrex.config.strips import Box
from imbrex.config.tiles import DATA_PARALLEL, TileSchedule, wrong
from imbrex.config.tuning import Tuning
from imbrex.diagnostic import Diagnostic, did_you_mean
from imbrex.numeral import MOST, whole

__all__ = ["DIRECT", "MOST_PRODUCTS", "VERSION", "Configuration", "TunedProduct", "parse", "text"]

VERSION: Final = 2
DIRECT: Final = "direct"
"""The algorithm of a matrix product that copies nothing."""
MOST_PRODUCTS: Final = 1 << 10
MOST_CHANNELS: Final = 1 << 12
EARLY: Final = ",early"
UPTO: Final = ",upto="
FLAGS: Final = ("taps_first", "images_last", "in_place")
"""Keys that stand without a value."""
KEYS: Final = (*FLAGS, "channels", "strips", "product", "flags")


@dataclass(frozen=True)
class TunedProduct:
    """A product's tuning and the schedule of its tiles.  is_early: may it begin before the launch ahead of it
    has ended, where it waits for that by itself?  upto: the greatest run-time size that it is for; None: any.
    """

    tuning: Tuning
    schedule: TileSchedule = DATA_PARALLEL
    is_early: bool = False
    upto: int | None = None

    def __str__(self) -> str:
        upto = "" if self.upto is None else f"{UPTO}{self.upto}"
        return f"{tunings.text(self.tuning)}@{self.schedule}{EARLY if self.is_early else ''}{upto}"


@dataclass(frozen=True)
class Configuration:
    """See the module's first lines; products: in the order in which they run."""

    algorithm: str
    taps_first: bool = False
    channels: int = 1
    in_place: bool = False
    strips: Box | None = None
    products: tuple[TunedProduct, ...] = ()
    has_flags: bool = True
    images_last: bool = False

    def __str__(self) -> str:
        return text(self)


def text(configuration: Configuration) -> str:
    """The one line that `parse` reads."""
    return "+".join((f"v{VERSION}:{configuration.algorithm}", *_words(configuration)))


def _words(of: Configuration) -> Iterator[str]:
    yield from (flag for flag in FLAGS if getattr(of, flag))
    if of.channels != 1:
        yield f"channels={of.channels}"
    if of.strips is not None:
        yield f"strips={','.join(map(str, of.strips))}"
    for part, equal in groupby(of.products):
        count = sum(1 for _ in equal)
        yield f"product{f':{count}' if count > 1 else ''}={part}"
    if not of.has_flags:
        yield "flags=none"


def parse(line: str) -> Configuration:
    """The configuration that a line spells; a Diagnostic with carets under the part that is wrong."""
    version, _, rest = line.partition(":")
    if version != f"v{VERSION}":
        hint = "this is a tuning, which --tuning takes" if version == f"v{tunings.VERSION}" else None
        raise wrong(line, 0, version, f"configuration starts with '{version}', expected 'v{VERSION}'", hint)
    algorithm, *words = rest.split("+")
    start = len(version) + 1
    if not algorithm:
        raise wrong(
            line,
            min(start, len(line)),
            "",
            "a configuration begins with an algorithm",
            "v2:ALGORITHM+KEY=VALUE",
        )
    found: dict[str, Any] = {}
    start += len(algorithm) + 1
    for word in words:
        _read(line, start, word, found)
        start += len(word) + 1
    return Configuration(algorithm, **found)


def _read(line: str, start: int, word: str, found: dict[str, Any]) -> None:
    """One word, into the fields that were found before."""
    head, equals, value = word.partition("=")
    key, colon, count = head.partition(":")
    if key not in KEYS:
        hint = did_you_mean(key, KEYS) or f"known: {', '.join(KEYS)}"
        raise wrong(line, start, key, f"unknown key '{key}' of a configuration", hint)
    if bool(equals) == (key in FLAGS):
        raise wrong(line, start, word, f"'{key}' {'takes no' if equals else 'takes a'} value")
    if colon and key != "product":
        raise wrong(line, start, head, f"only 'product' takes a number, got '{head}'")
    if key == "product":
        times = whole(count, 2, MOST_PRODUCTS) if colon else 1
        if times is None:
            message = f"'product:COUNT' takes a whole number from 2 to {MOST_PRODUCTS}, got '{count}'"
            raise wrong(line, start, head, message)
        before: tuple[TunedProduct, ...] = found.get("products", ())
        found["products"] = (*before, *[_part(line, start + len(head) + 1, value)] * times)
        return
    name = "has_flags" if key == "flags" else key
    if name in found:
        raise wrong(line, start, word, f"'{key}' is given twice")
    found[name] = _value(line, start + len(head) + 1, key, value)


def _value(line: str, start: int, key: str, value: str) -> bool | int | Box:
    match key:
        case "channels":
            if (number := whole(value, 2, MOST_CHANNELS)) is not None:
                return number
            message = f"channels is '{value}', expected a whole number from 2 to {MOST_CHANNELS}"
            raise wrong(line, start, value, message)
        case "strips":
            numbers = [whole(word, 1, MOST) for word in value.split(",")]
            if len(numbers) == len(Box._fields) and None not in numbers:
                return Box(*(number for number in numbers if number is not None))
            message = f"strips takes {len(Box._fields)} whole numbers from 1, {', '.join(Box._fields)}"
            raise wrong(line, start, value, f"{message}; got '{value}'")
        case "flags":
            if value == "none":
                return False
            raise wrong(line, start, value, f"flags is '{value}', expected none, or nothing at all")
        case _:
            return True


def _part(line: str, start: int, value: str) -> TunedProduct:
    spelled, at, rest = value.partition("@")
    if not at:
        hint = "data_parallel is a schedule of one workgroup a tile"
        raise wrong(line, start, value, "a product is TUNING@SCHEDULE", hint)
    rest, has_end, end = rest.partition(UPTO)
    upto = whole(end, 1, MOST) if has_end else None
    if has_end and upto is None:
        at = start + len(spelled) + 1 + len(rest) + len(UPTO)
        raise wrong(line, at, end, f"upto is '{end}', expected a whole number from 1")
    schedule = rest.removesuffix(EARLY)
    tuning = _within(line, start, lambda: tunings.parse(spelled))
    shared = _within(line, start + len(spelled) + 1, lambda: tiles.parse(schedule))
    return TunedProduct(tuning, shared, schedule != rest, upto)


def _within(line: str, start: int, read: Callable[[], Any]) -> Any:
    """What a part of the line spells; an error in it is one in the line."""
    try:
        return read()
    except Diagnostic as error:
        raise replace(error, file=None, line=1, col=start + (error.col or 1), source=line) from None
