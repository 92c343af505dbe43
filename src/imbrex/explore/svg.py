"""Drawings as SVG: boxes, words and fields that say what they stand for, with colours for light and dark.

Colours are classes; `STYLE` gives them values, once in a page and inside of a document of its own.  The eight
groups began as tints of the colours of Okabe and Ito, and were moved apart until any two differ by 16 in
CIELAB, to the trichromat and to each kind of the colour-blind; what is wrong is told by a thick dashed edge,
too.
"""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import Final

__all__ = ["STYLE", "box", "document", "drawing", "field", "group", "label", "line"]

LIGHT: Final = (
    "#97bde7", "#f5b97b", "#98f7b3", "#d7b8b4", "#b4a3ff", "#eb9481", "#fcff86", "#c9daeb",
)  # fmt: skip
DARK: Final = (
    "#2c52a1", "#91610b", "#177959", "#643d78", "#312292", "#762f03", "#7c6734", "#3d4750",
)  # fmt: skip
INK: Final = {
    "ink": ("#1b1b1b", "#eeeeee"),
    "soft": ("#5a5a5a", "#b4b4b4"),
    "paper": ("#ffffff", "#15171a"),
    "line": ("#9a9a9a", "#6a6f76"),
    "bad": ("#c40000", "#ff7a6b"),
    "good": ("#00664b", "#57d3ae"),
    "here": ("#0037d6", "#ffd400"),
}


def _variables(at: int) -> str:
    tints = (LIGHT, DARK)[at]
    groups = "".join(f"--ix-{i}:{tint};" for i, tint in enumerate(tints))
    return groups + "".join(f"--ix-{name}:{pair[at]};" for name, pair in INK.items())


def _style() -> str:
    groups = "".join(f".ix .g{i}{{fill:var(--ix-{i})}}" for i in range(8))
    return (
        f".ix{{{_variables(0)}}}"
        f"@media (prefers-color-scheme:dark){{.ix{{{_variables(1)}}}}}"
        f'[data-theme="light"] .ix{{{_variables(0)}}}[data-theme="dark"] .ix{{{_variables(1)}}}'
        f"@media print{{.ix{{{_variables(0)}}}}}"
        ".ix text{font:11px sans-serif;fill:var(--ix-ink)}"
        ".ix .mid{text-anchor:middle}.ix .end{text-anchor:end}.ix .soft{fill:var(--ix-soft)}"
        ".ix .strong{font-weight:bold}.ix .head{font:bold 13px sans-serif}.ix .tiny{font-size:8px}"
        ".ix .code{font-family:monospace}"
        ".ix rect,.ix path,.ix line{stroke:var(--ix-paper);stroke-width:.7}"
        ".ix .plain{fill:var(--ix-paper);stroke:var(--ix-line)}.ix .none{fill:none;stroke:var(--ix-line)}"
        ".ix .faint{fill:none;stroke:var(--ix-line);stroke-width:.35}"
        ".ix .line{fill:none;stroke:var(--ix-line)}.ix .ink{fill:none;stroke:var(--ix-ink)}"
        ".ix .field{fill:transparent;stroke:none;cursor:crosshair}"
        ".ix .bad{stroke:var(--ix-bad);stroke-width:2.2;stroke-dasharray:4 1.5}"
        ".ix .sent{stroke:var(--ix-ink);stroke-width:1.6;stroke-dasharray:3 2}"
        ".ix text.bad{stroke:none;font-weight:bold}"
        ".ix text.good{fill:var(--ix-good);font-weight:bold}"
        ".ix .lit{stroke:var(--ix-here)!important;stroke-width:2.6!important}"
        ".ix .near{stroke:var(--ix-here)!important;stroke-width:1.4!important;stroke-dasharray:2 2}"
        ".ix .here{fill:none;stroke:var(--ix-here);stroke-width:2.6;pointer-events:none}" + groups
    )


STYLE: Final = _style()


def drawing(title: str, parts: Iterable[str], width: float, height: float) -> str:
    """A drawing without style: a page has that once."""
    size = f'width="{width:g}" height="{height:g}" viewBox="0 0 {width:g} {height:g}"'
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="ix" {size} role="img" aria-label="{escape(title)}">'
    )
    return "".join((head, *parts, "</svg>"))


def document(svg: str) -> str:
    """A drawing as a file of its own, with its style and its paper."""
    end = svg.index(">") + 1
    paper = '<rect class="paper" width="100%" height="100%" style="fill:var(--ix-paper);stroke:none"/>'
    return f"{svg[:end]}<style>{STYLE}</style>{paper}{svg[end:]}\n"


def box(
    x: float,
    y: float,
    width: float,
    height: float,
    kind: str,
    tokens: str = "",
    tooltip: str = "",
    corner: int = 0,
    when: str = "",
) -> str:
    """A rectangle.  kind: its classes; tokens: what it stands for; tooltip: said when it is pointed at; when:
    the frames of an animation in which it is there.
    """
    shape = f'<rect class="{kind}" x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}"'
    shape += f' rx="{corner}"' if corner else ""
    shape += f' data-is="{escape(tokens)}"' if tokens else ""
    shape += f' data-when="{escape(when)}"' if when else ""
    return f"{shape}><title>{escape(tooltip)}</title></rect>" if tooltip else f"{shape}/>"


def label(x: float, y: float, text: object, kind: str = "", tokens: str = "", when: str = "") -> str:
    """Words that begin, have their middle (`mid`) or end (`end`) at x."""
    named = f' class="{kind}"' if kind else ""
    stands = f' data-is="{escape(tokens)}"' if tokens else ""
    stands += f' data-when="{escape(when)}"' if when else ""
    return f'<text{named} x="{x:g}" y="{y:g}"{stands}>{escape(str(text))}</text>'


def line(x: float, y: float, to_x: float, to_y: float, kind: str = "line", tokens: str = "") -> str:
    """A straight line."""
    stands = f' data-is="{escape(tokens)}"' if tokens else ""
    return f'<path class="{kind}" d="M{x:g} {y:g}L{to_x:g} {to_y:g}"{stands}/>'


def group(x: float, y: float, parts: Iterable[str]) -> str:
    """Parts moved together."""
    return "".join((f'<g transform="translate({x:g} {y:g})">', *parts, "</g>"))


def field(
    x: float, y: float, width: float, height: float, rows: str = "", columns: str = "", also: str = ""
) -> str:
    """Cells without elements: a rectangle whose rows and columns are `axis:low-high`, from the upper left.
    also: what is pointed at with any of them.
    """
    axes = "".join(f' data-{way}="{axis}"' for way, axis in (("rows", rows), ("columns", columns)) if axis)
    stands = f' data-also="{escape(also)}"' if also else ""
    size = f'x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}"'
    return f'<rect class="field" {size}{axes}{stands}/>'
