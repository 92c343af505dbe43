/* Checks every kernel of $name against plain loops in double; written by imbrex build --library.

   $$ cc $${name}_test.c lib$name.so -lm -lpthread -Wl,-rpath,. && ./a.out [threads] */
#include "$name.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORK 4000000 /* multiply-adds that are done again for each problem */
#define MOST 12
#define SLOTS $epilogue_arrays
#define RUN(family, rows, arrays, threads) $run

typedef struct {
  int bytes, mantissa;          /* bits behind the leading one; -1 of whole numbers */
  unsigned long long one;       /* the bits of 1 */
  int64_t reach;                /* elements from the first to the last */
  int written, rank;
  int64_t shape[4], stride[4];
  int slot, along;              /* of an epilogue's array: which, and 0 nothing, 1 channels, 2 result, 3 rows */
} array;

typedef struct {
  const char *text;
  int family;
  int64_t rows;
  int count;
  array arrays[MOST];
  int64_t n[32];
  int64_t terms;
  double alpha, beta;
  double (*after)(double x, double *v); /* what it stores besides it puts into its array's place of v */
} problem;

static inline double after_negate(double x) { return -x; }
static inline double after_relu(double x) { return x > 0 ? x : 0; }
static inline double after_min(double x, double y) { return x < y ? x : y; }
static inline double after_max(double x, double y) { return x > y ? x : y; }
static inline double after_clamp(double x, double low, double high) { return after_min(after_max(x, low), high); }
static inline double after_abs(double x) { return fabs(x); }
static inline double after_tanh(double x) { return tanh(x); }
static inline double after_sigmoid(double x) { return 1 / (1 + exp(-x)); }
static inline double after_silu(double x) { return x / (1 + exp(-x)); }
static inline double after_softplus(double x) { return x > 0 ? x + log1p(exp(-x)) : log1p(exp(x)); }
static inline double after_hardswish(double x) { return x * after_clamp(x / 6 + 0.5, 0, 1); }
static inline double after_leaky_relu(double x, double slope) { return x > 0 ? x : slope * x; }
static inline double after_gelu(double x) { return 0.5 * x * erfc(-x / sqrt(2.0)); }
static inline double after_gelu_tanh(double x) {
  return x * after_sigmoid(sqrt(8 / 3.14159265358979323846) * (x + 0.044715 * x * x * x));
}

$functions

static const problem problems[] = {
$rows
};

static uint64_t bits_at(const array *a, const void *data, int64_t i) {
  uint64_t bits = 0;
  memcpy(&bits, (const char *)data + i * a->bytes, (size_t)a->bytes);
  return bits;
}

static double get(const array *a, const void *data, int64_t i) {
  const uint64_t bits = bits_at(a, data, i);
  const int width = 8 * a->bytes;
  if (a->mantissa < 0) {
    const uint64_t sign = 1ull << (width - 1);
    return width == 64 ? (double)(int64_t)bits : (double)(int64_t)((bits ^ sign) - sign);
  }
  const int m = a->mantissa, bias = (int)(a->one >> m);
  const int exponent = (int)((bits >> m) & ((1ull << (width - 1 - m)) - 1));
  const double fraction = ldexp((double)(bits & ((1ull << m) - 1)), -m);
  const double value = exponent == 0 ? ldexp(fraction, 1 - bias) : ldexp(1 + fraction, exponent - bias);
  return (bits >> (width - 1)) & 1 ? -value : value;
}

static void put(const array *a, void *data, int64_t i, int value) {
  uint64_t bits = (uint64_t)(int64_t)value;
  if (a->mantissa >= 0 && value != 0) {
    bits = a->one + (value == 2 || value == -2 ? 1ull << a->mantissa : 0);
    if (value < 0) bits |= 1ull << (8 * a->bytes - 1);
  }
  memcpy((char *)data + i * a->bytes, &bits, (size_t)a->bytes);
}

/* The element that a place, by the dimensions in the order k c y x, n c h w and n k ho wo, has in an array. */
static double of_conv(const problem *p, void *const *data, int which, const int64_t *at) {
  const int64_t *place = p->n + 17 + 4 * which;
  const array *a = p->arrays + which;
  int64_t i = 0;
  for (int d = 0; d < 4; ++d) i += at[d] * a->stride[place[d]];
  return get(a, data[which], i);
}

static double product(const problem *p, void *const *data, const int64_t *at) {
  const int64_t batch = p->n[1], k = p->n[4];
  const array *a = p->arrays, *b = p->arrays + 1;
  const int more = batch > 1;
  const int64_t g = more ? at[0] : 0, row = at[more], column = at[more + 1];
  const int64_t *sa = a->stride + more, *sb = b->stride + more;
  double sum = 0;
  for (int64_t i = 0; i < k; ++i) {
    const int64_t ia = g * (more ? a->stride[0] : 0) + (p->n[5] ? i * sa[0] + row * sa[1] : row * sa[0] + i * sa[1]);
    const int64_t ib =
        g * (more ? b->stride[0] : 0) + (p->n[6] ? column * sb[0] + i * sb[1] : i * sb[0] + column * sb[1]);
    sum += get(a, data[0], ia) * get(b, data[1], ib);
  }
  return sum;
}

