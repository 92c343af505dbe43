// Backward weight whose pixels come into shared memory once: products over shares of them, and their sum.
// RUN: imbrex-opt %s -p merge-groups,channels-last,halo,unfold --split-input-file | filecheck %s

// Two groups are one; every share has the filter's own elements, the channels fastest, in the type of sums.
// CHECK-LABEL: func.func @groups
// CHECK:       %[[S:.*]] = miopen.workspace() : memref<{{[0-9]+}}x2x32x3x3x32xf32>
// CHECK:       miopen.gridwise_gemm(
// CHECK:         tuning = {
// CHECK-NEXT:      kind = "halo_weight",
// CHECK:       miopen.launch(
func.func @groups(%filter: memref<2x32x3x3x32xf16>, %input: memref<1x14x14x2x32xf16>, %output: memref<1x14x14x2x32xf16>) {
  miopen.conv2d_bwd_weight(%filter, %input, %output) {
    filter_layout = ["g", "k", "y", "x", "c"], input_layout = ["n", "hi", "wi", "g", "c"],
    output_layout = ["n", "ho", "wo", "g", "k"], dilations = [1, 1], strides = [1, 1], padding = [1, 1],
    halo = 2, merged_groups = 2
  } : memref<2x32x3x3x32xf16>, memref<1x14x14x2x32xf16>, memref<1x14x14x2x32xf16>
  func.return
}

// -----

// Out of the planes that groups of few channels lie in: nothing is copied, and no halo is loaded.
// CHECK-LABEL: func.func @planes
// CHECK-NOT:   packed
// CHECK:       %[[P:.*]] = miopen.workspace() : memref<{{[0-9]+}}x8x8x3x3x8xf32>
// CHECK:       kind = "halo_weight",
// CHECK-NEXT:  images = 1,
// CHECK-NEXT:  rows = 2,
// CHECK-NEXT:  loaded = 2,
// CHECK-NEXT:  width = 64,
// CHECK-NEXT:  taps = 9,
// CHECK-NEXT:  channels = 64,
// CHECK-NEXT:  diagonal = 4,
func.func @planes(%filter: memref<8x8x8x3x3xf16>, %input: memref<128x8x8x56x56xf16>, %output: memref<128x8x8x56x56xf16>) {
  miopen.conv2d_bwd_weight(%filter, %input, %output) {
    filter_layout = ["g", "k", "c", "y", "x"], input_layout = ["n", "g", "c", "hi", "wi"],
    output_layout = ["n", "g", "k", "ho", "wo"], dilations = [1, 1], strides = [1, 1], padding = [1, 1],
    halo = 8, merged_groups = 8
  } : memref<8x8x8x3x3xf16>, memref<128x8x8x56x56xf16>, memref<128x8x8x56x56xf16>
  func.return
}
