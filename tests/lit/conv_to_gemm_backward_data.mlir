// Backward data is one product a phase (v4r1), or one product that adds where windows overlap (v1r1).
// RUN: imbrex-opt %s -p conv-to-gemm --split-input-file --compact | filecheck %s

// A 3x3 window at stride 2 has 2 x 2 phases.  The first: taps 0 and 2, input rows and columns 1, 3, 5, 7.
// CHECK-LABEL: func.func @v4r1
// CHECK-NEXT:    %filter_k_c_yd_xd = miopen.transform(%filter) {
// CHECK-NEXT:      layout = [
// CHECK-NEXT:        0: passthrough(0: k), k,
// CHECK-NEXT:        1: passthrough(1: c), c,
// CHECK-NEXT:        2: embed(2: y, 1, [2, 0]), yd,
// CHECK-NEXT:        3: embed(3: x, 1, [2, 0]), xd
// CHECK-NEXT:      ]
// CHECK-NEXT:    } : memref<4x3x3x3xf32> to memref<4x3x2x2xf32>
// CHECK-NEXT:    %filter_gemmK_gemmM = miopen.transform(%filter_k_c_yd_xd) {
// CHECK-NEXT:      gridwise_gemm_argument_position = 0,
// CHECK-NEXT:      layout = [
// CHECK-NEXT:        0: merge(0: k, 2: yd, 3: xd), gemmK,
// CHECK-NEXT:        1: passthrough(1: c), gemmM
// CHECK-NEXT:      ]
// CHECK-NEXT:    } : memref<4x3x2x2xf32> to memref<16x3xf32>
// CHECK-NEXT:    %output_n_k_hopad_wopad = miopen.transform(%output) {
// CHECK-NEXT:      layout = [
// CHECK-NEXT:        0: passthrough(0: n), n,
// CHECK-NEXT:        1: passthrough(1: k), k,
// CHECK-NEXT:        2: pad(2: ho, 0, 1), hopad,
// CHECK-NEXT:        3: pad(3: wo, 0, 1), wopad
// CHECK-NEXT:      ]
// CHECK-NEXT:    } : memref<2x4x4x4xf32> to memref<2x4x5x5xf32>
// CHECK-NEXT:    %output_n_k_yd_ht_xd_wt = miopen.transform(%output_n_k_hopad_wopad) {
// CHECK-NEXT:      layout = [
// CHECK-NEXT:        0: passthrough(0: n), n,
// CHECK-NEXT:        1: passthrough(1: k), k,
// CHECK-NEXT:        [2, 3]: embed(2: hopad, 2, [-1, 1, 1]), [yd, ht],
// CHECK-NEXT:        [4, 5]: embed(3: wopad, 2, [-1, 1, 1]), [xd, wt]
// CHECK-NEXT:      ]
// CHECK-NEXT:    } : memref<2x4x5x5xf32> to memref<2x4x2x4x2x4xf32>
// CHECK-NEXT:    %output_gemmK_gemmN = miopen.transform(%output_n_k_yd_ht_xd_wt) {
// CHECK-NEXT:      gridwise_gemm_argument_position = 1,
// CHECK-NEXT:      layout = [
// CHECK-NEXT:        0: merge(1: k, 2: yd, 4: xd), gemmK,
// CHECK-NEXT:        1: merge(0: n, 3: ht, 5: wt), gemmN
// CHECK-NEXT:      ]
// CHECK-NEXT:    } : memref<2x4x2x4x2x4xf32> to memref<16x32xf32>
// CHECK-NEXT:    %input_n_c_ht_wt = miopen.transform(%input) {
// CHECK-NEXT:      layout = [
// CHECK-NEXT:        0: passthrough(0: n), n,
// CHECK-NEXT:        1: passthrough(1: c), c,
// CHECK-NEXT:        2: embed(2: hi, 1, [2, 1]), ht,
// CHECK-NEXT:        3: embed(3: wi, 1, [2, 1]), wt
// CHECK-NEXT:      ]
// CHECK-NEXT:    } : memref<2x3x8x8xf32> to memref<2x3x4x4xf32>
// CHECK-NEXT:    %input_gemmM_gemmN = miopen.transform(%input_n_c_ht_wt) {
// CHECK-NEXT:      gridwise_gemm_argument_position = 2,
// CHECK-NEXT:      layout = [
// CHECK-NEXT:        0: passthrough(1: c), gemmM,
// CHECK-NEXT:        1: merge(0: n, 2: ht, 3: wt), gemmN
// CHECK-NEXT:      ]
// CHECK-NEXT:    } : memref<2x3x4x4xf32> to memref<3x32xf32>
// CHECK-NEXT:    miopen.gridwise_gemm(%filter_gemmK_gemmM, %output_gemmK_gemmN, %input_gemmM_gemmN) {
// CHECK-NEXT:      kernel_algorithm = "backward_data_v4r1",
// CHECK:         } : memref<16x3xf32>, memref<16x32xf32>, memref<3x32xf32>

