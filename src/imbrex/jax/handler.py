"""Handler: a kernel as a custom call of XLA, in C against the interface of the JAX that is installed; on a
GPU in XLA's stream.

Law: a handler's name is that of the source it was compiled from, so a program that XLA kept from another
process finds this very kernel, or says that there is none.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from imbrex.build.cache import digest
from imbrex.build.shared_library import build_shared
from imbrex.kernel.constraints import Constraints
from imbrex.kernel.options import options_of
from imbrex.kernel.target import CPU, target_of
from imbrex.kernel.tuned import Effort
from imbrex.library.cuda import cuda_unit
from imbrex.library.dispatch import unit
from imbrex.library.make import sourced
from imbrex.problem import Problem, problem_text
from imbrex.symbol import symbol_of
from imbrex.tuner.interface import compile

__all__ = ["on_gpu", "registered"]

jax: Any = import_module("jax")

ABOUT: Final = "c_api.h"
_kept: Final[list[ctypes.CDLL]] = []


@cache
def registered(problem: Problem, threads: int, tune: Effort | None = None) -> str:
    """The name of the custom call that runs the problem's kernel on CPUs, compiled or from the cache.

    tune: the effort with which it is tuned first, where that was not done before.
    """
    if tune is not None:
        compile(problem, CPU, threads=threads, tune=tune)
    known = digest([problem_text(problem), str(threads)])[:16]
    source = sourced(options_of(problem, CPU, Constraints(), threads, None), 1, f"jax_{known}", 0)
    own = MEMORY + unit(source.part, problem)
    text = _handler(problem, own, "", str(threads), NO_MEMORY)
    return _register({**source.files, **text}, source.flags, "cpu")


@cache
def on_gpu(problem: Problem, kind: str, tune: Effort | None = None) -> str:
    """The same of a GPU's kernel, which is launched in XLA's stream.  kind: a target, such as sm_90a."""
    target = target_of(kind)
    parts = cuda_unit(compile(problem, target, tune=tune), target)
    text = _handler(problem, '#include "unit.h"', STREAM, "got.stream", FAILED)
    return _register({**parts, **text}, (), "CUDA")


def _handler(problem: Problem, own: str, before: str, where: str, failed: str) -> dict[str, str]:
    """The handler's files.  own: what has `run_0`.  where: its argument beside the arrays, after `before`."""
    written = ", ".join(str(operand.is_written).lower() for operand in problem.operands)
    read = [operand for operand in problem.operands if not operand.is_written]
    of = [] if problem.run_time is None else [i for i, o in enumerate(read) if problem.run_time.is_of(o)]
    rows = f"static_cast<XLA_FFI_Buffer *>(frame->args.args[{of[0]}])->dims[0]" if of else "0"
    words = {"WHERE": where, "ROWS": rows, "MARKS": written, "BEFORE": before, "UNIT": own}
    text = HANDLER
    for word, replaced in {**words, "MESSAGE": failed}.items():
        text = text.replace(word, replaced)
    api = Path(jax.ffi.include_dir(), "xla", "ffi", "api", ABOUT).read_text(encoding="utf-8")
    return {"handler.cpp": text, ABOUT: api}


def _register(files: dict[str, str], flags: Sequence[str], platform: str) -> str:
    """The name under which XLA knows the handler of these files."""
    library = build_shared(files, flags=flags)
    name = f"{symbol_of('jax')}_{library.key[:32]}"
    loaded = ctypes.CDLL(str(library.path))
    _kept.append(loaded)
    jax.ffi.register_ffi_target(name, jax.ffi.pycapsule(loaded.imbrex_jax_handler), platform=platform)
    return name


MEMORY: Final = """extern "C" {
void *aligned_alloc(size_t alignment, size_t bytes);
void free(void *memory);
}
"""
STREAM: Final = """
  XLA_FFI_Stream_Get_Args got = {};
  got.struct_size = sizeof(got);
  got.ctx = frame->ctx;
  if (XLA_FFI_Error *const error = frame->api->XLA_FFI_Stream_Get(&got)) return error;"""
NO_MEMORY: Final = "got no memory, not the registers that it needs, or rows that it does not take"
FAILED: Final = "was not launched; the codes of libraries for a GPU say why"
HANDLER: Final = """#include "c_api.h"

UNIT

// Arguments are the arrays that are read, in order, results those that are written.
static constexpr bool IS_WRITTEN[] = {MARKS};
static constexpr int COUNT = sizeof(IS_WRITTEN);

extern "C" XLA_FFI_Error *imbrex_jax_handler(XLA_FFI_CallFrame *frame) {
  auto *const first = frame->extension_start; // its type is called otherwise from JAX to JAX
  if (first != nullptr && first->type == XLA_FFI_Extension_Metadata) {
    XLA_FFI_Metadata *metadata = reinterpret_cast<XLA_FFI_Metadata_Extension *>(first)->metadata;
    metadata->api_version.major_version = XLA_FFI_API_MAJOR;
    metadata->api_version.minor_version = XLA_FFI_API_MINOR;
    metadata->traits = 0;
    return nullptr;
  }
  void *arrays[COUNT];
  int64_t read = 0, written = 0;
  for (int i = 0; i < COUNT; ++i) {
    void *const buffer = IS_WRITTEN[i] ? frame->rets.rets[written++] : frame->args.args[read++];
    arrays[i] = static_cast<XLA_FFI_Buffer *>(buffer)->data;
  }
  BEFORE
  int code = run_0(arrays, ROWS, WHERE);
  if (code == 0) return nullptr;
  char message[] = "code     0: a kernel of Imbrex MESSAGE";
  for (int at = 9; code > 0 && at > 4; code /= 10) message[at--] = char('0' + code % 10);
  XLA_FFI_Error_Create_Args error = {};
  error.struct_size = sizeof(error);
  error.message = message;
  error.errc = XLA_FFI_Error_Code_RESOURCE_EXHAUSTED;
  return frame->api->XLA_FFI_Error_Create(&error);
}
"""
