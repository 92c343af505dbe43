// A CUDA driver that remembers what it was told, for tests of libraries: memory of its GPU is memory of the host.  A
// launch of MAPS tensor maps and then ARRAYS pointers, as the environment says, writes 7 into the first 4 bytes of the
// last array.  No header of libc is needed: its functions are those of the process.
using size_t = decltype(sizeof 0);
using u64 = unsigned long long;
extern "C" {
int printf(const char *, ...);
void *aligned_alloc(size_t, size_t);
void free(void *);
void *memcpy(void *, const void *, size_t);
void *memset(void *, int, size_t);
int strcmp(const char *, const char *);
char *getenv(const char *);
int atoi(const char *);
}

struct Configuration {
  unsigned grid[3], block[3], shared_bytes;
  void *stream, *attributes;
  unsigned attribute_count;
};
struct Attribute {
  int id, pad;
  unsigned value[16];
};

static int told(const char *name, int usual) { return getenv(name) ? atoi(getenv(name)) : usual; }
static int done() { return 0; }
static int current(void **context) { return *context = (void *)64, 0; }
static int device(int *number) { return *number = 0, 0; }
static int version(int *number) { return *number = 13000, 0; }
static int ask(int *value, int kind, int) {
  return *value = kind == 75 ? told("CAPABILITY", 9) : kind == 16 ? told("PROCESSORS", 132) : 0, 0;
}
static int load(void **module, const void *image) {
  return printf("load %d\n", *(const int *)image == 0x464c457f), *module = (void *)128, 0;
}
static int function(void **made, void *, const char *name) { return *made = (void *)name, 0; }
static int set(void *name, int kind, int value) { return printf("set %s %d %d\n", (char *)name, kind, value), 0; }
static int resident(int *count, void *, int, size_t) { return *count = 1, 0; }
static int clusters(int *count, void *, const Configuration *c) {
  return *count = 132 / ((const Attribute *)c->attributes)->value[0], 0;
}
static int tiled(u64 *map, int kind, unsigned rank, u64 at, const u64 *sizes, const u64 *strides, const unsigned *box,
                 const unsigned *steps, int interleave, int swizzle, int promotion, int fill) {
  printf("tiled %d %u sizes %llu %llu stride %llu box %u %u steps %u %u swizzle %d more %d %d %d\n", kind, rank, sizes[0],
         sizes[1], strides[0], box[0], box[1], steps[0], steps[1], swizzle, interleave, promotion, fill);
  return map[0] = at, 0;
}
static int launch(const Configuration *c, const char *name, void **values) {
  unsigned cluster = 1, early = 0;
  for (unsigned i = 0; i < c->attribute_count; ++i) {
    const Attribute &one = ((const Attribute *)c->attributes)[i];
    if (one.id == 4) cluster = one.value[0];
    if (one.id == 6) early = one.value[0];
  }
  printf("launch %s %u %u %u stream %zu cluster %u early %u", name, c->grid[0], c->block[0], c->shared_bytes,
         (size_t)c->stream, cluster, early);
  const int maps = told("MAPS", 0), arrays = told("ARRAYS", 0);
  if (told("COUNT", 0)) printf(" count %d", *(int *)values[maps + arrays]);
  for (int i = 0; i < maps; ++i) printf(" map %llu %d", *(u64 *)values[i], (int)((u64)values[i] % 64));
  for (int i = maps; i < maps + arrays; ++i) printf(" at %llu", *(u64 *)values[i]);
  printf("\n");
  if (arrays) *(int *)*(u64 *)values[maps + arrays - 1] = 7;
  return told("FAILS", 0);
}
static int fill(u64 to, unsigned char value, size_t size) {
  return printf("fill %d %zu\n", value, size), memset((void *)to, value, size), 0;
}
static int borrow(u64 *at, size_t size, void *) {
  return printf("borrow %zu\n", size), *at = (u64)aligned_alloc(256, (size + 255) / 256 * 256), 0;
}
static int give_back(u64 at, void *) { return printf("give back\n"), free((void *)at), 0; }
static int allocate(u64 *at, size_t size) {
  return printf("allocate %zu\n", size), *at = (u64)aligned_alloc(256, (size + 255) / 256 * 256), 0;
}
static int release(u64 at) { return printf("release\n"), free((void *)at), 0; }
static int up(u64 to, const void *from, size_t size) { return memcpy((void *)to, from, size), 0; }
static int down(void *to, u64 from, size_t size) {
  return printf("down %zu\n", size), memcpy(to, (void *)from, size), 0;
}

static const struct {
  const char *name;
  void *function;
} table[] = {
    {"cuCtxGetCurrent", (void *)current},
    {"cuCtxGetDevice", (void *)device},
    {"cuDriverGetVersion", (void *)version},
    {"cuDeviceGetAttribute", (void *)ask},
    {"cuModuleLoadData", (void *)load},
    {"cuModuleGetFunction", (void *)function},
    {"cuFuncSetAttribute", (void *)set},
    {"cuOccupancyMaxActiveBlocksPerMultiprocessor", (void *)resident},
    {"cuOccupancyMaxActiveClusters", (void *)clusters},
    {"cuTensorMapEncodeTiled", (void *)tiled},
    {"cuLaunchKernelEx", (void *)launch},
    {"cuMemsetD8Async", (void *)fill},
    {"cuMemAllocAsync", (void *)borrow},
    {"cuMemFreeAsync", (void *)give_back},
    {"cuMemAlloc", (void *)allocate},
    {"cuMemFree", (void *)release},
    {"cuMemcpyHtoD", (void *)up},
    {"cuMemcpyDtoH", (void *)down},
};
extern "C" int cuGetProcAddress_v2(const char *wanted, void **found, int, u64, int *status) {
  *found = (void *)done;
  for (const auto &one : table)
    if (!strcmp(wanted, one.name)) *found = one.function;
  return *status = 0;
}