static double convolution(const problem *p, void *const *data, const int64_t *at) {
  const int64_t *s = p->n + 1, *move = p->n + 10;
  const int64_t N = s[0], C = s[1], H = s[2], W = s[3], K = s[4], Y = s[5], X = s[6], P = s[7], Q = s[8];
  const int64_t pad_h = move[0], pad_w = move[1], u = move[2], v = move[3], l = move[4], j = move[5], G = move[6];
  const int64_t c_each = C / G, k_each = K / G;
  double sum = 0;
  if (p->n[0] == 1) { /* at: n k ho wo */
    const int64_t group = at[1] / k_each;
    for (int64_t c = 0; c < c_each; ++c)
      for (int64_t y = 0; y < Y; ++y)
        for (int64_t x = 0; x < X; ++x) {
          const int64_t h = at[2] * u + y * l - pad_h, w = at[3] * v + x * j - pad_w;
          if (h < 0 || h >= H || w < 0 || w >= W) continue;
          const int64_t f[] = {at[1], c, y, x}, i[] = {at[0], group * c_each + c, h, w};
          sum += of_conv(p, data, 0, f) * of_conv(p, data, 1, i);
        }
  } else if (p->n[0] == 2) { /* at: n c h w */
    const int64_t group = at[1] / c_each;
    for (int64_t k = 0; k < k_each; ++k)
      for (int64_t y = 0; y < Y; ++y)
        for (int64_t x = 0; x < X; ++x) {
          const int64_t h = at[2] + pad_h - y * l, w = at[3] + pad_w - x * j;
          if (h < 0 || w < 0 || h % u || w % v || h / u >= P || w / v >= Q) continue;
          const int64_t f[] = {group * k_each + k, at[1] % c_each, y, x};
          const int64_t o[] = {at[0], group * k_each + k, h / u, w / v};
          sum += of_conv(p, data, 0, f) * of_conv(p, data, 2, o);
        }
  } else { /* at: k c y x */
    const int64_t group = at[0] / k_each;
    for (int64_t n = 0; n < N; ++n)
      for (int64_t ho = 0; ho < P; ++ho)
        for (int64_t wo = 0; wo < Q; ++wo) {
          const int64_t h = ho * u + at[2] * l - pad_h, w = wo * v + at[3] * j - pad_w;
          if (h < 0 || h >= H || w < 0 || w >= W) continue;
          const int64_t i[] = {n, group * c_each + at[1], h, w}, o[] = {n, at[0], ho, wo};
          sum += of_conv(p, data, 1, i) * of_conv(p, data, 2, o);
        }
  }
  return sum;
}

/* What an element of the result should be.  at: its place, by the dimensions of the array.  v: of all arrays. */
static double wanted(const problem *p, int out, void *const *data, const void *before, const int64_t *at, int64_t i,
                     double *v) {
  int64_t ordered[4] = {at[0], at[1], at[2], at[3]};
  const int is_conv = p->n[0] != 0;
  if (is_conv)
    for (int d = 0; d < 4; ++d) ordered[d] = at[p->n[17 + 4 * out + d]];
  double x = p->alpha * (is_conv ? convolution(p, data, ordered) : product(p, data, ordered));
  if (p->beta != 0) x += p->beta * get(p->arrays + out, before, i);
  if (p->after == 0) return x;
  const int more = p->arrays[out].rank - 2;
  const int64_t channel = is_conv ? ordered[1] : at[more + 1], row = is_conv ? 0 : at[more];
  for (int e = 0; e < p->count; ++e) {
    const array *a = p->arrays + e;
    if (a->slot < 0 || a->written) continue;
    const int64_t places[] = {0, channel, i, row};
    v[a->slot] = get(a, data[e], places[a->along]);
  }
  return p->after(x, v);
}

static int is_near(const problem *p, const array *a, double got, double want) {
  if (a->mantissa < 0) {
    const double most = ldexp(1, 8 * a->bytes - 1) - 1;
    return fabs(got - after_clamp(want, -most - 1, most)) <= (p->after ? 0.51 + 1e-5 * fabs(want) : 0);
  }
  const double most_f16 = 65504, step = ldexp(1, -a->mantissa);
  if (a->bytes == 1 || (a->mantissa == 10 && fabs(want) > most_f16)) return 1; /* narrow: it may saturate */
  const double slack = p->after || p->alpha != 1 || p->beta != 0 ? 1e-5 * (1 + fabs(want)) : 0;
  return fabs(got - want) <= (p->terms < 1 << 20 ? step : step + 1e-4) * fabs(want) + slack;
}

