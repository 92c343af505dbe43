"""Every way to call a kernel on a GPU: graphs, streams, other libraries' arrays, and what is refused."""

from __future__ import annotations

from collections.abc import Callable

import pytest

pytestmark = pytest.mark.gpu

CALLS = (
    "new_results", "graphs", "streams", "given_stream", "alternating", "chains", "chains_with_bias",
    "chains_with_residual", "siblings", "host_arrays", "cupy_arrays", "unaligned",
    "with_gaps", "views", "other_strides", "another_type", "host_and_gpu", "controls",
    "every_size_is_right", "every_size_of_others_is_right", "bits_of_the_fixed_kernel",
    "every_number_of_images_is_right", "every_number_of_other_images_is_right",
    "every_number_of_images_of_gradients_is_right", "gradients_have_the_bits_of_the_fixed_kernel",
    "every_length_of_sums_is_right", "sums_have_the_bits_of_the_fixed_kernel",
    "images_have_the_bits_of_the_fixed_kernel", "tensors_tell_the_size", "graphs_of_sizes",
    "torch_ops_f16", "torch_ops_bf16", "torch_ops_f32", "torch_ops_f64", "torch_opcheck", "torch_fallback",
    "torch_graphs_and_streams", "torch_replaced_f16", "torch_replaced_f32", "torch_trained", "torch_compiled",
    "torch_measured", "torch_folded", "torch_any_batches",
)  # fmt: skip
"""Of `gpu_calls`, `gpu_order`, `gpu_sizes` and `gpu_torch`, which need torch."""


@pytest.mark.parametrize("name", CALLS)
def test_a_call(name: str, call_on_gpu: Callable[[str], None]) -> None:
    call_on_gpu(name)
