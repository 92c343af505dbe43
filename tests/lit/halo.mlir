// A convolution whose pixels come into shared memory once: a product over a raster, for the tuning that it names.
// RUN: imbrex-opt %s -p merge-groups,channels-last,halo,unfold --split-input-file | filecheck %s

// Two groups are one; the result's lines of 14 pixels are as long as 16, of which the last two are not stored.
// CHECK-LABEL: func.func @groups
// CHECK:       miopen.workspace() : memref<1x32x3x3x32xf16>
// CHECK:       miopen.gridwise_gemm(%filter_gemmG_gemmK_gemmM, %input_gemmG_gemmK_gemmN, %output_gemmG_gemmM_gemmN) {
// CHECK:         diagonal = 2,
// CHECK-NEXT:    tuning = {
// CHECK-NEXT:      kind = "halo",
// CHECK-NEXT:      images = 1,
// CHECK-NEXT:      rows = 4,
// CHECK-NEXT:      loaded = 6,
// CHECK-NEXT:      width = 16,
// CHECK-NEXT:      taps = 9,
// CHECK-NEXT:      channels = 32,
// CHECK-NEXT:      n_per_block = 32,
// CHECK-NEXT:      diagonal = 2,
// CHECK-NEXT:      stages = 16,
// CHECK-NEXT:      consumers = 2,
// CHECK-NEXT:      pingpong = true
// CHECK-NEXT:    }
func.func @groups(%filter: memref<2x16x3x3x16xf16>, %input: memref<1x14x14x2x16xf16>, %output: memref<1x14x14x2x16xf16>) {
  miopen.conv2d(%filter, %input, %output) {
    filter_layout = ["g", "k", "y", "x", "c"], input_layout = ["n", "hi", "wi", "g", "c"],
    output_layout = ["n", "ho", "wo", "g", "k"], dilations = [1, 1], strides = [1, 1], padding = [1, 1],
    halo = 2, merged_groups = 2
  } : memref<2x16x3x3x16xf16>, memref<1x14x14x2x16xf16>, memref<1x14x14x2x16xf16>
  func.return
}

// -----

// What does not ask for it stays as it is.
// CHECK-LABEL: func.func @plain
// CHECK:       miopen.conv2d(%filter, %input, %output) {
func.func @plain(%filter: memref<32x3x3x32xf16>, %input: memref<1x14x14x32xf16>, %output: memref<1x14x14x32xf16>) {
  miopen.conv2d(%filter, %input, %output) {
    filter_layout = ["k", "y", "x", "c"], input_layout = ["n", "hi", "wi", "c"],
    output_layout = ["n", "ho", "wo", "k"], dilations = [1, 1], strides = [1, 1], padding = [1, 1]
  } : memref<32x3x3x32xf16>, memref<1x14x14x32xf16>, memref<1x14x14x32xf16>
  func.return
}

// -----

// The tuning that the convolution has is taken.
// CHECK-LABEL: func.func @given
// CHECK:         tuning = {
// CHECK-NEXT:      kind = "lines",
// CHECK-NEXT:      images = 4,
func.func @given(%filter: memref<32x3x3x32xf16>, %input: memref<3x8x14x32xf16>, %output: memref<3x8x14x32xf16>) {
  miopen.conv2d(%filter, %input, %output) {
    filter_layout = ["k", "y", "x", "c"], input_layout = ["n", "hi", "wi", "c"],
    output_layout = ["n", "ho", "wo", "k"], dilations = [1, 1], strides = [1, 1], padding = [1, 1], halo = 1,
    tuning = {
      kind = "lines", images = 4, lines = 4, width = 16, window_rows = 3, window_columns = 3, channels = 32,
      n_per_block = 32, diagonal = 1, stages = 2, consumers = 2, pingpong = false
    }
  } : memref<32x3x3x32xf16>, memref<3x8x14x32xf16>, memref<3x8x14x32xf16>
  func.return
}
