// A program that uses a library of kernels, made by
//   imbrex build --library net "gemm -m 4 -n 8 -k 16" "gemm -m 1 -n 8 -k 16" -o net
// and compiled by
//   c++ examples/library.cpp -I net net/libnet.so -Wl,-rpath,net -lpthread
#include "net.h"
#include <stdio.h>

int main() {
  int64_t rows = 0;
  const int family = imbrex_net_find("gemm -t f32 -m 6 -n 8 -k 16 -transA 0 -transB 0 -g 1", &rows);
  if (imbrex_net_abi() != IMBREX_NET_ABI || imbrex_net_serves(family, rows) != IMBREX_NET_OK) return 1;
  static float a[6 * 16], b[16 * 8], c[6 * 8];
  for (int i = 0; i < 6 * 16; ++i) a[i] = float(i / 16);
  for (float &element : b) element = 0.5f;
  void *const arrays[] = {a, b, c};
  const int status = imbrex_net_run(family, rows, arrays, 1); // of 4 rows, then twice of 1
  printf("%lld rows, code %d, last element %g\n", (long long)rows, status, double(c[47]));
  return status != IMBREX_NET_OK || c[47] != 40.0f;
}
