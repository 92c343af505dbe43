// A CUDA driver that does nothing but remember, for tests of how cuda-bindings is called: memory of its GPU is
// memory of the host, a launch adds 32 floats of its first array to those of its last and says what it got.
// No header of libc is needed: its functions are those of the process.
using size_t = decltype(sizeof 0);
using u64 = unsigned long long;
extern "C" {
int printf(const char *, ...);
void *aligned_alloc(size_t, size_t);
void free(void *);
void *memcpy(void *, const void *, size_t);
void *memset(void *, int, size_t);
int strcmp(const char *, const char *);
char *strncpy(char *, const char *, size_t);
}

struct Configuration {
  unsigned grid[3], block[3], shared_bytes;
  void *stream, *attributes;
  unsigned attribute_count;
};
struct Attribute {
  int id;
  char pad[4];
  unsigned x, y, z;
  char rest[52];
};

static int done(void) { return 0; }
extern "C" int cuInit(unsigned flags) { return 0; }
extern "C" int cuDriverGetVersion(int *version) { return *version = 13000, 0; }
static int device_count(int *count) { return *count = 1, 0; }
static int attribute(int *value, int kind, int device) { return *value = kind == 75 ? 9 : 0, 0; }
static int name(char *text, int size, int device) { return strncpy(text, "played", size), 0; }
static int handle(void **made) { return *made = (void *)64, 0; }
static int handle_of(void *owner, void **made) { return *made = (void *)128, 0; }
static int device(int *number) { return *number = 0, 0; }
static int allocate(u64 *at, size_t size) { return *at = (u64)aligned_alloc(256, (size + 255) / 256 * 256), 0; }
static int release(u64 at) { return free((void *)at), 0; }
static int upload(u64 to, const void *from, size_t size) { return memcpy((void *)to, from, size), 0; }
static int download(void *to, u64 from, size_t size) { return memcpy(to, (void *)from, size), 0; }
static int clusters(int *count, void *function, const Configuration *c) {
  return *count = 132 / ((const Attribute *)c->attributes)->x, 0;
}
static int clear(u64 to, unsigned char value, size_t size) { return memset((void *)to, value, size), 0; }
static int elapsed(float *ms) { return *ms = 0.05f, 0; }
static int mode(int *now) { return *now = 0, 0; }
// Streams from 900 on are captured, each into a graph that is gone as soon as it keeps an object.
static void *ended_at;
static void (*ended)(void *);
static int user_object(void **made, void *at, void (*end)(void *), unsigned count, unsigned flags) {
  printf("user object %u %u\n", count, flags);
  return *made = (void *)192, ended_at = at, ended = end, 0;
}
static int retain(void *graph, void *object, unsigned count, unsigned flags) {
  return printf("graph %zu keeps %zu %u %u\n", (size_t)graph, (size_t)object, count, flags), ended(ended_at), 0;
}
static int capture(void *s, int *status, u64 *id, void **g, void **d, void **e, size_t *n) {
  const size_t stream = (size_t)s;
  *status = stream >= 900;
  if (id) *id = stream >= 900 ? stream : 0;
  if (g) *g = stream >= 900 ? (void *)(stream + 1000) : 0;
  if (d) *d = 0;
  if (e) *e = 0;
  if (n) *n = 0;
  return 0;
}
static int tiled(unsigned char *map, int kind, unsigned rank, void *at, const u64 *sizes, const u64 *strides,
                 const unsigned *box, const unsigned *steps, int interleave, int swizzle) {
  printf("tiled kind %d rank %u sizes %llu %llu stride %llu box %u %u steps %u %u swizzle %d\n", kind, rank,
         sizes[0], sizes[1], strides[0], box[0], box[1], steps[0], steps[1], swizzle);
  return memset(map, 1, 128), 0;
}
static int im2col(unsigned char *map, int kind, unsigned rank, void *at, const u64 *sizes, const u64 *strides,
                  const int *lower, const int *upper, unsigned channels, unsigned pixels, const unsigned *steps) {
  printf("im2col kind %d rank %u lower %d %d upper %d %d channels %u pixels %u steps %u %u %u %u\n", kind, rank,
         lower[0], lower[1], upper[0], upper[1], channels, pixels, steps[0], steps[1], steps[2], steps[3]);
  return memset(map, 255, 128), 0;
}
static int launch(const Configuration *c, void *function, void **values) {
  const Attribute *cluster = (const Attribute *)c->attributes;
  const unsigned char *maps[] = {(unsigned char *)values[0], (unsigned char *)values[1]};
  printf("launch grid %u block %u shared %u stream %zu cluster %u maps %d %d %02x\n", c->grid[0], c->block[0],
         c->shared_bytes, (size_t)c->stream, c->attribute_count ? cluster->x : 1, maps[0][0], maps[1][0],
         maps[1][10]);
  const float *from = *(float **)values[2];
  float *to = *(float **)values[3];
  for (int i = 0; i < 32; ++i) to[i] += from[i];
  return 0;
}

struct Entry {
  const char *name;
  void *function;
};
static const Entry TABLE[] = {
    {"cuDeviceGetCount", (void *)device_count},
    {"cuOccupancyMaxActiveClusters", (void *)clusters},
    {"cuDeviceGetAttribute", (void *)attribute},
    {"cuDeviceGetName", (void *)name},
    {"cuCtxGetCurrent", (void *)handle},
    {"cuCtxGetDevice", (void *)device},
    {"cuModuleLoadData", (void *)handle},
    {"cuDevicePrimaryCtxRetain", (void *)handle},
    {"cuModuleGetFunction", (void *)handle},
    {"cuMemAlloc", (void *)allocate},
    {"cuMemFree", (void *)release},
    {"cuMemcpyHtoD", (void *)upload},
    {"cuMemcpyDtoH", (void *)download},
    {"cuMemsetD8Async", (void *)clear},
    {"cuStreamCreate", (void *)handle},
    {"cuEventCreate", (void *)handle},
    {"cuEventElapsedTime", (void *)elapsed},
    {"cuStreamEndCapture", (void *)handle_of},
    {"cuGraphInstantiate", (void *)handle},
    {"cuTensorMapEncodeTiled", (void *)tiled},
    {"cuTensorMapEncodeIm2col", (void *)im2col},
    {"cuLaunchKernelEx", (void *)launch},
    {"cuStreamGetCaptureInfo", (void *)capture},
    {"cuUserObjectCreate", (void *)user_object},
    {"cuGraphRetainUserObject", (void *)retain},
    {"cuInit", (void *)cuInit},
    {"cuPointerGetAttribute", (void *)device},
    {"cuDriverGetVersion", (void *)cuDriverGetVersion},
    {"cuThreadExchangeStreamCaptureMode", (void *)mode},
};

extern "C" int cuGetProcAddress_v2(const char *wanted, void **function, int version, u64 flags, int *status) {
  *function = (void *)done;
  for (size_t i = 0; i < sizeof TABLE / sizeof *TABLE; ++i)
    if (!strcmp(wanted, TABLE[i].name)) *function = TABLE[i].function;
  if (status) *status = 0;
  return 0;
}
extern "C" int cuGetProcAddress(const char *wanted, void **function, int version, u64 flags) {
  return cuGetProcAddress_v2(wanted, function, version, flags, 0);
}
