"""JSON form: one object per problem, `{"version": 1, "problem": "conv2d", ...}`, by the names of the fields.

Law: from_json(p.to_json()) == p.  A field that has a default may be left out; an unknown key is an error.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any, cast

from imbrex.diagnostic import Diagnostic, did_you_mean
from imbrex.numeral import shown
from imbrex.problem.conv import Conv2d
from imbrex.problem.field import one_of
from imbrex.problem.gemm import Gemm

__all__ = ["from_json"]

_KINDS: dict[str, type[Conv2d] | type[Gemm]] = {"conv2d": Conv2d, "gemm": Gemm}


def from_json(value: object) -> Conv2d | Gemm:
    """The problem that a decoded JSON object describes."""
    if not isinstance(value, Mapping):
        raise Diagnostic(f"a problem is a JSON object, got {type(value).__name__}")
    given = dict(cast("Mapping[str, Any]", value))
    version: object = given.pop("version", 1)
    if version != 1:
        raise Diagnostic(f"unknown problem version {shown(version)}; this Imbrex reads 1", subject="version")
    if "problem" not in given:
        raise Diagnostic("missing key 'problem'", hint='give "problem": "conv2d" or "problem": "gemm"')
    kind = _KINDS[one_of("problem", given.pop("problem"), tuple(_KINDS))]
    parameters = inspect.signature(kind).parameters
    for key in given:
        if key not in parameters:
            raise Diagnostic(f"unknown key '{key}'", hint=did_you_mean(key, parameters), subject=key)
    for name, parameter in parameters.items():
        if parameter.default is parameter.empty and name not in given:
            raise Diagnostic(f"missing key '{name}'")
    return kind(**given)
