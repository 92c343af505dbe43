// On a CPU copies stay whole; the panels of the operand that streams go past the stationary one.
// RUN: imbrex-opt %s -p 'affix-tuning{config="v1:cpu:4,16,8,32,16,16,k_major,a,straight" target=avx512},gridwise-to-blockwise,blockwise-to-threadwise,cse' --compact | filecheck %s
// RUN: imbrex-opt %s -p 'affix-tuning{config="v1:cpu:4,16,8,32,16,16,k_blocked,b,straight" target=avx512},gridwise-to-blockwise,blockwise-to-threadwise,cse' --compact | filecheck %s --check-prefix BLOCKED

// CHECK:      scf.for %m_panel = %c0 to %c2 step %c1 {
// CHECK-NEXT:   miopen.threadwise_copy(%a_step_workgroup_m_panel_k_m_lane[%step, %wg, %m_panel], %panel_a) : memref<1x1x2x16x4xf32>, memref<16x4xf32, #3>
// CHECK-NEXT:   scf.for %n_panel = %c0 to %c2 step %c1 {
// CHECK-NEXT:     miopen.threadwise_gemm(%panel_a, %panels_b[%n_panel], %c_m_panel_n_panel_m_lane_n_lane[%m_panel, %n_panel]) : memref<16x4xf32, #3>, memref<2x16x16xf32, #3>, memref<2x2x4x16xf32, #5>
// CHECK-NEXT:   }
// CHECK-NEXT: }

// BLOCKED:      scf.for %n_panel = %c0 to %c2 step %c1 {
// BLOCKED-NEXT:   miopen.threadwise_copy(%b_step_workgroup_n_panel_k_n_lane[%step, %wg, %n_panel], %panel_b) : memref<1x1x2x16x16xf32>, memref<16x16xf32, #3>
// BLOCKED-NEXT:   scf.for %m_panel = %c0 to %c2 step %c1 {
// BLOCKED-NEXT:     miopen.threadwise_gemm(%panels_a[%m_panel], %panel_b, %c_n_panel_m_panel_m_lane_n_lane[%n_panel, %m_panel]) : memref<2x1x4x16xf32, #3>, memref<16x16xf32, #3>, memref<2x2x4x16xf32, #5>
func.func @product(%a: memref<16x8xf32>, %b: memref<16x32xf32>, %c: memref<8x32xf32>) {
  miopen.gridwise_gemm(%a, %b, %c) : memref<16x8xf32>, memref<16x32xf32>, memref<8x32xf32>
  func.return
}
