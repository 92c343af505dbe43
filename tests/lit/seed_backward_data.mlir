// Backward data (v1r1) as views and a gridwise product: the second draft's text, repaired.
// RUN: imbrex-opt %s | imbrex-opt | filecheck %s
// RUN: imbrex-opt %s --print-op-generic | imbrex-opt | filecheck %s
// RUN: imbrex-opt %s --compact | imbrex-opt | filecheck %s

func.func @bwd(%filter: memref<?x?x?x?xf32>, %input: memref<?x?x?x?xf32>, %output: memref<?x?x?x?xf32>) {
  miopen.conv2d_bwd_data(%filter, %input, %output) {
      filter_layout = ["k", "c", "y", "x"],
      input_layout = ["n", "c", "hi", "wi"],
      output_layout = ["n", "k", "ho", "wo"],
      dilations = [1, 1],
      strides = [1, 1],
      padding = [0, 0]
  } : memref<?x?x?x?xf32>,
      memref<?x?x?x?xf32>,
      memref<?x?x?x?xf32>
  %filter_gemmK_gemmM = miopen.transform(%filter) {
    gridwise_gemm_argument_position = 0,
    layout = [
      {
        dimensions = [0],
        names = ["gemmK"],
        transformation = "passthrough",
        source_dimensions = [0],
        source_names = ["k"]
      },
      {
        dimensions = [1],
        names = ["gemmM"],
        transformation = "merge",
        source_dimensions = [1, 2, 3],
        source_names = ["c", "y", "x"]
      }
    ],
    output_layout = ["gemmK", "gemmM"],
    source_layout = ["k", "c", "y", "x"]
  } : memref<?x?x?x?xf32> to memref<?x?xf32>
  %output_gemmK_gemmN = miopen.transform(%output) {
    gridwise_gemm_argument_position = 1,
    layout = [
      {
        dimensions = [0],
        names = ["gemmK"],
        transformation = "passthrough",
        source_dimensions = [1],
        source_names = ["k"]
      },
      {
        dimensions = [1],
        names = ["gemmN"],
        transformation = "merge",
        source_dimensions = [0, 2, 3],
        source_names = ["n", "ho", "wo"]
      }
    ],
    output_layout = ["gemmK", "gemmN"],
    source_layout = ["n", "k", "ho", "wo"]
  } : memref<?x?x?x?xf32> to memref<?x?xf32>
  %input_n_c_hipad_wipad = miopen.transform(%input) {
    layout = [
      {
        dimensions = [0],
        names = ["n"],
        transformation = "passthrough",
        source_dimensions = [0],
        source_names = ["n"]
      },
      {
        dimensions = [1],
        names = ["c"],
        transformation = "passthrough",
        source_dimensions = [1],
        source_names = ["c"]
      },
      {
        dimensions = [2],
        names = ["hipad"],
        transformation = "pad",
        parameters = [0, 0],
        source_dimensions = [2],
        source_names = ["hi"]
      },
      {
        dimensions = [3],
        names = ["wipad"],
        transformation = "pad",
        parameters = [0, 0],
        source_dimensions = [3],
        source_names = ["wi"]
      }
    ],
    output_layout = ["n", "c", "hipad", "wipad"],
    source_layout = ["n", "c", "hi", "wi"]
  } : memref<?x?x?x?xf32> to memref<?x?x?x?xf32>
  %input_n_c_y_ho_x_wo = miopen.transform(%input_n_c_hipad_wipad) {
    layout = [
        {
          dimensions = [0],
          names = ["n"],
          transformation = "passthrough",
          source_dimensions = [0],
          source_names = ["n"]
        },
        {
          dimensions = [1],
          names = ["c"],
          transformation = "passthrough",
          source_dimensions = [1],
          source_names = ["c"]
        },
        {
          dimensions = [2, 3],
          names = ["y", "ho"],
          transformation = "embed",
          parameters = [2, [1, 1, 0]],
          source_dimensions = [2],
          source_names = ["hipad"]
        },
        {
          dimensions = [4, 5],
          names = ["x", "wo"],
          transformation = "embed",
          parameters = [2, [1, 1, 0]],
          source_dimensions = [3],
          source_names = ["wipad"]
        }
    ],
    intermediate_layout = ["n", "c", "hipad", "wipad"],
    output_layout = ["n", "c", "y", "ho", "x", "wo"]
  } : memref<?x?x?x?xf32> to memref<?x?x?x?x?x?xf32>
  %input_gemmM_gemmN = miopen.transform(%input_n_c_y_ho_x_wo) {
    gridwise_gemm_argument_position = 2,
    layout = [
      {
        dimensions = [0],
        names = ["gemmM"],
        transformation = "merge",
        source_dimensions = [1, 2, 4],
        source_names = ["c", "y", "x"]
      },
      {
        dimensions = [1],
        names = ["gemmN"],
        transformation = "merge",
        source_dimensions = [0, 3, 5],
        source_names = ["n", "ho", "wo"]
      }
    ],
    intermediate_layout = ["n", "c", "y", "ho", "x", "wo"],
    output_layout = ["gemmM", "gemmN"]
  } : memref<?x?x?x?x?x?xf32> to memref<?x?xf32>
  miopen.gridwise_gemm(%filter_gemmK_gemmM, %output_gemmK_gemmN, %input_gemmM_gemmN) {
    kernel_algorithm = "backward_data_v1r1",
    filter_dimension = [?, ?, ?, ?],
    filter_layout = ["k", "c", "y", "x"],
    input_dimension = [?, ?, ?, ?],
    input_layout = ["n", "c", "hi", "wi"],
    output_dimension = [?, ?, ?, ?],
    output_layout = ["n", "k", "ho", "wo"],
    dilations = [1, 1],
    strides = [1, 1],
    padding = [[0, 0], [0, 0]]
  } : memref<?x?xf32>,
      memref<?x?xf32>,
      memref<?x?xf32>
  func.return
}

// CHECK:      miopen.conv2d_bwd_data(%filter, %input, %output) {
// CHECK:      %output_gemmK_gemmN = miopen.transform(%output) {
// CHECK-NEXT:   gridwise_gemm_argument_position = 1,
// CHECK:      %input_gemmM_gemmN = miopen.transform(%input_n_c_y_ho_x_wo) {
// CHECK-NEXT:   gridwise_gemm_argument_position = 2,
// CHECK:        intermediate_layout = ["n", "c", "y", "ho", "x", "wo"],
// CHECK-NEXT:   output_layout = ["gemmM", "gemmN"]
// CHECK:      miopen.gridwise_gemm(%filter_gemmK_gemmM, %output_gemmK_gemmN, %input_gemmM_gemmN) {
// CHECK:        kernel_algorithm = "backward_data_v1r1"
