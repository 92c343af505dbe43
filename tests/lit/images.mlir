// Convolutions of images whose channels do not come last: what is copied of them, and what is read where it is.
// RUN: imbrex-opt %s -p whole-images,channels-last,conv-to-gemm{phases_apart=true},unfold --split-input-file | filecheck %s

// A plane of 4 x 10 elements of f16 is 80 bytes: 40 positions are counted up to 64, a row of shared memory.
// CHECK-LABEL: func.func @weight
// CHECK-NOT:   miopen.workspace
// CHECK:       parameters = [0, 24],
// CHECK:       miopen.gridwise_gemm(%output_gemmK_gemmM, %input_gemmK_gemmN, %filter_gemmM_gemmN) {
// CHECK-NEXT:    kernel_algorithm = "whole_images",
func.func @weight(%filter: memref<64x128x1x1xf16>, %input: memref<2x128x4x10xf16>, %output: memref<2x64x4x10xf16>) {
  miopen.conv2d_bwd_weight(%filter, %input, %output) {
    filter_layout = ["k", "c", "y", "x"], input_layout = ["n", "c", "hi", "wi"],
    output_layout = ["n", "k", "ho", "wo"], dilations = [1, 1], strides = [1, 1], padding = [0, 0], whole_images = 64
  } : memref<64x128x1x1xf16>, memref<2x128x4x10xf16>, memref<2x64x4x10xf16>
  func.return
}

// -----

// Of windows of one tap, every second row and column are read: so many are copied, and lie close to each other then.
// CHECK-LABEL: func.func @sampled
// CHECK:       %packed_input = miopen.workspace() : memref<2x4x4x16xf16>
// CHECK-NOT:   miopen.workspace
// CHECK:       miopen.gridwise_gemm(
// CHECK:         strides = [1, 1],
func.func @sampled(%filter: memref<8x16x1x1xf16>, %input: memref<2x16x8x8xf16>, %output: memref<2x8x4x4xf16>) {
  miopen.conv2d_bwd_weight(%filter, %input, %output) {
    filter_layout = ["k", "c", "y", "x"], input_layout = ["n", "c", "hi", "wi"],
    output_layout = ["n", "k", "ho", "wo"], dilations = [1, 1], strides = [2, 2], padding = [0, 0], input_last = true
  } : memref<8x16x1x1xf16>, memref<2x16x8x8xf16>, memref<2x8x4x4xf16>
  func.return
}

// -----

// Two taps a column and one a row: two phases; the rows of no phase are zeros, as what is read is guarded.
// CHECK-LABEL: func.func @apart
// CHECK:       %phase = miopen.workspace() : memref<1x8x3x4xf16>
// CHECK:       %phase_1 = miopen.workspace() : memref<1x8x3x4xf16>
// CHECK-COUNT-2: miopen.gridwise_gemm(
// CHECK:       miopen.launch
// CHECK-NOT:     miopen.fill
// CHECK:         miopen.threadwise_copy(%phase_workgroup_workitem_piece_column[%wg, %item], %thread_phase)
// CHECK:         miopen.threadwise_copy({{.*}}, %input_workgroup_workitem_piece_row_slot[%wg, %item])
func.func @apart(%filter: memref<8x8x1x2xf16>, %input: memref<1x8x6x8xf16>, %output: memref<1x8x3x4xf16>) {
  miopen.conv2d_bwd_data(%filter, %input, %output) {
    filter_layout = ["k", "c", "y", "x"], input_layout = ["n", "c", "hi", "wi"],
    output_layout = ["n", "k", "ho", "wo"], dilations = [1, 1], strides = [2, 2], padding = [0, 0]
  } : memref<8x8x1x2xf16>, memref<1x8x6x8xf16>, memref<1x8x3x4xf16>
  func.return
}

// -----

// CHECK-LABEL: func.func @together
// CHECK-NOT:   miopen.workspace
// CHECK:       miopen.gridwise_gemm(
func.func @together(%filter: memref<8x8x1x2xf16>, %input: memref<1x6x8x8xf16>, %output: memref<1x3x4x8xf16>) {
  miopen.conv2d_bwd_data(%filter, %input, %output) {
    filter_layout = ["k", "c", "y", "x"], input_layout = ["n", "hi", "wi", "c"],
    output_layout = ["n", "ho", "wo", "k"], dilations = [1, 1], strides = [2, 2], padding = [0, 0]
  } : memref<8x8x1x2xf16>, memref<1x6x8x8xf16>, memref<1x3x4x8xf16>
  func.return
}