/* Where an element lies; at: its place along each dimension, where that is wanted. */
static int64_t place_of(const array *a, int64_t element, int64_t *at) {
  int64_t i = 0;
  for (int d = a->rank - 1; d >= 0; element /= a->shape[d--]) {
    i += element % a->shape[d] * a->stride[d];
    if (at) at[d] = element % a->shape[d];
  }
  return i;
}

static int64_t unwritten_in(const array *a, const void *data, int64_t elements) {
  int64_t found = 0;
  for (int64_t element = 0; a->mantissa >= 0 && element < elements; ++element)
    found += bits_at(a, data, place_of(a, element, 0)) == ~0ull >> (64 - 8 * a->bytes);
  return found;
}

static int checked(const problem *p, int threads) {
  void *data[MOST];
  int out = -1, kept = -1, wrong = 0; /* the result, and what is stored besides */
  uint32_t seed = 1;
  for (int e = 0; e < p->count; ++e) {
    const array *a = p->arrays + e;
    if ((data[e] = malloc((size_t)(a->reach * a->bytes))) == 0) return printf("no memory for %s\n", p->text), 1;
    if (a->written) *(out < 0 ? &out : &kept) = e;
    for (int64_t i = 0; i < a->reach; ++i) {
      seed = seed * 1664525u + 1013904223u;
      put(a, data[e], i, (int)((seed >> 16) % 5) - 2);
    }
  }
  const array *a = p->arrays + out;
  const size_t bytes = (size_t)(a->reach * a->bytes);
  void *before = malloc(bytes);
  if (before == 0) return printf("no memory for %s\n", p->text), 1;
  memcpy(before, data[out], bytes);
  if (p->beta == 0) memset(data[out], 0xFF, bytes);
  if (kept >= 0) memset(data[kept], 0xFF, (size_t)(p->arrays[kept].reach * p->arrays[kept].bytes));
  int64_t rows = 0;
  const int family = ${symbol}_find(p->text, &rows);
  const int status = RUN(family, rows, data, threads);
  if (family != p->family || rows != p->rows || status != ${shout}_OK)
    return printf("FAILED %s: family %d, code %d\n", p->text, family, status), 1;
  int64_t elements = 1;
  for (int d = 0; d < a->rank; ++d) elements *= a->shape[d];
  int64_t unwritten = unwritten_in(a, data[out], elements);
  if (kept >= 0) unwritten += unwritten_in(p->arrays + kept, data[kept], elements);
  const int64_t some = WORK / p->terms < 64 ? 64 : WORK / p->terms, count = elements < some ? elements : some;
  for (int64_t s = 0; s < count; ++s) {
    const int64_t element = count == 1 ? 0 : (int64_t)((double)s * (double)(elements - 1) / (double)(count - 1));
    int64_t at[4] = {0};
    double v[SLOTS];
    const int64_t i = place_of(a, element, at);
    const double got = get(a, data[out], i), want = wanted(p, out, data, before, at, i, v);
    if (!is_near(p, a, got, want) && wrong++ == 0)
      printf("WRONG %s: element %lld is %g, not %g\n", p->text, (long long)i, got, want);
    if (kept < 0) continue;
    const array *k = p->arrays + kept;
    const double stored = get(k, data[kept], place_of(k, element, 0)), value = v[k->slot];
    if (!is_near(p, k, stored, value) && wrong++ == 0)
      printf("WRONG %s: pre-activation %lld is %g, not %g\n", p->text, (long long)element, stored, value);
  }
  if (unwritten) wrong += printf("WRONG %s: %lld elements are not written\n", p->text, (long long)unwritten);
  if (wrong == 0) printf("right %s: %lld of %lld elements\n", p->text, (long long)count, (long long)elements);
  for (int e = 0; e < p->count; ++e) free(data[e]);
  free(before);
  return wrong != 0;
}

int main(int argc, char **argv) {
  const int threads = argc > 1 ? atoi(argv[1]) : 0, count = (int)(sizeof(problems) / sizeof(*problems));
  int failed = ${symbol}_abi() != ${shout}_ABI;
  if (failed) printf("the library and its header are of different versions\n");
  int64_t rows;
  if (${symbol}_find("no problem", &rows) != -1 || RUN(-1, 1, 0, 1) != ${shout}_NOT_SERVED ||
      RUN(0, 0, 0, 1) != ${shout}_NOT_SERVED)
    failed = printf("what is not there is not refused\n");
  for (int i = 0; i < count; ++i) failed |= checked(problems + i, threads);
  printf("%d problems, %s\n", count, failed ? "not all right" : "all right");
  return failed != 0;
}
