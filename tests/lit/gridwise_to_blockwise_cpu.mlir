// On a CPU a workgroup is one work item: it packs panels, multiplies them and stores its tile of C once.
// RUN: imbrex-opt %s -p 'affix-tuning{config="v1:cpu:4,16,8,32,16,16,k_blocked,b,straight" target=avx512},gridwise-to-blockwise' --compact | filecheck %s
// RUN: imbrex-opt %s -p 'affix-tuning{config="v1:cpu:4,16,8,32,16,16,k_major,a,straight" target=avx512},gridwise-to-blockwise' --compact | filecheck %s --check-prefix MAJOR

// B is stationary: all panels of A first, each row's 16 neighbours in k together, then B panel by panel.
// CHECK:      miopen.launch(%wg, %item) { grid_size = 8, block_size = 1 } do {
// CHECK-NEXT:   %a_step_workgroup_m_panel_k_outer_m_lane_k_inner = miopen.transform(%a_step_workgroup_k_m) {
// CHECK-NEXT:     layout = [
// CHECK-NEXT:       0: passthrough(0: step), step,
// CHECK-NEXT:       1: passthrough(1: workgroup), workgroup,
// CHECK-NEXT:       [3, 5]: unmerge(2: k), [k_outer, k_inner],
// CHECK-NEXT:       [2, 4]: unmerge(3: m), [m_panel, m_lane]
// CHECK-NEXT:     ]
// CHECK-NEXT:   } : memref<3x8x16x8xf32> to memref<3x8x2x1x4x16xf32>
// CHECK-NEXT:   %b_step_workgroup_n_panel_k_n_lane = miopen.transform(%b_step_workgroup_k_n) {
// CHECK:        } : memref<3x8x16x32xf32> to memref<3x8x2x16x16xf32>
// CHECK-NEXT:   %panels_a = miopen.alloc() : memref<2x1x4x16xf32, #3>
// CHECK-NEXT:   %panel_b = miopen.alloc() : memref<16x16xf32, #3>
// CHECK-NEXT:   %tile_c = miopen.alloc() : memref<8x32xf32, #5>
// CHECK-NEXT:   %c_n_panel_m_panel_m_lane_n_lane = miopen.transform(%tile_c) {
// CHECK-NEXT:     layout = [
// CHECK-NEXT:       [1, 2]: unmerge(0: m), [m_panel, m_lane],
// CHECK-NEXT:       [0, 3]: unmerge(1: n), [n_panel, n_lane]
// CHECK-NEXT:     ]
// CHECK-NEXT:   } : memref<8x32xf32, #5> to memref<2x2x4x16xf32, #5>
// CHECK-NEXT:   %0 = arith.constant 0.000000e+00 : f32
// CHECK-NEXT:   miopen.fill(%tile_c, %0) : memref<8x32xf32, #5>
// CHECK:        scf.for %step = %c0 to %c3 step %c1 {
// CHECK-NEXT:     miopen.blockwise_copy(%a_step_workgroup_m_panel_k_outer_m_lane_k_inner[%step, %wg], %panels_a)
// CHECK-NEXT:     %c2 = arith.constant 2 : index
// CHECK-NEXT:     scf.for %n_panel = %c0 to %c2 step %c1 {
// CHECK-NEXT:       miopen.blockwise_copy(%b_step_workgroup_n_panel_k_n_lane[%step, %wg, %n_panel], %panel_b)
// CHECK-NEXT:       miopen.blockwise_gemm(%panels_a, %panel_b, %c_n_panel_m_panel_m_lane_n_lane[%n_panel]) { pipeline = "cpu" } : memref<2x1x4x16xf32, #3>, memref<16x16xf32, #3>, memref<2x2x4x16xf32, #5>
// CHECK-NEXT:     }
// CHECK-NEXT:   }
// CHECK-NEXT:   miopen.threadwise_copy(%tile_c, %c_workgroup_m_n[%wg]) : memref<8x32xf32, #5>, memref<8x8x32xf32>
// CHECK-NEXT: }

// MAJOR:        %panel_a = miopen.alloc() : memref<16x4xf32, #3>
// MAJOR-NEXT:   %panels_b = miopen.alloc() : memref<2x16x16xf32, #3>
// MAJOR:        scf.for %step = %c0 to %c3 step %c1 {
// MAJOR-NEXT:     miopen.blockwise_copy(%b_step_workgroup_n_panel_k_n_lane[%step, %wg], %panels_b)
// MAJOR:          scf.for %m_panel = %c0 to %c2 step %c1 {
// MAJOR-NEXT:       miopen.blockwise_copy(%a_step_workgroup_m_panel_k_m_lane[%step, %wg, %m_panel], %panel_a)
// MAJOR-NEXT:       miopen.blockwise_gemm(%panel_a, %panels_b, %c_m_panel_n_panel_m_lane_n_lane[%m_panel]) {
func.func @product(%a: memref<40x32xf32>, %b: memref<40x64xf32>, %c: memref<32x64xf32>) {
  miopen.gridwise_gemm(%a, %b, %c) : memref<40x32xf32>, memref<40x64xf32>, memref<32x64xf32>
  func.return
}
