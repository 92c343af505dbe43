// linalg's convolutions and products become the dialect's; what has no counterpart says so.
// RUN: imbrex-opt %s -p linalg-to-miopen --split-input-file --verify-diagnostics | filecheck %s

// CHECK-LABEL: @nchw
// CHECK-NEXT:    %zero = arith.constant
// CHECK-NEXT:    miopen.conv2d(%filter, %input, %output) {
// CHECK-NEXT:      filter_layout = ["k", "c", "y", "x"],
// CHECK-NEXT:      input_layout = ["n", "c", "hi", "wi"],
// CHECK-NEXT:      output_layout = ["n", "k", "ho", "wo"],
// CHECK-NEXT:      dilations = [1, 1],
// CHECK-NEXT:      strides = [2, 3],
// CHECK-NEXT:      padding = [0, 0]
// CHECK-NEXT:    } : memref<4x8x3x3xf32>, memref<1x8x10x10xf32>, memref<1x4x4x3xf32>
// CHECK-NEXT:    func.return
func.func @nchw(%input: memref<1x8x10x10xf32>, %filter: memref<4x8x3x3xf32>, %output: memref<1x4x4x3xf32>) {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%output : memref<1x4x4x3xf32>)
  linalg.conv_2d_nchw_fchw {dilations = dense<1> : tensor<2xi64>, strides = dense<[2, 3]> : tensor<2xi64>}
    ins(%input, %filter : memref<1x8x10x10xf32>, memref<4x8x3x3xf32>) outs(%output : memref<1x4x4x3xf32>)
  func.return
}

// CHECK-LABEL: @nhwc
// CHECK:           filter_layout = ["y", "x", "c", "k"],
// CHECK-NEXT:      input_layout = ["n", "hi", "wi", "c"],
// CHECK-NEXT:      output_layout = ["n", "ho", "wo", "k"],
// CHECK-NEXT:      dilations = [2, 2],
// CHECK-NEXT:      strides = [1, 1],
// CHECK:         } : memref<3x3x8x4xf32>, memref<?x10x10x8xf32>, memref<?x6x6x4xf32>
func.func @nhwc(%input: memref<?x10x10x8xf32>, %filter: memref<3x3x8x4xf32>, %output: memref<?x6x6x4xf32>) {
  linalg.conv_2d_nhwc_hwcf {dilations = dense<2> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>}
    ins(%input, %filter : memref<?x10x10x8xf32>, memref<3x3x8x4xf32>) outs(%output : memref<?x6x6x4xf32>)
  func.return
}

// CHECK-LABEL: @grouped
// CHECK:           filter_layout = ["g", "k", "c", "y", "x"],
// CHECK-NEXT:      input_layout = ["n", "g", "c", "hi", "wi"],
// CHECK-NEXT:      output_layout = ["n", "g", "k", "ho", "wo"],
func.func @grouped(%input: memref<1x2x4x5x5xf32>, %filter: memref<2x3x4x1x1xf32>, %output: memref<1x2x3x5x5xf32>) {
  linalg.conv_2d_ngchw_gfchw {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>}
    ins(%input, %filter : memref<1x2x4x5x5xf32>, memref<2x3x4x1x1xf32>) outs(%output : memref<1x2x3x5x5xf32>)
  func.return
}

// CHECK-LABEL: @draft
// CHECK-NEXT:    miopen.conv2d(%filter, %input, %output) {
// CHECK-NEXT:      filter_layout = ["k", "c", "y", "x"],
// CHECK:           dilations = [1, 1],
// CHECK-NEXT:      strides = [2, 2],
// CHECK-NEXT:      padding = [1, 1]
func.func @draft(%filter: memref<?x?x?x?xf32>, %input: memref<?x?x?x?xf32>, %output: memref<?x?x?x?xf32>) {
  linalg.conv(%filter, %input, %output) { strides = [2, 2], padding = [1, 1] }
    : memref<?x?x?x?xf32>, memref<?x?x?x?xf32>, memref<?x?x?x?xf32>
  func.return
}

// CHECK-LABEL: @product
// CHECK-NEXT:    miopen.gemm(%a, %b, %c) { beta = 1.0 } : memref<4x8xf32>, memref<8x5xf32>, memref<4x5xf32>
func.func @product(%a: memref<4x8xf32>, %b: memref<8x5xf32>, %c: memref<4x5xf32>) {
  linalg.matmul ins(%a, %b: memref<4x8xf32>, memref<8x5xf32>) outs(%c: memref<4x5xf32>)
  func.return
}

// -----
// CHECK:      linalg_to_miopen.mlir:{{[0-9]+}}:8: error: linalg.conv_2d_nchw_fchw: an operand is tensor<1x8x10x10xf32>; miopen works on memrefs: bufferize first
// CHECK-NEXT: %0 = linalg.conv_2d_nchw_fchw
// CHECK-NEXT: ^^^^
func.func @tensors(%i: tensor<1x8x10x10xf32>, %f: tensor<4x8x3x3xf32>, %o: tensor<1x4x8x8xf32>) {
       %0 = linalg.conv_2d_nchw_fchw {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>}
    ins(%i, %f : tensor<1x8x10x10xf32>, tensor<4x8x3x3xf32>) outs(%o : tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf32>
  func.return
}

// -----
// CHECK: error: linalg.conv_2d_nchw_fchw: adds to an output that is filled with another value than 0; conv2d overwrites it
func.func @filled(%i: memref<1x8x10x10xf32>, %f: memref<4x8x3x3xf32>, %o: memref<1x4x8x8xf32>) {
  %one = arith.constant 1.0 : f32
  linalg.fill ins(%one : f32) outs(%o : memref<1x4x8x8xf32>)
  linalg.conv_2d_nchw_fchw {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>}
    ins(%i, %f : memref<1x8x10x10xf32>, memref<4x8x3x3xf32>) outs(%o : memref<1x4x8x8xf32>)
  func.return
}

// -----
// CHECK: error: linalg.pooling_nchw_max: has no counterpart in miopen; there is one for linalg.conv_2d_nchw_fchw,
func.func @pooling(%i: memref<1x1x4x4xf32>, %f: memref<2x2xf32>, %o: memref<1x1x3x3xf32>) {
  linalg.pooling_nchw_max {dilations = dense<1> : vector<2xi64>, strides = dense<1> : vector<2xi64>}
    ins(%i, %f : memref<1x1x4x4xf32>, memref<2x2xf32>) outs(%o : memref<1x1x3x3xf32>)
  func.return
}

// -----
// CHECK:      linalg_to_miopen.mlir:{{[0-9]+}}:3: error: miopen.conv2d: 'ho' is 7; this convolution makes 8
// CHECK-NEXT: linalg.conv_2d_nchw_fchw
func.func @size(%i: memref<1x8x10x10xf32>, %f: memref<4x8x3x3xf32>, %o: memref<1x4x7x8xf32>) {
  linalg.conv_2d_nchw_fchw {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>}
    ins(%i, %f : memref<1x8x10x10xf32>, memref<4x8x3x3xf32>) outs(%o : memref<1x4x7x8xf32>)
  func.return
}
