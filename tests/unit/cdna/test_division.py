"""Division, whose quotient instructions scale, refine and mend: IEEE's between numbers of all kinds."""

from __future__ import annotations

import numpy as np
import pytest

from imbrex.build.amd.code_object import compile_code_object
from imbrex.cdna.code_object import CodeObject, load_code_object
from imbrex.cdna.execute import Launch, Memory, execute

LANES = 64
TYPES = {"float": np.float32, "double": np.float64, "_Float16": np.float16}
TEXT = "".join(
    f'extern "C" __attribute__((amdgpu_kernel)) void of_{name}({name} *a, {name} *b, {name} *c) {{\n'
    f"  const int i = __builtin_amdgcn_workgroup_id_x() * {LANES} + __builtin_amdgcn_workitem_id_x();\n"
    "  c[i] = a[i] / b[i];\n}\n"
    for name in TYPES
)


@pytest.fixture(scope="module")
def code(tmp_path_factory: pytest.TempPathFactory) -> CodeObject:
    folder = tmp_path_factory.mktemp("division")
    return load_code_object(compile_code_object({"d.cpp": TEXT}, "d.cpp", "gfx942", folder).read_bytes())


@pytest.mark.parametrize("name", TYPES)
def test_a_quotient_is_ieees(name: str, code: CodeObject) -> None:
    kind = np.finfo(TYPES[name])
    least = [kind.smallest_subnormal, 5 * kind.smallest_subnormal, kind.tiny / 2, kind.tiny, 3 * kind.tiny]
    middle = [1 / 3, 1, 1 + kind.eps, 3, 7.5, np.sqrt(kind.max), kind.max / 3, kind.max / 2, kind.max]
    each = np.array([0, *least, *middle, np.inf], TYPES[name])
    one = np.array([*each, *-each[:-1], np.nan], TYPES[name])
    a, b = (side.ravel() for side in np.meshgrid(one, one))
    a, b = np.resize(a, 16 * LANES), np.resize(b, 16 * LANES)
    found = np.zeros_like(a)
    with np.errstate(all="ignore"):
        wanted = a / b
    arrays = (a, b, found)
    pointers = [array.ctypes.data.to_bytes(8, "little") for array in arrays]
    owned = [Memory(array.ctypes.data, array.nbytes) for array in arrays]
    execute(code, f"of_{name}", Launch((16,), (LANES,)), pointers, owned)
    near = np.where(np.abs(wanted) < kind.tiny, kind.smallest_subnormal, 0)  # that is rounded twice
    with np.errstate(invalid="ignore"):
        is_near = np.abs(found - wanted) <= near
    is_right = (found == wanted) | (np.isnan(found) & np.isnan(wanted)) | is_near
    is_right &= np.isnan(wanted) | (np.signbit(found) == np.signbit(wanted))
    wrong = zip(*(one[~is_right].tolist() for one in (a, b, found, wanted)), strict=True)
    assert not list(wrong)
