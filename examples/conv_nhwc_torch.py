"""Channels-last tensors of PyTorch: read in place, answered in kind.  Needs torch."""

import torch

import imbrex

torch.manual_seed(0)
images = torch.randn(2, 16, 28, 28).to(memory_format=torch.channels_last)
filters = torch.randn(32, 16, 3, 3).to(memory_format=torch.channels_last)

# Indexed as NCHW, but lying as NHWC: Imbrex compiles for the memory, so that nothing is copied or permuted.
ours = imbrex.conv2d(images, filters, stride=2, padding=1)
theirs = torch.conv2d(images, filters, stride=2, padding=1)
print(
    type(ours).__name__,
    tuple(ours.shape),
    "channels last:",
    ours.is_contiguous(memory_format=torch.channels_last),
)
print(f"largest difference from torch: {(ours - theirs).abs().max():.1e}")

half = imbrex.conv2d(images.bfloat16(), filters.bfloat16(), stride=2, padding=1)
print(half.dtype, f"{(half.float() - theirs).abs().max():.1e}")
