// Convolutions of groups of few channels on a CPU: an operation on views that say strides, dilations and pads.
// RUN: imbrex-opt %s -p window-vectors{strips=1,7,3,1,1} | filecheck %s

// CHECK-LABEL: func.func @pixels
// CHECK:       miopen.launch
// CHECK:         miopen.threadwise_windows(%filter_workgroup_workitem_y_x_depth_slot[
// CHECK-NOT:   miopen.conv2d
func.func @pixels(%filter: memref<5x1x1x3x3xf32>, %input: memref<1x5x1x6x7xf32>, %output: memref<1x5x1x3x7xf32>) {
  miopen.conv2d(%filter, %input, %output) {
    filter_layout = ["g", "k", "c", "y", "x"], input_layout = ["n", "g", "c", "hi", "wi"],
    output_layout = ["n", "g", "k", "ho", "wo"], dilations = [1, 1], strides = [2, 1], padding = [1, 1]
  } : memref<5x1x1x3x3xf32>, memref<1x5x1x6x7xf32>, memref<1x5x1x3x7xf32>
  func.return
}

// CHECK-LABEL: func.func @plain
// CHECK:       miopen.threadwise_windows(%filter, %window, %sums)
func.func @plain(%filter: memref<3x2x7x4xf32>, %window: memref<2x3x5x2x7x4xf32>, %sums: memref<2x5x4xf32>) {
  miopen.threadwise_windows(%filter, %window, %sums)
      : memref<3x2x7x4xf32>, memref<2x3x5x2x7x4xf32>, memref<2x5x4xf32>
  func.return
}

// CHECK-LABEL: func.func @plain_filter
// CHECK:       miopen.threadwise_filter_sums(%output, %window, %filter)
func.func @plain_filter(%output: memref<2x3x5x4xf32>, %window: memref<2x3x3x5x3x2x4xf32>, %filter: memref<3x3x2x4xf32>) {
  miopen.threadwise_filter_sums(%output, %window, %filter)
      : memref<2x3x5x4xf32>, memref<2x3x3x5x3x2x4xf32>, memref<3x3x2x4xf32>
  func.return
}

// CHECK-LABEL: func.func @filter
// CHECK:       miopen.launch
// CHECK:         miopen.threadwise_filter_sums(%output_
// CHECK-NOT:   miopen.conv2d
func.func @filter(%filter: memref<5x1x1x3x3xf32>, %input: memref<1x5x1x6x7xf32>, %output: memref<1x5x1x3x7xf32>) {
  miopen.conv2d_bwd_weight(%filter, %input, %output) {
    filter_layout = ["g", "k", "c", "y", "x"], input_layout = ["n", "g", "c", "hi", "wi"],
    output_layout = ["n", "g", "k", "ho", "wo"], dilations = [1, 1], strides = [2, 1], padding = [1, 1]
  } : memref<5x1x1x3x3xf32>, memref<1x5x1x6x7xf32>, memref<1x5x1x3x7xf32>
  func.return
}
