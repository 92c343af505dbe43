// The product of a packed block of A and a packed block of B, added to (or put into) a C tile.
//
// A is m_panels panels of MR rows, B is n_panels panels of NV vectors, C is row-major.  One panel of A stays in L1
// while the panels of B stream past it from L2.  `a_panel_step`, `b_panel_step` are elements from panel to panel.
#pragma once
#include "micro.h"

namespace imbrex {

template <class T, int MR, int NV, a_layout Layout>
IMBREX_INLINE void block_gemm(int m_panels, int n_panels, int64_t k_count, const T *a, int64_t a_panel_step,
                              int64_t a_step, const T *b, int64_t b_panel_step, T *c, int64_t c_step,
                              bool accumulate) {
  for (int i = 0; i < m_panels; ++i)
    for (int j = 0; j < n_panels; ++j)
      micro_gemm<T, MR, NV, Layout>(k_count, a + i * a_panel_step, a_step, b + j * b_panel_step, NV * width<T>,
                                    c + i * MR * c_step + j * NV * width<T>, c_step, accumulate);
}
} // namespace imbrex
