"""imbrex explain swizzle: how tiles are packed for matrix instructions, as maps, MLIR and pictures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click

from imbrex.cli.report_file import file_name
from imbrex.cli.text import facts, json_text
from imbrex.diagnostic import Diagnostic
from imbrex.numeral import counted
from imbrex.view.mma import OPERANDS, Operand
from imbrex.view.swizzle import (
    INSTANCES,
    K_CONVENTIONS,
    OPERAND_DIMS,
    SEEDS,
    KConvention,
    TileKernel,
    tile_kernel,
)
from imbrex.whole_file import write_text

__all__ = ["command"]


@click.command("swizzle", short_help="show how tiles are packed for matrix instructions")
@click.argument("name", required=False)
@click.option("--operand", type=click.Choice(OPERANDS), help="Show this tile only.")
@click.option(
    "--k",
    "convention",
    type=click.Choice(K_CONVENTIONS),
    default="interleaved",
    help="How k counts where a lane loads for several instructions at once.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["table", "mlir", "json", "svg"]),
    default="table",
    help="mlir prints functions that pack and unpack; svg draws the tiles.",
)
@click.option("-o", "--output", metavar="FILE", type=file_name, help="Write to a file instead.")
def command(
    name: str | None, operand: Operand | None, convention: KConvention, form: str, output: str | None
) -> None:
    """Show how the tiles of A, B and C are packed, so that a lane's loads for matrix instructions are single
    wide ones: as expand_shape and transpose, as offsets, as MLIR.

    NAME is TYPE_MxNxK[_UxV][_KxW][_wAxB]: an instruction, how many of them along m and n, along k, and how
    many waves; f16_16x16x16_8x8_Kx2 is 128 x 128 x 32 of f16 by one wave.  An instruction's full name does,
    too.
    """
    if name is None:
        if form not in ("table", "json") or operand is not None:
            raise Diagnostic("a tile kernel is needed here", hint=f"one is {SEEDS[-1]}")
        text = _listed(form)
    else:
        kernel = tile_kernel(name, convention)
        chosen = OPERANDS if operand is None else (operand,)
        text = _text(kernel, name, chosen, form)
    if output is None:
        click.echo(text)
    else:
        write_text(f"{text}\n", Path(output))


def _listed(form: str) -> str:
    known = {name: tile_kernel(name) for name in (*SEEDS, *INSTANCES)}
    if form == "json":
        return json_text([_json(kernel, name, OPERANDS) for name, kernel in known.items()])
    rows = [(name, f"{_tile(kernel)} by {kernel.instruction.name}") for name, kernel in known.items()]
    return facts("tile kernels with a name; any other TYPE_MxNxK[_UxV][_KxW][_wAxB] does, too", rows)


def _text(kernel: TileKernel, name: str, chosen: Sequence[Operand], form: str) -> str:
    match form:
        case "mlir":
            from imbrex.emit.mlir import tile_module

            several = len(chosen) > 1
            return "\n".join(tile_module(kernel, o, o if several else None) for o in chosen).rstrip()
        case "json":
            return json_text(_json(kernel, name, chosen))
        case "svg":
            from imbrex.explore.svg import document
            from imbrex.explore.swizzle_picture import tile_picture

            return document(tile_picture(kernel, name, chosen)).rstrip()
        case _:
            items = counted(kernel.workitems, "work item")
            title = f"{name}: {_tile(kernel)} by {kernel.instruction.name}, {items}"
            return facts(title, [row for operand in chosen for row in _rows(kernel, operand)])


def _tile(kernel: TileKernel) -> str:
    m, n, k = kernel.tile
    blocks = kernel.instruction.blocks
    return f"{m} x {n} x {k}" + (f" in {counted(blocks, 'block')}" if blocks > 1 else "")


def _rows(kernel: TileKernel, operand: Operand) -> Iterator[tuple[str, str]]:
    swizzle = kernel.swizzle(operand)
    dims = ", ".join(f"{d.name} = {d.size}" for d in swizzle.dims)
    named = [f"{name} = {size}" for name, size in zip(swizzle.names, swizzle.expanded_shape, strict=True)]
    groups = [", ".join(named[i] for i in group) for group in swizzle.reassociation]
    yield operand.upper(), f"[{dims}] of {kernel.instruction.element(operand)}"
    yield "  expand", f"{_lists(swizzle.reassociation)}: [{' | '.join(groups)}]"
    yield "  transpose", f"[{', '.join(map(str, swizzle.permutation))}]"
    yield "  packed", f"[{', '.join(str(d) for d in swizzle.packed_dims)}]"
    yield "  offset", str(swizzle.offset)
    held = counted(kernel.registers(operand), "register")
    yield "  a lane", f"{kernel.load_bytes(operand):g} bytes side by side; {held}"


def _json(kernel: TileKernel, name: str, chosen: Sequence[Operand]) -> dict[str, Any]:
    return {
        "name": name,
        "instruction": kernel.instruction.name,
        "tile": dict(zip("mnk", kernel.tile, strict=True)),
        "unroll": dict(zip("mnk", kernel.unroll, strict=True)),
        "waves": dict(zip("mnk", kernel.waves, strict=True)),
        "workitems": kernel.workitems,
        "operands": {operand: _operand_json(kernel, operand) for operand in chosen},
    }


def _operand_json(kernel: TileKernel, operand: Operand) -> dict[str, Any]:
    swizzle = kernel.swizzle(operand)
    return {
        "element": kernel.instruction.element(operand),
        "dimensions": list(OPERAND_DIMS[operand]),
        "source_shape": list(swizzle.source_shape),
        "reassociation": [list(group) for group in swizzle.reassociation],
        "expanded_shape": list(swizzle.expanded_shape),
        "parts": list(swizzle.names),
        "permutation": list(swizzle.permutation),
        "packed_shape": list(swizzle.packed_shape),
        "offset": str(swizzle.offset),
        "lane_bytes": kernel.load_bytes(operand),
        "lane_registers": kernel.registers(operand),
    }


def _lists(groups: Sequence[Sequence[int]]) -> str:
    return f"[{', '.join(str(list(group)) for group in groups)}]"
