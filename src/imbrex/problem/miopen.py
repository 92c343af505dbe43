"""MIOpenDriver lines: `conv -n 1 -c 64 -H 56 -W 56 -k 64 -y 3 -x 3 -p 1 -q 1 -F 1`, read and written.

Law: a pasted line means here what it means to MIOpenDriver, its defaults included (ROCm/MIOpen,
driver/conv_driver.hpp).  `-F` is a sum of 1 forward, 2 backward data, 4 backward weight; 0, the default, is
all three.  Our own extensions, which MIOpenDriver lacks: `convfp64`, `convtf32`, `_fnuz` after an 8-bit float
for the format of gfx942 (MIOpenDriver takes it from its build), layouts in any order and in any letters of
`problem.layout`, pads that differ before and after, `-p 1,2`, `--epilogue "relu(x + bias)"`, and `-n ?`.
"""

from __future__ import annotations

from imbrex.diagnostic import Diagnostic, did_you_mean
from imbrex.dtype import DTYPES, DType
from imbrex.problem.conv import Conv2d, Direction
from imbrex.problem.flags import Flag, Flags, Line, Token, read_flags
from imbrex.problem.layout import DIMENSIONS, layout_text
from imbrex.problem.run_time import extent_text
from imbrex.problem.value import epilogue_flag, read_epilogue, read_extent, read_pad, read_size, read_whole

__all__ = ["MIOPEN_FLAGS", "MIOPEN_KINDS", "miopen_line", "read_miopen"]

MIOPEN_KINDS = {t.miopen: t for t in DTYPES.values() if t.miopen is not None}

_DIRECTIONS: dict[int, Direction] = {1: "forward", 2: "backward_data", 4: "backward_weight"}

_DEPTH = "only two-dimensional convolutions are supported"
_TYPE = "the type is in the first word: convfp16, convbfp16, convint8"
_TRANSPOSED = "a transposed convolution is backward data with c and k exchanged: -F 2"

MIOPEN_FLAGS = (
    Flag("n", ("-n", "--batchsize")),
    Flag("c", ("-c", "--in_channels")),
    Flag("h", ("-H", "--in_h")),
    Flag("w", ("-W", "--in_w")),
    Flag("k", ("-k", "--out_channels")),
    Flag("y", ("-y", "--fil_h")),
    Flag("x", ("-x", "--fil_w")),
    Flag("pad_h", ("-p", "--pad_h")),
    Flag("pad_w", ("-q", "--pad_w")),
    Flag("stride_h", ("-u", "--conv_stride_h")),
    Flag("stride_w", ("-v", "--conv_stride_w")),
    Flag("dilation_h", ("-l", "--dilation_h")),
    Flag("dilation_w", ("-j", "--dilation_w")),
    Flag("groups", ("-g", "--group_count")),
    Flag("direction", ("-F", "--forw")),
    Flag("filter_layout", ("-f", "--fil_layout")),
    Flag("input_layout", ("-I", "--in_layout")),
    Flag("output_layout", ("-O", "--out_layout")),
    Flag("epilogue", ("--epilogue",)),
    Flag("mode", ("-m", "--mode"), "ignored", only=("conv",), hint=_TRANSPOSED),
    Flag("pad_mode", ("-z", "--pad_mode"), "ignored", only=("default",), hint="give the pads with -p and -q"),
    Flag("pad_value", ("-r", "--pad_val"), "ignored", only=("0",)),
    Flag("bias", ("-b", "--bias"), "ignored", only=("0",)),
    Flag("spatial_dim", ("-_", "--spatial_dim"), "ignored", only=("2",), hint=_DEPTH),
    Flag("tensor_vect", ("-Z", "--tensor_vect"), "ignored", only=("0",)),
    Flag("vector_length", ("-L", "--vector_length"), "ignored", only=("1",)),
    Flag("in_d", ("-!", "--in_d"), "ignored"),
    Flag("fil_d", ("-@", "--fil_d"), "ignored"),
    Flag("conv_stride_d", ("-#", "--conv_stride_d"), "ignored"),
    Flag("pad_d", ("-$", "--pad_d"), "ignored"),
    Flag("dilation_d", ("-^", "--dilation_d"), "ignored"),
    Flag("trans_output_pad_d", ("-%", "--trans_output_pad_d"), "ignored"),
    Flag("trans_output_pad_h", ("-Y", "--trans_output_pad_h"), "ignored"),
    Flag("trans_output_pad_w", ("-X", "--trans_output_pad_w"), "ignored"),
    Flag("iter", ("-i", "--iter"), "ignored"),
    Flag("verify", ("-V", "--verify"), "ignored"),
    Flag("verification_cache", ("-C", "--verification_cache"), "ignored"),
    Flag("time", ("-t", "--time"), "ignored", only=("0", "1", "2"), hint=_TYPE),
    Flag("wall", ("-w", "--wall"), "ignored"),
    Flag("search", ("-s", "--search"), "ignored"),
    Flag("printconv", ("-P", "--printconv"), "ignored"),
    Flag("dump_output", ("-o", "--dump_output"), "ignored"),
    Flag("in_data", ("-d", "--in_data"), "ignored"),
    Flag("weights", ("-e", "--weights"), "ignored"),
    Flag("in_bias", ("-a", "--in_bias"), "ignored"),
    Flag("dout_data", ("-D", "--dout_data"), "ignored"),
    Flag("solution", ("-S", "--solution"), "ignored"),
    Flag("gpubuffer_check", ("-G", "--gpubuffer_check"), "ignored"),
)


