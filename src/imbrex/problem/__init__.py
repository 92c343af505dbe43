"""Problem: what is to be computed, a convolution or a matrix product, before any thought of how.

The text forms are in `imbrex.problem.text`.
"""

from imbrex.problem.conv import Conv2d, Direction
from imbrex.problem.gemm import Gemm, GemmRole
from imbrex.problem.json_form import from_json
from imbrex.problem.layout import Layout, Role
from imbrex.problem.operand import GemmSizes, Operand
from imbrex.problem.text import parse_problem, problem_text

__all__ = [
    "Conv2d",
    "Direction",
    "Gemm",
    "GemmRole",
    "GemmSizes",
    "Layout",
    "Operand",
    "Problem",
    "Role",
    "from_json",
    "parse_problem",
    "problem_text",
]

Problem = Conv2d | Gemm
