/* $name: kernels of Imbrex $version for $target.  Families:
$listed

   A family is a problem whose rows (m of a product; n, the images, of a convolution; g, the matrices, of a
   batch) may be as many as its kernels have, "1 to 64" any number of that range, or sums of these; one without ?
   takes 1. */
#ifndef ${shout}_H
#define ${shout}_H
#include <stdint.h>

#define ${shout}_ABI $abi
#define ${shout}_FAMILIES $families

enum {
  ${shout}_OK = 0,
  ${shout}_NO_MEMORY = 1,  /* of a workspace or of a thread's panels */
  ${shout}_NOT_SERVED = 2, /* no such family, or no kernels that add up to these rows; nothing was written */
$codes
};

#ifdef __cplusplus
extern "C" {
#endif

/* ${shout}_ABI of the library that was loaded. */
int ${symbol}_abi(void);

/* The problem of a family, with ? for its rows; NULL where there is none. */
const char *${symbol}_text(int family);

/* The family of a problem's line, and in *rows the number that it has for ?; -1 where there is none.  A line is
   one of the list above or of MIOpenDriver, of one direction: flags in any order, by any of their names, usual
   values left out, flags that change nothing of what is computed passed over.  What a line of hipblaslt-bench or
   rocblas-bench, JSON or IR is here, `imbrex capture "LINE"` prints. */
int ${symbol}_find(const char *problem, int64_t *rows);

/* ${shout}_OK where ${symbol}_run would run, else ${shout}_NOT_SERVED. */
int ${symbol}_serves(int family, int64_t rows);

/* Runs: arrays in the order of the list above, row-major, and dense where it has no strides,
   $how
   Calls may come from several threads at once. */
int ${symbol}_run(int family, int64_t rows, void *const *arrays, $argument);
$more
#ifdef __cplusplus
}
#endif
#endif