def read_miopen(line: Line, tokens: list[Token]) -> tuple[list[Conv2d], tuple[str, ...]]:
    """The problems of a line whose first word is `conv...`, one a direction, and the ignored flags."""
    kind = tokens[0]
    if kind.text not in MIOPEN_KINDS:
        message = f"unknown convolution '{kind.text}'; known are {', '.join(MIOPEN_KINDS)}"
        raise line.error(message, kind, did_you_mean(kind.text, MIOPEN_KINDS))
    flags = read_flags(line, tokens[1:], MIOPEN_FLAGS)
    wanted = flags.get("direction", 0, read_whole)
    if wanted > 7:
        hint = "add up 1 forward, 2 backward data, 4 backward weight; 0 is all three"
        raise line.error(f"the direction is 0 to 7, got {wanted}", flags.values["direction"], hint)
    directions: list[Direction] = [name for bit, name in _DIRECTIONS.items() if wanted == 0 or wanted & bit]
    try:
        return [_conv(flags, direction, MIOPEN_KINDS[kind.text]) for direction in directions], flags.ignored
    except Diagnostic as error:
        raise flags.locate(error) from None


def _conv(flags: Flags, direction: Direction, dtype: DType) -> Conv2d:
    def text(_: str, word: str) -> str:
        return word

    return Conv2d(
        direction,
        n=flags.get("n", 100, read_extent),
        c=flags.get("c", 3, read_size),
        h=flags.get("h", 32, read_size),
        w=flags.get("w", 32, read_size),
        k=flags.get("k", 32, read_size),
        y=flags.get("y", 3, read_size),
        x=flags.get("x", 3, read_size),
        pad_h=flags.get("pad_h", (0, 0), read_pad),
        pad_w=flags.get("pad_w", (0, 0), read_pad),
        stride=(flags.get("stride_h", 1, read_size), flags.get("stride_w", 1, read_size)),
        dilation=(flags.get("dilation_h", 1, read_size), flags.get("dilation_w", 1, read_size)),
        groups=flags.get("groups", 1, read_size),
        filter_layout=flags.get("filter_layout", "NCHW", text),
        input_layout=flags.get("input_layout", "NCHW", text),
        output_layout=flags.get("output_layout", "NCHW", text),
        dtype=dtype,
        epilogue=flags.get("epilogue", None, read_epilogue),
    )


def miopen_line(conv: Conv2d) -> str:
    """The canonical line of a problem; layouts are written, all three, where one is not the default."""
    bit = next(bit for bit, direction in _DIRECTIONS.items() if direction == conv.direction)
    (u, v), (l, j) = conv.stride, conv.dilation  # noqa: E741 - MIOpen's own letters
    p, q = (
        str(before) if before == after else f"{before},{after}" for before, after in (conv.pad_h, conv.pad_w)
    )
    images = extent_text(conv.n, conv.least_n)
    line = (
        f"{conv.dtype.miopen} -n {images} -c {conv.c} -H {conv.h} -W {conv.w} -k {conv.k}"
        f" -y {conv.y} -x {conv.x} -p {p} -q {q} -u {u} -v {v} -l {l} -j {j} -g {conv.groups} -F {bit}"
    )
    if any(conv.layout(role) != DIMENSIONS[role] for role in conv.roles):
        filter_, input_, output = (layout_text(role, conv.layout(role), miopen=True) for role in conv.roles)
        line += f" -f {filter_} -I {input_} -O {output}"
    return line + epilogue_flag(conv.epilogue)
