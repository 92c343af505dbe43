// Kernels of a library through CUDA's driver, which is looked for when the first one runs.
//
// Law: a call's launches are queued in its stream, in order, and nobody waits for them.  Memory that workgroups share is
// the stream's, from its allocation to its release.  What the driver answers is a call's code, FAILED and its number.
#pragma once
#include <stddef.h>
#include <stdint.h>

extern "C" {
void *dlopen(const char *file, int mode);
void *dlsym(void *library, const char *name);
}

namespace imbrex::cuda {

enum { OK = 0, NO_MEMORY = 1, NO_DRIVER = 3, WRONG_GPU = 4, NOT_RESIDENT = 5, NOT_ALIGNED = 6, FAILED = 1000 };
constexpr int most_devices = 16, most_arrays = 24, most_maps = 3;
constexpr int now = 2, processors = 16, major = 75, minor = 76; // RTLD_NOW; of cuDeviceGetAttribute
constexpr int driver_api = 12030, shared_memory = 8, large_clusters = 14, in_cluster = 4, early = 6;
typedef uint64_t address;

struct attribute { // CUlaunchAttribute
  int id, pad;
  unsigned value[16];
};
struct configuration { // CUlaunchConfig
  unsigned grid[3], block[3], shared_bytes;
  void *stream;
  attribute *attributes;
  unsigned attribute_count;
};

// A tensor map without its address.  base and strides in bytes, element bytes of one; of a walk: lower, upper, channels
// and pixels.  open: the place in sizes, or -1, of one that is `each` times a number of rows that is told in the call.
struct map {
  bool is_walk;
  int type, rank, array, swizzle, element, open;
  uint64_t each;
  uint64_t base, sizes[5], strides[5];
  unsigned box[5], steps[5];
  int lower[2], upper[2];
  unsigned channels, pixels;
};

// Of a kernel that is told its rows: those that a launch is for, and its workgroups, `each` for so many as a tile has of
// the result's rows, `rows` for each that is told, but no more than the grid.  most 0: it is told none.
struct told {
  int64_t least, most, tile, each, rows;
};

// A launch; where it has no kernel, zeros in an array of so many bytes, of the most rows where these are told.
struct step {
  const char *kernel;
  unsigned grid, block, shared_bytes, cluster;
  bool is_early, meets; // meets: its workgroups wait for each other
  int arrays[most_arrays], array_count, map_count;
  map maps[most_maps];
  size_t zero_bytes;
  told of;
};
struct scratch {
  size_t bytes;
  bool is_zeroed;
};
struct kernel {
  const void *cubin;
  int array_count, scratch_count, step_count;
  const scratch *scratches;
  const step *steps;
  void **functions; // of each device, of each step
};

struct driver {
  int (*init)(unsigned);
  int (*current)(void **);
  int (*set_current)(void *);
  int (*retain)(void **, int);
  int (*device)(int *);
  int (*version)(int *);
  int (*ask)(int *, int, int);
  int (*load)(void **, const void *);
  int (*function)(void **, void *, const char *);
  int (*set)(void *, int, int);
  int (*resident)(int *, void *, int, size_t);
  int (*clusters)(int *, void *, const configuration *);
  int (*tiled)(void *, int, unsigned, void *, const uint64_t *, const uint64_t *, const unsigned *, const unsigned *, int,
               int, int, int);
  int (*walked)(void *, int, unsigned, void *, const uint64_t *, const uint64_t *, const int *, const int *, unsigned,
                unsigned, const unsigned *, int, int, int, int);
  int (*launch)(const configuration *, void *, void **, void **);
  int (*fill)(address, unsigned char, size_t, void *);
  int (*borrow)(address *, size_t, void *);
  int (*give_back)(address, void *);
  int (*allocate)(address *, size_t);
  int (*release)(address);
  int (*up)(address, const void *, size_t);
  int (*down)(void *, address, size_t);
  int (*wait)(void *);
};
static driver cu;
static int cuda_version, busy, is_open;

static int code(int answer) { return answer ? FAILED + answer : OK; }

// One thread at a time.
struct turn {
  turn() {
    while (__atomic_exchange_n(&busy, 1, __ATOMIC_ACQUIRE)) {
    }
  }
  ~turn() { __atomic_store_n(&busy, 0, __ATOMIC_RELEASE); }
};

static int opened() {
  if (is_open) return OK;
  void *const library = dlopen("libcuda.so.1", now);
  if (!library) return NO_DRIVER;
  typedef int (*finder)(const char *, void **, int, uint64_t, int *);
  const finder find = reinterpret_cast<finder>(dlsym(library, "cuGetProcAddress_v2"));
  if (!find) return NO_DRIVER;
  const char *const names[] = {
      "cuInit", "cuCtxGetCurrent", "cuCtxSetCurrent", "cuDevicePrimaryCtxRetain", "cuCtxGetDevice", "cuDriverGetVersion",
      "cuDeviceGetAttribute", "cuModuleLoadData", "cuModuleGetFunction", "cuFuncSetAttribute",
      "cuOccupancyMaxActiveBlocksPerMultiprocessor", "cuOccupancyMaxActiveClusters", "cuTensorMapEncodeTiled",
      "cuTensorMapEncodeIm2col", "cuLaunchKernelEx", "cuMemsetD8Async", "cuMemAllocAsync", "cuMemFreeAsync", "cuMemAlloc",
      "cuMemFree", "cuMemcpyHtoD", "cuMemcpyDtoH", "cuStreamSynchronize"};
  static_assert(sizeof(names) / sizeof(*names) * sizeof(void *) == sizeof(driver), "a name for each function");
  for (size_t i = 0; i < sizeof(names) / sizeof(*names); ++i) {
    void *found = nullptr;
    int status = 0;
    if (find(names[i], &found, driver_api, 0, &status) || !found) return NO_DRIVER;
    reinterpret_cast<void **>(&cu)[i] = found;
  }
  if (const int answer = cu.init(0)) return code(answer);
  if (const int answer = cu.version(&cuda_version)) return code(answer);
  is_open = 1;
  return OK;
}

// The GPU of this thread's context, the first one where there is none yet.
static int placed(int *device) {
  void *context = nullptr;
  if (const int answer = cu.current(&context)) return code(answer);
  if (!context) {
    if (const int answer = cu.retain(&context, 0)) return code(answer);
    if (const int answer = cu.set_current(context)) return code(answer);
  }
  if (const int answer = cu.device(device)) return code(answer);
  int found[2] = {0, 0};
  if (const int answer = cu.ask(&found[0], major, *device)) return code(answer);
  if (const int answer = cu.ask(&found[1], minor, *device)) return code(answer);
  return found[0] == capability[0] && found[1] == capability[1] && *device < most_devices ? OK : WRONG_GPU;
}

static int attributes_of(const step &s, attribute *given) {
  int count = 0;
  if (s.cluster > 1) given[count++] = {in_cluster, 0, {s.cluster, 1, 1}};
  if (s.is_early && cuda_version >= 12030) given[count++] = {early, 0, {1}};
  return count;
}

// Do all workgroups of a launch run at a time?
static int expect_resident(const step &s, void *function, int device) {
  int each = 0, count = 0;
  if (s.cluster > 1) {
    attribute own[1] = {{in_cluster, 0, {s.cluster, 1, 1}}};
    const configuration c = {{s.grid, 1, 1}, {s.block, 1, 1}, s.shared_bytes, nullptr, own, 1};
    if (const int answer = cu.clusters(&each, function, &c)) return code(answer);
    return unsigned(each) * s.cluster >= s.grid ? OK : NOT_RESIDENT;
  }
  if (const int answer = cu.ask(&count, processors, device)) return code(answer);
  if (const int answer = cu.resident(&each, function, int(s.block), s.shared_bytes)) return code(answer);
  return unsigned(each * count) >= s.grid ? OK : NOT_RESIDENT;
}

// The kernel's functions on a GPU, loaded once.
static int loaded(const kernel &k, int device) {
  void **const functions = k.functions + device * k.step_count;
  void *module = nullptr;
  int first = -1;
  for (int i = 0; i < k.step_count && first < 0; ++i)
    if (k.steps[i].kernel) first = i;
  if (functions[first]) return OK;
  if (const int answer = cu.load(&module, k.cubin)) return code(answer);
  for (int i = k.step_count - 1; i >= first; --i) { // the first one last: it says that all are there
    const step &s = k.steps[i];
    void *function = nullptr;
    if (!s.kernel) continue;
    if (const int answer = cu.function(&function, module, s.kernel)) return code(answer);
    if (s.shared_bytes > 48 * 1024)
      if (const int answer = cu.set(function, shared_memory, int(s.shared_bytes))) return code(answer);
    if (s.cluster > 8)
      if (const int answer = cu.set(function, large_clusters, 1)) return code(answer);
    if (s.meets)
      if (const int status = expect_resident(s, function, device)) return status;
    functions[i] = function;
  }
  return OK;
}

// Fewer bytes from the first element to behind the last, or of all, than drivers make such maps rightly for?
static bool is_small(const map &m) {
  uint64_t all = uint64_t(m.element), span = all;
  for (int i = 0; i < m.rank; ++i) {
    span += (m.sizes[i] - 1) * (i ? m.strides[i - 1] : uint64_t(m.element));
    all *= m.sizes[i];
  }
  return (all > span ? all : span) < (1 << 17);
}

// 128 bytes; drivers up to CUDA 13.1 set a bit of small im2col maps that makes loads go wrong.
static int encoded(uint64_t *to, map m, address array, int64_t rows) {
  void *const at = reinterpret_cast<void *>(array + m.base);
  const unsigned rank = unsigned(m.rank);
  if (m.open >= 0) m.sizes[m.open] = m.each * uint64_t(rows);
  if (!m.is_walk)
    return code(cu.tiled(to, m.type, rank, at, m.sizes, m.strides, m.box, m.steps, 0, m.swizzle, 2, 0));
  if (const int answer = cu.walked(to, m.type, rank, at, m.sizes, m.strides, m.lower, m.upper, m.channels, m.pixels,
                                   m.steps, 0, m.swizzle, 2, 0))
    return code(answer);
  if (is_small(m) && cuda_version <= 13010) to[1] &= ~(uint64_t(1) << 21);
  return OK;
}

static unsigned workgroups(const step &s, int64_t rows) {
  if (!s.of.most) return s.grid;
  const int64_t found = (rows * s.of.rows + s.of.tile - 1) / s.of.tile * s.of.each;
  return found < s.grid ? unsigned(found) : s.grid;
}

// rows: of a kernel that is told them.
static int launched(const step &s, void *function, address *arrays, int64_t rows, void *stream) {
  if (s.of.most && (rows < s.of.least || rows > s.of.most)) return OK;
  if (!s.kernel) {
    const size_t bytes = s.of.most ? s.zero_bytes / size_t(s.of.most) * size_t(rows) : s.zero_bytes;
    return code(cu.fill(arrays[s.arrays[0]], 0, bytes, stream));
  }
  alignas(64) uint64_t maps[most_maps][16];
  void *values[most_maps + most_arrays + 1];
  int32_t told_rows = int32_t(rows);
  attribute given[2];
  for (int i = 0; i < s.map_count; ++i) {
    if (const int status = encoded(maps[i], s.maps[i], arrays[s.arrays[s.maps[i].array]], rows)) return status;
    values[i] = maps[i];
  }
  for (int i = 0; i < s.array_count; ++i) values[s.map_count + i] = arrays + s.arrays[i];
  values[s.map_count + s.array_count] = &told_rows; // one parameter more, where the kernel has it
  const unsigned count = unsigned(attributes_of(s, given));
  const configuration c = {{workgroups(s, rows), 1, 1}, {s.block, 1, 1}, s.shared_bytes, stream, given, count};
  return code(cu.launch(&c, function, values, nullptr));
}

// Queues a kernel's launches.
static int run(const kernel &k, void *const *given, int64_t rows, void *stream) {
  address arrays[most_arrays];
  int device = 0, taken = 0, status = OK;
  {
    const turn mine;
    status = opened();
    if (status == OK) status = placed(&device);
    if (status == OK) status = loaded(k, device);
  }
  if (status) return status;
  for (int i = 0; i < k.array_count; ++i) {
    arrays[i] = reinterpret_cast<address>(given[i]);
    if (arrays[i] % 16) return NOT_ALIGNED;
  }
  for (; taken < k.scratch_count && !status; ++taken) {
    const scratch &of = k.scratches[taken];
    address *const at = arrays + k.array_count + taken;
    if (cu.borrow(at, of.bytes, stream)) {
      status = NO_MEMORY;
      break;
    }
    if (of.is_zeroed) status = code(cu.fill(*at, 0, of.bytes, stream));
  }
  for (int i = 0; i < k.step_count && !status; ++i)
    status = launched(k.steps[i], k.functions[device * k.step_count + i], arrays, rows, stream);
  while (taken > 0) cu.give_back(arrays[k.array_count + --taken], stream);
  return status;
}

// Runs on arrays of the host, in copies: body(the copies).
template <class Body>
int on_host(int count, const size_t *bytes, int written, void *const *arrays, Body body) {
  int device = 0, there = 0, status;
  {
    const turn mine;
    status = opened();
    if (status == OK) status = placed(&device);
  }
  address copies[most_arrays];
  void *places[most_arrays];
  for (; there < count && !status; ++there) {
    if (cu.allocate(copies + there, bytes[there])) {
      status = NO_MEMORY;
      break;
    }
    places[there] = reinterpret_cast<void *>(copies[there]);
    status = code(cu.up(copies[there], arrays[there], bytes[there]));
  }
  if (!status) status = body(places);
  if (!status) status = code(cu.wait(nullptr));
  if (!status) status = code(cu.down(arrays[written], copies[written], bytes[written]));
  while (there > 0) cu.release(copies[--there]);
  return status;
}
} // namespace imbrex::cuda
