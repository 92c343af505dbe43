// A HIP runtime for tests of kits: memory of its GPU is memory of the host, and whoever loads it says what a code object
// and a launch are.  The environment says which GPU it has (CHIP; none: no GPU), and what becomes of a launch
// (FAULT=abort:3, hang:3 or error:3: of the third).  Types are those of hip_runtime_api.h.
using size_t = decltype(sizeof 0);
extern "C" {
void *aligned_alloc(size_t, size_t);
void free(void *);
void *memcpy(void *, const void *, size_t);
void *memset(void *, int, size_t);
char *strcpy(char *, const char *);
int strncmp(const char *, const char *, size_t);
char *getenv(const char *);
int atoi(const char *);
[[noreturn]] void abort();
unsigned sleep(unsigned);

using hipError_t = int;
using hipModule_t = void *;
using hipFunction_t = void *;
using hipStream_t = void *;
using hipEvent_t = void *;
using Load = hipError_t(hipModule_t *, const void *);
using Find = hipError_t(hipFunction_t *, hipModule_t, const char *);
using Launch = hipError_t(hipFunction_t, unsigned, unsigned, void **);

static Load *load_;
static Find *find_;
static Launch *launch_;
static int launches_, balance_;

void standin_use(Load *load, Find *find, Launch *launch) { load_ = load, find_ = find, launch_ = launch; }
int standin_balance() { return balance_; }

static bool strikes(const char *kind, size_t letters) {
  const char *said = getenv("FAULT");
  return said && !strncmp(said, kind, letters) && launches_ == atoi(said + letters);
}

hipError_t hipGetDeviceCount(int *count) { return *count = getenv("CHIP") ? 1 : 0, 0; }
hipError_t hipSetDevice(int device) { return device ? 101 : 0; }
hipError_t hipRuntimeGetVersion(int *version) { return *version = 60300000, 0; }
hipError_t hipDriverGetVersion(int *version) { return *version = 60300000, 0; }
hipError_t hipGetDevicePropertiesR0600(char *found, int) {
  memset(found, 0, 1472);
  strcpy(found, "a stand-in");
  strcpy(found + 1160, getenv("CHIP"));
  return 0;
}
const char *hipGetErrorString(hipError_t error) { return error == 719 ? "unspecified launch failure" : "unknown"; }
hipError_t hipMalloc(void **made, size_t size) {
  ++balance_;
  *made = aligned_alloc(4096, (size + 4095) & ~size_t(4095));
  return memset(*made, 0xA5, size), 0;
}
hipError_t hipFree(void *memory) { return --balance_, free(memory), 0; }
hipError_t hipMemcpy(void *to, const void *from, size_t size, int kind) {
  return kind == 1 || kind == 2 ? (memcpy(to, from, size), 0) : 21;
}
hipError_t hipMemset(void *to, int byte, size_t size) { return memset(to, byte, size), 0; }
hipError_t hipMemsetAsync(void *to, int byte, size_t size, hipStream_t) { return memset(to, byte, size), 0; }
hipError_t hipDeviceSynchronize() { return 0; }
hipError_t hipModuleLoadData(hipModule_t *made, const void *image) { return ++balance_, load_(made, image); }
hipError_t hipModuleUnload(hipModule_t) { return --balance_, 0; }
hipError_t hipModuleGetFunction(hipFunction_t *found, hipModule_t module, const char *name) {
  return find_(found, module, name);
}
hipError_t hipModuleLaunchKernel(hipFunction_t function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                                 unsigned bz, unsigned shared, hipStream_t, void **parameters, void **extra) {
  ++launches_;
  if (strikes("abort:", 6)) abort();
  if (strikes("hang:", 5)) sleep(600);
  if (strikes("error:", 6)) return 719;
  if (gy != 1 || gz != 1 || by != 1 || bz != 1 || shared || extra) return 1;
  return launch_(function, gx, bx, parameters);
}
hipError_t hipEventCreate(hipEvent_t *made) { return *made = (void *)8, 0; }
hipError_t hipEventRecord(hipEvent_t, hipStream_t) { return 0; }
hipError_t hipEventSynchronize(hipEvent_t) { return 0; }
hipError_t hipEventElapsedTime(float *milliseconds, hipEvent_t, hipEvent_t) { return *milliseconds = 30.0f, 0; }
}
