// Nothing to pack: channels run fastest in both arrays that are read, in whole packs.
// RUN: imbrex-opt %s -p channels-last --split-input-file --verify-diagnostics | filecheck %s

func.func @already(%filter: memref<4x3x3x8xf16>, %input: memref<2x6x7x8xf16>, %output: memref<2x4x4x5xf16>) {
  // CHECK: error: there is nothing to pack: channels run fastest in all that is read, in whole packs of 16 bytes; leave the key out
  miopen.conv2d(%filter, %input, %output) {
    filter_layout = ["k", "y", "x", "c"], input_layout = ["n", "hi", "wi", "c"],
    output_layout = ["n", "k", "ho", "wo"], dilations = [1, 1], strides = [1, 1], padding = [0, 0], channels_last = true
  } : memref<4x3x3x8xf16>, memref<2x6x7x8xf16>, memref<2x4x4x5xf16>
  func.return
}

// -----
func.func @unsized(%filter: memref<4x?x3x3xf16>, %input: memref<2x8x6x7xf16>, %output: memref<2x4x4x5xf16>) {
  // CHECK: error: sizes are not known here; run 'specialise' first
  miopen.conv2d(%filter, %input, %output) {
    filter_layout = ["k", "c", "y", "x"], input_layout = ["n", "c", "hi", "wi"],
    output_layout = ["n", "k", "ho", "wo"], dilations = [1, 1], strides = [1, 1], padding = [0, 0], channels_last = true
  } : memref<4x?x3x3xf16>, memref<2x8x6x7xf16>, memref<2x4x4x5xf16>
  func.return
}

// -----
func.func @adds(%filter: memref<8x4x3x3xf32>, %input: memref<2x4x6x7xf32>, %output: memref<2x8x4x5xf32>) {
  // CHECK: error: 'channels_last' packs for v4r1; leave it or the algorithm out
  miopen.conv2d_bwd_data(%filter, %input, %output) {
    filter_layout = ["k", "c", "y", "x"], input_layout = ["n", "c", "hi", "wi"],
    output_layout = ["n", "k", "ho", "wo"], dilations = [1, 1], strides = [1, 1], padding = [0, 0],
    algorithm = "v1r1", channels_last = true
  } : memref<8x4x3x3xf32>, memref<2x4x6x7xf32>, memref<2x8x4x5xf32>
  func.return
}
