"""Handler: a kernel as a custom call of XLA, in C against the interface of the JAX that is installed.

Law: a handler's name is that of the source it was compiled from, so a program that XLA kept from another
process finds this very kernel, or says that there is none.
"""

from __future__ import annotations

import ctypes
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from imbrex.build.cache import digest
from imbrex.build.shared_library import build_shared
from imbrex.kernel.constraints import Constraints
from imbrex.kernel.options import options_of
from imbrex.kernel.target import CPU
from imbrex.library.dispatch import unit
from imbrex.library.make import sourced
from imbrex.problem import Problem, problem_text
from imbrex.symbol import symbol_of

__all__ = ["registered"]

jax: Any = import_module("jax")

ABOUT: Final = "c_api.h"
_kept: Final[list[ctypes.CDLL]] = []


@cache
def registered(problem: Problem, threads: int) -> str:
    """The name of the custom call that runs the problem's kernel, compiled or from the cache."""
    known = digest([problem_text(problem), str(threads)])[:16]
    source = sourced(options_of(problem, CPU, Constraints(), threads, None), 1, f"jax_{known}", 0)
    operands = problem.operands
    out = next(i for i, operand in enumerate(operands) if operand.is_written)
    text = HANDLER.replace("THREADS", str(threads)).replace("OUT", str(out))
    text = text.replace("COUNT", str(len(operands))).replace("UNIT", unit(source.part, problem))
    api = Path(jax.ffi.include_dir(), "xla", "ffi", "api", ABOUT).read_text(encoding="utf-8")
    files = {**source.files, "handler.cpp": text, ABOUT: api}
    library = build_shared(files, flags=source.flags)
    name = f"{symbol_of('jax')}_{library.key[:32]}"
    loaded = ctypes.CDLL(str(library.path))
    _kept.append(loaded)
    jax.ffi.register_ffi_target(name, jax.ffi.pycapsule(loaded.imbrex_jax_handler), platform="cpu")
    return name


HANDLER: Final = """#include "c_api.h"

extern "C" {
void *aligned_alloc(size_t alignment, size_t bytes);
void free(void *memory);
}
UNIT

// Arguments are the arrays that are read, in order; the result is the one that is written.
extern "C" XLA_FFI_Error *imbrex_jax_handler(XLA_FFI_CallFrame *frame) {
  XLA_FFI_Extension_Base *first = frame->extension_start;
  if (first != nullptr && first->type == XLA_FFI_Extension_Metadata) {
    XLA_FFI_Metadata *told = reinterpret_cast<XLA_FFI_Metadata_Extension *>(first)->metadata;
    told->api_version.major_version = XLA_FFI_API_MAJOR;
    told->api_version.minor_version = XLA_FFI_API_MINOR;
    told->traits = 0;
    return nullptr;
  }
  void *arrays[COUNT];
  int64_t read = 0;
  for (int i = 0; i < COUNT; ++i) {
    void *const buffer = i == OUT ? frame->rets.rets[0] : frame->args.args[read++];
    arrays[i] = static_cast<XLA_FFI_Buffer *>(buffer)->data;
  }
  if (run_0(arrays, THREADS) == 0) return nullptr;
  XLA_FFI_Error_Create_Args error = {};
  error.struct_size = sizeof(error);
  error.message = "a kernel of Imbrex got no memory, or not the registers that it needs";
  error.errc = XLA_FFI_Error_Code_RESOURCE_EXHAUSTED;
  return frame->api->XLA_FFI_Error_Create(&error);
}
"""
