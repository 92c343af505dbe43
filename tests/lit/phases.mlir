// A strided gradient whose columns are written together: phases of a row share the tiles of one product.
// RUN: imbrex-opt %s -p 'conv-to-gemm{taps_first=true shared_phases=true},unfold' --split-input-file --compact | filecheck %s

// All rows are met: those of one residue are batches, of which the first has one tap of a column, the second two.
// CHECK-LABEL: func.func @window
// CHECK:       miopen.gridwise_gemm(%filter_gemmG_gemmK_gemmM, %output_gemmG_gemmK_gemmN, %input_gemmG_gemmM_gemmN) {
// CHECK-NEXT:    kernel_algorithm = "backward_data_v4r1",
// CHECK:         phases = { of = [1, 0, 1], rows = 1, run = 1, residues = 2, lengths = [8, 16] }
// CHECK:       memref<2x48x4xf16>, memref<2x48x32xf16>, memref<2x4x64xf16>
func.func @window(%filter: memref<4x3x3x8xf16>, %input: memref<2x4x8x8xf16>, %output: memref<2x4x4x8xf16>) {
  miopen.conv2d_bwd_data(%filter, %input, %output) {
    filter_layout = ["c", "y", "x", "k"], input_layout = ["n", "c", "hi", "wi"], output_layout = ["n", "ho", "wo", "k"],
    dilations = [1, 1], strides = [2, 2], padding = [1, 1]
  } : memref<4x3x3x8xf16>, memref<2x4x8x8xf16>, memref<2x4x4x8xf16>
  func.return
}

// -----

// A single tap meets one phase of four; the others are zeros of the same tiles, four elements of a row at a time.
// CHECK-LABEL: func.func @point
// CHECK:       phases = { of = [0], rows = 2, run = 4, residues = 2, lengths = [8] }
// CHECK:       memref<8x4xf16>, memref<8x32xf16>, memref<4x128xf16>
func.func @point(%filter: memref<4x1x1x8xf16>, %input: memref<2x4x8x8xf16>, %output: memref<2x4x4x8xf16>) {
  miopen.conv2d_bwd_data(%filter, %input, %output) {
    filter_layout = ["c", "y", "x", "k"], input_layout = ["n", "c", "hi", "wi"], output_layout = ["n", "ho", "wo", "k"],
    dilations = [1, 1], strides = [2, 2], padding = [0, 0]
  } : memref<4x1x1x8xf16>, memref<2x4x8x8xf16>, memref<2x4x4x8xf16>
  func.return
}