// The other three: fewer taps, the same number of rows and columns.
// CHECK:         2: embed(2: hi, 1, [2, 1]), ht,
// CHECK-NEXT:    3: embed(3: wi, 1, [2, 0]), wt
// CHECK:         } : memref<8x3xf32>, memref<8x32xf32>, memref<3x32xf32>
// CHECK:         2: embed(2: hi, 1, [2, 0]), ht,
// CHECK-NEXT:    3: embed(3: wi, 1, [2, 1]), wt
// CHECK:         } : memref<8x3xf32>, memref<8x32xf32>, memref<3x32xf32>
// CHECK:         2: embed(2: hi, 1, [2, 0]), ht,
// CHECK-NEXT:    3: embed(3: wi, 1, [2, 0]), wt
// CHECK:         } : memref<4x3xf32>, memref<4x32xf32>, memref<3x32xf32>
// CHECK-NEXT:    func.return
func.func @v4r1(%filter: memref<4x3x3x3xf32>, %input: memref<2x3x8x8xf32>, %output: memref<2x4x4x4xf32>) {
  miopen.conv2d_bwd_data(%filter, %input, %output) {
    filter_layout = ["k", "c", "y", "x"], input_layout = ["n", "c", "hi", "wi"],
    output_layout = ["n", "k", "ho", "wo"], dilations = [1, 1], strides = [2, 2], padding = [1, 1]
  } : memref<4x3x3x3xf32>, memref<2x3x8x8xf32>, memref<2x4x4x4xf32>
  func.return
}

// -----
// A 1x1 window at stride 2 leaves three of four elements out: zeros first, then one phase.
// CHECK-LABEL: func.func @holes
// CHECK-NEXT:    %0 = arith.constant 0.000000e+00 : f32
// CHECK-NEXT:    miopen.fill(%input, %0) : memref<2x3x8x8xf32>
// CHECK:         miopen.gridwise_gemm(
// CHECK-NOT:     miopen.gridwise_gemm(
// CHECK:         func.return
func.func @holes(%filter: memref<4x3x1x1xf32>, %input: memref<2x3x8x8xf32>, %output: memref<2x4x4x4xf32>) {
  miopen.conv2d_bwd_data(%filter, %input, %output) {
    filter_layout = ["k", "c", "y", "x"], input_layout = ["n", "c", "hi", "wi"], algorithm = "v4r1",
    output_layout = ["n", "k", "ho", "wo"], dilations = [1, 1], strides = [2, 2], padding = [0, 0]
  } : memref<4x3x1x1xf32>, memref<2x3x8x8xf32>, memref<2x4x4x4xf32>
  func.return
}

// -----
// CHECK-LABEL: func.func @v1r1
// CHECK-NEXT:    %0 = arith.constant 0.000000e+00 : f32
// CHECK-NEXT:    miopen.fill(%input, %0) : memref<2x3x8x8xf32>
// CHECK:         0: passthrough(0: k), gemmK,
// CHECK-NEXT:    1: merge(1: c, 2: y, 3: x), gemmM
// CHECK:         } : memref<4x3x3x3xf32> to memref<4x27xf32>
// CHECK:         0: passthrough(1: k), gemmK,
// CHECK-NEXT:    1: merge(0: n, 2: ho, 3: wo), gemmN
// CHECK:         2: pad(2: hi, 1, 1), hipad,
// CHECK-NEXT:    3: pad(3: wi, 1, 1), wipad
// CHECK:         [2, 3]: embed(2: hipad, 2, [1, 2, 0]), [y, ho],
// CHECK-NEXT:    [4, 5]: embed(3: wipad, 2, [1, 2, 0]), [x, wo]
// CHECK:         0: merge(1: c, 2: y, 4: x), gemmM,
// CHECK-NEXT:    1: merge(0: n, 3: ho, 5: wo), gemmN
// CHECK:         kernel_algorithm = "backward_data_v1r1",
// CHECK:         store_method = "atomic_add"
// CHECK-NEXT:    } : memref<4x27xf32>, memref<4x32xf32>, memref<27x32xf32>
func.func @v1r1(%filter: memref<4x3x3x3xf32>, %input: memref<2x3x8x8xf32>, %output: memref<2x4x4x4xf32>) {
  miopen.conv2d_bwd_data(%filter, %input, %output) {
    filter_layout = ["k", "c", "y", "x"], input_layout = ["n", "c", "hi", "wi"], algorithm = "v1r1",
    output_layout = ["n", "k", "ho", "wo"], dilations = [1, 1], strides = [2, 2], padding = [1, 1]
  } : memref<4x3x3x3xf32>, memref<2x3x8x8xf32>, memref<2x4x4x4xf32>
  func.return
}

// -----
// Windows of 2 at stride 2 do not overlap, and leave no pixel out: v1r1 stores, and needs no zeros.
// CHECK-LABEL: func.func @apart
// CHECK-NOT:     miopen.fill
// CHECK:         store_method = "set"
func.func @apart(%filter: memref<4x3x2x2xf32>, %input: memref<2x3x8x8xf32>, %output: memref<2x4x4x4xf32>) {
  miopen.conv2d_bwd_data(%filter, %input, %output) {
    filter_layout = ["k", "c", "y", "x"], input_layout = ["n", "c", "hi", "wi"], algorithm = "v1r1",
    output_layout = ["n", "k", "ho", "wo"], dilations = [1, 1], strides = [2, 2], padding = [0, 0]
  } : memref<4x3x2x2xf32>, memref<2x3x8x8xf32>, memref<2x4x4x4xf32>
  func.return
}
