// A work item of a wave: packs from LDS, matrix instructions, and copies that transpose or go past the registers.
// RUN: imbrex-opt %s -p 'affix-tuning{config="v1:xdlops:64,64,4,32,32,8,mfma_f32_32x32x8_f16"},gridwise-to-blockwise,blockwise-to-threadwise,cse' --compact | filecheck %s
// RUN: imbrex-opt %s -p 'affix-tuning{config="v1:xdlops:64,64,4,32,32,8,mfma_f32_32x32x8_f16,xor,staged,swapped"},gridwise-to-blockwise,blockwise-to-threadwise,cse' --compact | filecheck %s --check-prefix TURNED
// RUN: not imbrex-opt %s -p 'affix-tuning{config="v1:xdlops:64,64,4,32,32,8,mfma_f32_32x32x8_f16,xor,direct"}' 2>&1 | filecheck %s --check-prefix ALONG

func.func @product(%a: memref<64x32xf16>, %b: memref<32x64xf16>, %c: memref<64x64xf16>) {
  %at = miopen.transform(%a) { layout = [0: passthrough(1: k), gemmK, 1: passthrough(0: m), gemmM] } : memref<64x32xf16> to memref<32x64xf16>
  miopen.gridwise_gemm(%at, %b, %c)
  func.return
}

// A is read and written in packs of 8 along k.
// CHECK:      %thread_staged = miopen.alloc() : memref<1x1x1x8xf16, #5>
// CHECK-NEXT: miopen.threadwise_copy(%slices_m_step_workgroup_workitem_k_repeat_m_repeat_m_item_k_item[%c0, %wg, %item], %thread_staged) { vector = 8 }
// CHECK-NEXT: miopen.threadwise_copy(%thread_staged, %slices_m_workitem_k_repeat_m_repeat_m_item_k_item[%item]) { vector = 8 }

// B's memory runs along n: read in vectors along n, transposed in registers, written along k.
// CHECK-NEXT: %thread_staged_1 = miopen.alloc() : memref<1x1x2x4xf16, #5>
// CHECK-NEXT: miopen.threadwise_copy(%slices_n_step_workgroup_workitem_k_repeat_n_repeat_k_item_n_item[%c0, %wg, %item], %thread_staged_1) { vector = 4 }
// CHECK-NEXT: %turned_k_repeat_repeat_item_k_item = miopen.transform(%thread_staged_1) {
// CHECK:      %thread_turned = miopen.alloc() : memref<1x1x4x2xf16, #5>
// CHECK-NEXT: miopen.threadwise_copy(%turned_k_repeat_repeat_item_k_item, %thread_turned) : memref<1x1x4x2xf16, #5>, memref<1x1x4x2xf16, #5>
// CHECK-NEXT: miopen.threadwise_copy(%thread_turned, %slices_n_workitem_k_repeat_n_repeat_n_item_k_item[%item]) { vector = 2 }

// CHECK:      miopen.lds_barrier()
// CHECK-NEXT: %thread_a = miopen.alloc() : memref<1x8xf16, #5>
// CHECK-NEXT: %thread_a_m_tile_slot_register = miopen.transform(%thread_a) {
// CHECK:        [1, 2]: unmerge(1: slot), [slot, register]
// CHECK:      } : memref<1x8xf16, #5> to memref<1x2x4xf16, #5>
// CHECK:      scf.for %k_outer = %c0 to %c2 step %c1 {
// CHECK-NEXT:   scf.for %m_tile = %c0 to %c1 step %c1 {
// CHECK-NEXT:     miopen.threadwise_copy(%fragment_a_workitem_k_outer_m_tile_slot[%item, %k_outer, %m_tile], %thread_a[%m_tile]) { vector = 8 } : memref<256x2x1x8xf16, #3>, memref<1x8xf16, #5>
// CHECK-NEXT:   }
// CHECK-NEXT:   scf.for %n_tile = %c0 to %c1 step %c1 {
// CHECK-NEXT:     miopen.threadwise_copy(%fragment_b_workitem_k_outer_n_tile_slot[%item, %k_outer, %n_tile], %thread_b[%n_tile]) { vector = 8 }
// CHECK-NEXT:   }
// CHECK-NEXT:   scf.for %slot = %c0 to %c2 step %c1 {
// CHECK-NEXT:     scf.for %m_tile_1 = %c0 to %c1 step %c1 {
// CHECK-NEXT:       scf.for %n_tile_1 = %c0 to %c1 step %c1 {
// CHECK-NEXT:         miopen.mfma(%thread_a_m_tile_slot_register[%m_tile_1, %slot], %thread_b_n_tile_slot_register[%n_tile_1, %slot], %thread_c[%m_tile_1, %n_tile_1]) { instruction = "mfma_f32_32x32x8_f16" } : memref<1x2x4xf16, #5>, memref<1x2x4xf16, #5>, memref<1x1x16xf32, #5>

// Swapped, four neighbours of C are one store.
// TURNED:     miopen.threadwise_copy(%thread_out, %c_workgroup_workitem_m_group_n_tile_register_group_neighbour[%wg, %item]) { vector = 4 } : memref<1x1x4x4xf32, #5>, memref<1x256x1x1x4x4xf16>

// ALONG: error: miopen.gridwise_gemm: tuning v1:xdlops:64,64,4,32,32,8,mfma_f32_32x32x8_f16,xor,direct is illegal: a direct copy of b takes 2 (4 bytes) aligned neighbours in k; it has 1; say staged
