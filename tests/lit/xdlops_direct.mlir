// Direct copies: LDS takes the lanes' vectors in their order, and the global index is what the layout's inverse says.
// RUN: imbrex-opt %s -p 'affix-tuning{config="v1:xdlops:32,32,4,32,32,8,mfma_f32_32x32x16_f16,xor,direct" target=gfx950},gridwise-to-blockwise,blockwise-to-threadwise,cse' --compact | filecheck %s

func.func @product(%a: memref<32x32xf16>, %b: memref<32x32xf16>, %c: memref<32x32xf16>) {
  %at = miopen.transform(%a) { layout = [0: passthrough(1: k), gemmK, 1: passthrough(0: m), gemmM] } : memref<32x32xf16> to memref<32x32xf16>
  %bt = miopen.transform(%b) { layout = [0: passthrough(1: k), gemmK, 1: passthrough(0: n), gemmN] } : memref<32x32xf16> to memref<32x32xf16>
  miopen.gridwise_gemm(%at, %bt, %c)
  func.return
}

// CHECK:      %direct_step_workgroup_m_k_chunk_slot = miopen.transform(%a_step_workgroup_k_m) {
// CHECK:        [3, 4]: unmerge(2: k), [k_chunk, slot]
// CHECK:      miopen.transform(%direct_step_workgroup_m_k_chunk_slot) {
// CHECK:        [2, 3]: xor(2: m, 3: k_chunk, 4), [m, k_chunk],
// CHECK:      %direct_step_workgroup_place = miopen.transform(
// CHECK:        2: merge(2: m, 3: k_chunk, 4: slot), place
// CHECK:      %direct_step_workgroup_repeat_wave_lane_element = miopen.transform(%direct_step_workgroup_place) {
// CHECK:        [2, 3, 4, 5]: unmerge(2: place), [repeat, wave, lane, element]
// CHECK:      %direct_workitem_repeat_element = miopen.transform(
// CHECK:      miopen.threadwise_copy(%direct_step_workgroup_workitem_repeat_element[%c0, %wg, %item], %direct_workitem_repeat_element[%item]) { vector = 8, direct = true } : memref<1x1x64x2x8xf16>, memref<64x2x8xf16, #3>
// CHECK-NOT:  thread_staged
