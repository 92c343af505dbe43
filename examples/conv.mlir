// A convolution of 1 x 2 x 6 x 6 images with 8 filters of 2 x 3 x 3; every pass of imbrex-opt begins with such a text.
//
//     imbrex-opt examples/conv.mlir -p conv-to-gemm,unfold --compact
//     imbrex-opt examples/conv.mlir -p conv-to-gemm,unfold --execute --compare examples/conv.mlir
//     imbrex run examples/conv.mlir
func.func @conv(%filter: memref<8x2x3x3xf32>, %input: memref<1x2x6x6xf32>, %output: memref<1x8x4x4xf32>) {
  miopen.conv2d(%filter, %input, %output) {
    filter_layout = ["k", "c", "y", "x"],
    input_layout = ["n", "c", "hi", "wi"],
    output_layout = ["n", "k", "ho", "wo"],
    dilations = [1, 1],
    strides = [1, 1],
    padding = [0, 0]
  } : memref<8x2x3x3xf32>, memref<1x2x6x6xf32>, memref<1x8x4x4xf32>
  func.return
}
