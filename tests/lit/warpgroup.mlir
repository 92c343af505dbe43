// A product for warpgroups: the tuning's attributes, and one operation a workgroup, with a workspace where units are shared.
// RUN: imbrex-opt %s -p 'conv-to-gemm,affix-tuning{config="v1:warpgroup:128,64,64,4,2,2,1,cooperative,swapped,4" target=sm_90a}' --compact | filecheck %s --check-prefix TUNED
// RUN: imbrex-opt %s -p 'conv-to-gemm,affix-tuning{config="v1:warpgroup:128,64,64,4,2,2,1,cooperative,swapped,4" target=sm_90a},gridwise-to-blockwise,blockwise-to-threadwise' --compact | filecheck %s
// RUN: imbrex-opt %s -p 'conv-to-gemm,affix-tuning{config="v1:warpgroup:64,64,64,4,1,1,2,cooperative,straight,1" target=sm_90a schedule="stream_k:7"},gridwise-to-blockwise' --compact | filecheck %s --check-prefix SHARED
// RUN: imbrex-opt %s -p 'conv-to-gemm,affix-tuning{target=sm_90a}' --compact | filecheck %s --check-prefix CHOSEN
// RUN: imbrex-opt %s -p 'conv-to-gemm,affix-tuning{target=sm_90a family=general}' --compact | filecheck %s --check-prefix ITEMS
// RUN: not imbrex-opt %s -p 'conv-to-gemm,affix-tuning{config="v1:warpgroup:128,64,64,4,2,2,1,cooperative,swapped,4"}' 2>&1 | filecheck %s --check-prefix LACKS
// RUN: not imbrex-opt %s -p 'conv-to-gemm,affix-tuning{config="v1:xdlops:128,128,8,64,64,8" target=sm_90a}' 2>&1 | filecheck %s --check-prefix WAVES

func.func @product(%a: memref<300x200xf16>, %b: memref<200x520xf16>, %c: memref<300x520xf16>) {
  miopen.gemm(%a, %b, %c) { alpha = 2.0 }
  func.return
}

// Rows are gemmN: 520 of them make 5 tiles of 128, so 3 clusters of two, times 5 tiles of columns.
// TUNED:      miopen.gridwise_gemm_ex(%b_gemmK_gemmN, %a_gemmK_gemmM, %transposed_t_gemmN_t_gemmM) {
// TUNED-NEXT:   pipeline = "warpgroup",
// TUNED-NEXT:   tuning = {
// TUNED-NEXT:     kind = "warpgroup",
// TUNED-NEXT:     m_per_block = 128,
// TUNED-NEXT:     n_per_block = 64,
// TUNED-NEXT:     k_per_block = 64,
// TUNED-NEXT:     stages = 4,
// TUNED-NEXT:     consumers = 2,
// TUNED-NEXT:     cluster_m = 2,
// TUNED-NEXT:     cluster_n = 1,
// TUNED-NEXT:     pingpong = false,
// TUNED-NEXT:     swapped = true,
// TUNED-NEXT:     group = 4
// TUNED-NEXT:   },
// TUNED-NEXT:   matrix_a_source_vector_read_dim = 1,
// TUNED-NEXT:   matrix_b_source_vector_read_dim = 0,
// TUNED-NEXT:   clusters = 15,
// TUNED-NEXT:   alpha = 2.0
// TUNED-NEXT: } : memref<200x520xf16>, memref<200x300xf16>, memref<520x300xf16>

// CHECK-NOT:  miopen.workspace
// CHECK:      miopen.launch(%wg, %item) { grid_size = 30, block_size = 384 } do {
// CHECK-NEXT:   miopen.warpgroup_gemm(%b_gemmK_gemmN, %a_gemmK_gemmM, %transposed_t_gemmN_t_gemmM, %wg) {
// CHECK-NEXT:     pipeline = "warpgroup",
// CHECK-NEXT:     tuning = {
// CHECK-NEXT:       kind = "warpgroup",
// CHECK:            group = 4
// CHECK-NEXT:     },
// CHECK-NEXT:     matrix_a_source_vector_read_dim = 1,
// CHECK-NEXT:     matrix_b_source_vector_read_dim = 0,
// CHECK-NEXT:     clusters = 15,
// CHECK-NEXT:     alpha = 2.0
// CHECK-NEXT:   } : memref<200x520xf16>, memref<200x300xf16>, memref<520x300xf16>
// CHECK-NEXT: }

// SHARED:      %partial_sums = miopen.workspace() : memref<14x4096xf32>
// SHARED-NEXT: %flags = miopen.workspace() { zeroed = true } : memref<14xi32>
// SHARED-NEXT: miopen.launch(%wg, %item) { grid_size = 14, block_size = 256 } do {
// SHARED-NEXT:   miopen.warpgroup_gemm(%a_gemmK_gemmM, %b_gemmK_gemmN, %c_gemmM_gemmN, %wg, %partial_sums, %flags) {
// SHARED:          schedule = { mode = "stream_k", workgroups = 7 }

// CHOSEN: pipeline = "warpgroup"
// ITEMS:  pipeline = "ahead"
// LACKS:  error: miopen.gridwise_gemm: tuning v1:warpgroup:128,64,64,4,2,2,1,cooperative,swapped,4 is illegal: gfx942 has no warpgroup instructions, sm_90a has
// WAVES:  error: miopen.gridwise_gemm: tuning v1:xdlops:128,128,8,64,64,8 is illegal: no matrix instruction of sm_90a multiplies f16
