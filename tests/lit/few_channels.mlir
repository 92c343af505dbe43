// Convolutions of few channels: rows of windows as stretches, groups together, depthwise ones by vectors of channels.
// RUN: imbrex-opt %s -p window-rows,merge-groups,channel-vectors,conv-to-gemm,unfold --split-input-file | filecheck %s

// Eight taps of four channels make 64 bytes, or four of them 32: the shorter ones waste less of three taps.
// CHECK-LABEL: func.func @rows
// CHECK:       %packed_filter = miopen.workspace() : memref<8x3x1x16xf16>
// CHECK:       %packed_input = miopen.workspace() : memref<1x9x10x4xf16>
// CHECK:       miopen.launch
// CHECK:       miopen.gridwise_gemm(
func.func @rows(%filter: memref<8x3x3x3xf16>, %input: memref<1x8x8x3xf16>, %output: memref<1x4x4x8xf16>) {
  miopen.conv2d(%filter, %input, %output) {
    filter_layout = ["k", "y", "x", "c"], input_layout = ["n", "hi", "wi", "c"], output_layout = ["n", "ho", "wo", "k"],
    dilations = [1, 1], strides = [2, 2], padding = [1, 1], window_rows = true
  } : memref<8x3x3x3xf16>, memref<1x8x8x3xf16>, memref<1x4x4x8xf16>
  func.return
}

// -----

// The filter's two groups stand on the diagonal: where both numbers are the same, 2 * a + b is a multiple of 3.
// CHECK-LABEL: func.func @together
// CHECK:       %merged_filter = miopen.workspace() : memref<2x8x1x1x8xf16>
// CHECK:       transformation = "quotient",
// CHECK:       miopen.launch
// CHECK:       miopen.gridwise_gemm(
func.func @together(%filter: memref<4x4x1x1x4xf16>, %input: memref<1x4x4x4x4xf16>, %output: memref<1x4x4x4x4xf16>) {
  miopen.conv2d(%filter, %input, %output) {
    filter_layout = ["g", "k", "y", "x", "c"], input_layout = ["n", "hi", "wi", "g", "c"],
    output_layout = ["n", "ho", "wo", "g", "k"], dilations = [1, 1], strides = [1, 1], padding = [0, 0], merged_groups = 2
  } : memref<4x4x1x1x4xf16>, memref<1x4x4x4x4xf16>, memref<1x4x4x4x4xf16>
  func.return
}

// -----

// A work item has four groups of a row of four; its window has three rows, one for each tap.
// CHECK-LABEL: func.func @vectors
// CHECK-NOT:   miopen.workspace
// CHECK:       miopen.launch
// CHECK:         %thread_sums = miopen.alloc() : memref<1x4x4xf32, #5>
// CHECK:         scf.for %image
// CHECK:           miopen.threadwise_gemm(%taps_0_slot_y_k_m[%c3, %c0],
// CHECK:           miopen.threadwise_gemm(%taps_0_slot_y_k_m[%c3, %c2],
// CHECK:           miopen.threadwise_copy(%thread_sums[%c0],
// CHECK-NOT:   miopen.launch
// CHECK-NOT:   miopen.gridwise_gemm
func.func @vectors(%filter: memref<16x1x3x1x1xf16>, %input: memref<1x4x4x16x1xf16>, %output: memref<1x4x4x16x1xf16>) {
  miopen.conv2d(%filter, %input, %output) {
    filter_layout = ["g", "k", "y", "x", "c"], input_layout = ["n", "hi", "wi", "g", "c"],
    output_layout = ["n", "ho", "wo", "g", "k"], dilations = [1, 1], strides = [1, 1], padding = [1, 0], channel_vectors = true
  } : memref<16x1x3x1x1xf16>, memref<1x4x4x16x1xf16>, memref<1x4x4x16x1xf16>
  func.return
}
