// Copies of images whose channels are rounded up have more of them than the gradient of the filter, which is the same.
// RUN: imbrex-opt %s -p channels-last --execute --compare %s | filecheck %s
// RUN: imbrex-opt %s -p channels-last,conv-to-gemm --execute --compare %s | filecheck %s
// RUN: imbrex-opt %s -p channels-last | filecheck %s --check-prefix=PACKED

// CHECK: gives the same
// PACKED: %packed_output = miopen.workspace() : memref<2x5x5x16xf16>
// PACKED: %packed_input = miopen.workspace() : memref<2x7x6x16xf16>
func.func @f(%filter: memref<13x11x3x2xf16>, %input: memref<2x11x7x6xf16>, %output: memref<2x13x5x5xf16>) {
  miopen.conv2d_bwd_weight(%filter, %input, %output) {
    filter_layout = ["k", "c", "y", "x"], input_layout = ["n", "c", "hi", "wi"],
    output_layout = ["n", "k", "ho", "wo"], dilations = [1, 1], strides = [1, 1], padding = [0, 0], channels_last = true
  } : memref<13x11x3x2xf16>, memref<2x11x7x6xf16>, memref<2x13x5x5xf16>
  func.return
}
