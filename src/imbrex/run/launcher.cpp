// The short way of a call on arrays of this machine, from Python to a kernel: what CPython is asked in C.
//
//   describe((a, b, ...))      all of some arrays but where they lie, and of the environment what decides which kernel
//                              a call takes, as bytes; None where an array is not plain
//   same((a, ...), (b, ...))   have tensors the same bits in the same order?
//   call(threads, (a, b, ...)) runs a kernel on arrays of a known description: its status, or -1 where nothing has run
//
// Laws: equal descriptions pass the same checks, so whoever was checked once by the long way may go this one; what
// depends on where arrays lie, alignment and overlap, is looked at in every call.  Whatever is unusual is left to the
// long way, which says what is wrong with it.
//
// Only functions of CPython's stable ABI are called, declared here, so neither its headers nor a build for each of its
// versions is needed.  NumPy's arrays are read by the layout of its C interface (ndarrayobject.h, the same in 1.x and
// 2.x), which `launcher.py` compares with what NumPy says before it is relied on; others by DLPack's exchange functions
// (dlpack.h 1.3, DLPackExchangeAPI).
#include "device/cpu/pool.h"
#include "device/cpu/shelf.h"

struct Object; // of Python's
extern "C" {
struct Method {
  const char *name;
  Object *(*call)(Object *self, Object *const *arguments, intptr_t count);
  int flags;
  const char *text;
};
Object *PyCFunction_NewEx(Method *method, Object *self, Object *module);
Object *PyCapsule_New(void *pointer, const char *name, void (*end)(Object *));
void *PyCapsule_GetPointer(Object *capsule, const char *name);
Object *PyBytes_FromStringAndSize(const char *text, intptr_t size);
Object *PyLong_FromLong(long value);
Object *PyBool_FromLong(long value);
long PyLong_AsLong(Object *value);
intptr_t PyTuple_Size(Object *tuple);
Object *PyTuple_GetItem(Object *tuple, intptr_t place);
Object *PyObject_GetAttr(Object *of, Object *name);
Object *PyObject_CallNoArgs(Object *function);
Object *PyObject_CallMethodObjArgs(Object *of, Object *name, ...);
int PyObject_IsTrue(Object *value);
int PyObject_RichCompareBool(Object *one, Object *other, int comparison);
Object *PyUnicode_InternFromString(const char *text);
void PyErr_Clear();
Object *PyErr_Occurred();
void *PyEval_SaveThread();
void PyEval_RestoreThread(void *state);
void Py_IncRef(Object *);
void Py_DecRef(Object *);
}

namespace {
constexpr int most_arrays = 8, most_rank = 8, most_types = 8, most_dtypes = 32, most_text = 1024;
constexpr int fast_call = 0x80, one_object = 0x08; // METH_FASTCALL, METH_O
constexpr char capsule_name[] = "imbrex.call";

struct Tensor { // DLTensor
  char *data;
  int32_t device_type, device, rank;
  uint8_t code, bits;
  uint16_t lanes;
  const int64_t *sizes, *strides;
  uint64_t offset;
};
using Export = int (*)(Object *, Tensor *);

struct Known {
  Object *head_none, *array_type; // None, numpy.ndarray
  Object *count_threads;          // what to ask for the number of threads
  Object *is_recording;           // torch.is_grad_enabled, where there are tensors
  Object *requires_grad, *is_negated;
  intptr_t head; // bytes of an object's head, whose last pointer is its type
  int dtypes, types;
  Object *dtype[most_dtypes]; // of NumPy, that kernels take: each the one of its name
  struct {
    Object *type;
    Export exported;
  } tensors[most_types];
} known;

struct Array { // of NumPy: what follows an object's head
  char *data;
  int rank;
  const int64_t *sizes, *strides;
  Object *base, *dtype;
  int flags;
};
constexpr int writeable = 0x0400; // NPY_ARRAY_WRITEABLE

Object *type_of(Object *of) { return *reinterpret_cast<Object **>(reinterpret_cast<char *>(of) + known.head - 8); }
const Array &array_of(Object *of) { return *reinterpret_cast<Array *>(reinterpret_cast<char *>(of) + known.head); }

Export exported_by(Object *type) {
  for (int i = 0; i < known.types; ++i)
    if (known.tensors[i].type == type) return known.tensors[i].exported;
  return nullptr;
}

// False, and no error is set, where the tensor says otherwise or refuses to.
bool says_no(Object *answer) {
  const int truth = answer ? PyObject_IsTrue(answer) : -1;
  if (answer) Py_DecRef(answer);
  if (truth < 0) PyErr_Clear();
  return truth == 0;
}

// A tensor in this machine's memory whose bits are its numbers, and of which nobody records gradients.
bool is_plain(Object *of, Export exported, Tensor &tensor) {
  constexpr int cpu = 1; // kDLCPU
  if (exported(of, &tensor)) {
    PyErr_Clear();
    return false;
  }
  if (tensor.device_type != cpu || tensor.lanes != 1 || tensor.rank > most_rank || (tensor.rank && !tensor.strides))
    return false;
  if (!says_no(PyObject_GetAttr(of, known.requires_grad)) && !says_no(PyObject_CallNoArgs(known.is_recording)))
    return false;
  return says_no(PyObject_CallMethodObjArgs(of, known.is_negated, nullptr));
}

struct Text {
  int64_t words[most_text];
  int count = 0;
  void put(int64_t word) { words[count++] = word; }
  void put(const int64_t *of, int many) {
    for (int i = 0; i < many; ++i) put(of[i]);
  }
  // A text of at most 512 bytes, with its length; false for a longer one.
  bool put(const char *of) {
    const size_t length = of ? __builtin_strlen(of) : 0;
    if (length > 512) return false;
    words[count] = of ? int64_t(length) : -1, words[count + length / 8 + 1] = 0;
    if (of) __builtin_memcpy(words + count + 1, of, length);
    count += int(length / 8) + 2;
    return true;
  }
};

// A dtype's place among the known ones, or their number.  What comes from another process by pickle is equal to one
// of them and is none of them.
int number_of(Object *dtype) {
  int kind = 0;
  while (kind < known.dtypes && known.dtype[kind] != dtype) ++kind;
  if (kind < known.dtypes) return kind;
  constexpr int equal = 2; // Py_EQ
  for (kind = 0; kind < known.dtypes; ++kind) {
    const int answer = PyObject_RichCompareBool(known.dtype[kind], dtype, equal);
    if (answer < 0) PyErr_Clear();
    if (answer > 0) break;
  }
  return kind;
}

bool describe(Object *of, Text &text) {
  enum { nothing, array, tensor };
  if (of == known.head_none) {
    text.put(nothing);
  } else if (type_of(of) == known.array_type) {
    const Array &a = array_of(of);
    const int kind = number_of(a.dtype);
    if (a.rank > most_rank || kind == known.dtypes) return false;
    text.put(array | kind << 8 | (a.flags & writeable) << 8 | int64_t(a.rank) << 32);
    text.put(a.sizes, a.rank), text.put(a.strides, a.rank);
  } else {
    const Export exported = exported_by(type_of(of));
    Tensor t;
    if (!exported || !is_plain(of, exported, t)) return false;
    text.put(tensor | int64_t(t.code) << 8 | int64_t(t.bits) << 16 | int64_t(t.rank) << 32);
    text.put(t.sizes, t.rank), text.put(t.strides, t.rank);
  }
  return true;
}

Object *none() {
  Py_IncRef(known.head_none);
  return known.head_none;
}

// METH_O
Object *described(Object *, Object *arrays) {
  static_assert(most_arrays * (1 + 2 * most_rank) + 2 * (512 / 8 + 2) < most_text);
  Text text;
  const intptr_t count = PyTuple_Size(arrays);
  if (count < 0) return nullptr;
  if (count > most_arrays) return none();
  for (intptr_t i = 0; i < count; ++i)
    if (!describe(PyTuple_GetItem(arrays, i), text)) return none();
  if (!text.put(getenv("IMBREX_DB")) || !text.put(getenv("IMBREX_THREADS"))) return none();
  return PyBytes_FromStringAndSize(reinterpret_cast<const char *>(text.words), text.count * 8);
}

// Bytes of a tensor of the host whose elements lie in their order without gaps; -1 of another.
int64_t dense_bytes(const Tensor &of) {
  constexpr int cpu = 1; // kDLCPU
  int64_t elements = 1;
  for (int i = of.rank - 1; i >= 0; elements *= of.sizes[i--])
    if (of.sizes[i] != 1 && (!of.strides || of.strides[i] != elements)) return -1;
  return of.device_type == cpu && of.lanes == 1 && of.bits % 8 == 0 ? elements * (of.bits / 8) : -1;
}

bool are_same(Object *one, Object *other) {
  if (one == known.head_none || other == known.head_none) return one == other;
  const Export exports[2] = {exported_by(type_of(one)), exported_by(type_of(other))};
  Tensor t[2];
  if (!exports[0] || !exports[1]) return false;
  if (exports[0](one, &t[0]) || exports[1](other, &t[1])) {
    PyErr_Clear();
    return false;
  }
  const int64_t bytes = dense_bytes(t[0]);
  if (bytes < 0 || dense_bytes(t[1]) != bytes || t[0].code != t[1].code || t[0].bits != t[1].bits || t[0].rank != t[1].rank)
    return false;
  for (int i = 0; i < t[0].rank; ++i)
    if (t[0].sizes[i] != t[1].sizes[i]) return false;
  return !__builtin_memcmp(t[0].data + t[0].offset, t[1].data + t[1].offset, size_t(bytes));
}

// METH_FASTCALL: two tuples.
Object *same(Object *, Object *const *arguments, intptr_t) {
  const intptr_t count = PyTuple_Size(arguments[0]);
  bool is = count == PyTuple_Size(arguments[1]);
  for (intptr_t i = 0; is && i < count; ++i)
    is = are_same(PyTuple_GetItem(arguments[0], i), PyTuple_GetItem(arguments[1], i));
  return PyBool_FromLong(is);
}

// A kernel as it is called on arrays of one description.
struct Call {
  void *entry;
  int64_t arrays;             // that the kernel takes
  int64_t places[most_arrays]; // of each among those that are given
  int64_t bytes[most_arrays];  // of an element
  int64_t written;             // bit i: the kernel's array i is
  int64_t workspaces;
  int64_t sizes[most_arrays], zeroed[most_arrays]; // bytes of each, and whether it starts as zeros
  int64_t is_alone;                                // never has use for a second thread
  int64_t is_long;                                 // others may run Python meanwhile
  int64_t has_count, count;                        // a run-time size, which stands behind all arrays
};

// Bytes [first, last) of an array, and where its first element lies.
struct Extent {
  char *data, *first, *last;
};

bool seen(Object *of, int64_t bytes, Extent &extent) {
  char *data;
  int rank;
  const int64_t *sizes, *strides;
  int64_t unit = 1;
  if (type_of(of) == known.array_type) {
    const Array &a = array_of(of);
    data = a.data, rank = a.rank, sizes = a.sizes, strides = a.strides;
  } else {
    const Export exported = exported_by(type_of(of));
    Tensor t;
    if (!exported || exported(of, &t)) {
      PyErr_Clear();
      return false;
    }
    data = t.data + t.offset, rank = t.rank, sizes = t.sizes, strides = t.strides, unit = bytes;
  }
  extent = {data, data, data + bytes};
  for (int i = 0; i < rank; ++i) {
    const int64_t reach = (sizes[i] - 1) * strides[i] * unit;
    (reach < 0 ? extent.first : extent.last) += reach;
  }
  return data && reinterpret_cast<intptr_t>(data) % bytes == 0;
}

// The number of threads where a call says none: what Python said last, as long as nothing that it depends on is seen
// to change: the environment, the CPUs that this thread may use, and, since a control group's quota is slow to read, a
// second at most.  -1 where Python raises.
long thread_count() {
  static struct {
    int32_t taken;
    long count;
    int64_t until;
    char text[32];
    unsigned long set[16];
  } last;
  constexpr int64_t second = 1000000000;
  const char *text = getenv("IMBREX_THREADS");
  if (!text) text = "";
  unsigned long set[16] = {};
  sched_getaffinity(0, sizeof(set), set);
  int64_t time[2] = {};
  clock_gettime(1, time); // CLOCK_MONOTONIC
  const int64_t now = time[0] * second + time[1];
  const size_t length = __builtin_strlen(text) + 1;
  const bool is_mine = !__atomic_exchange_n(&last.taken, 1, __ATOMIC_ACQUIRE);
  long count = -1;
  if (is_mine && now < last.until && length <= sizeof(last.text) && !__builtin_memcmp(text, last.text, length) &&
      !__builtin_memcmp(set, last.set, sizeof(set)))
    count = last.count;
  if (is_mine) __atomic_store_n(&last.taken, 0, __ATOMIC_RELEASE);
  if (count > 0) return count;
  Object *told = PyObject_CallNoArgs(known.count_threads);
  if (!told) return -1;
  count = PyLong_AsLong(told);
  Py_DecRef(told);
  if (count > 0 && length <= sizeof(last.text) && !__atomic_exchange_n(&last.taken, 1, __ATOMIC_ACQUIRE)) {
    last.count = count, last.until = now + second;
    __builtin_memcpy(last.text, text, length), __builtin_memcpy(last.set, set, sizeof(set));
    __atomic_store_n(&last.taken, 0, __ATOMIC_RELEASE);
  }
  return count;
}

template <int... I> struct list {};
template <int N, int... I> struct up_to : up_to<N - 1, N - 1, I...> {};
template <int... I> struct up_to<0, I...> {
  using type = list<I...>;
};
template <int> using pointer = void *;

template <int... I> int entered(const Call &call, void *const *p, int threads, list<I...>) {
  if (call.has_count)
    return reinterpret_cast<int (*)(pointer<I>..., int64_t, int)>(call.entry)(p[I]..., call.count, threads);
  return reinterpret_cast<int (*)(pointer<I>..., int)>(call.entry)(p[I]..., threads);
}
template <int N = 2> int entered(const Call &call, void *const *p, int threads) {
  if constexpr (N < 2 * most_arrays)
    if (call.arrays + call.workspaces != N) return entered<N + 1>(call, p, threads);
  return entered(call, p, threads, typename up_to<N>::type{});
}

imbrex::shelf scratch;

int run(const Call &call, void **pointers, int threads) {
  imbrex::block blocks[most_arrays];
  int64_t had = 0;
  for (; had < call.workspaces; ++had) {
    if (!(blocks[had] = scratch.take(size_t(call.sizes[had])))) break;
    void *memory = pointers[call.arrays + had] = imbrex::memory_of(blocks[had]);
    if (call.zeroed[had]) __builtin_memset(memory, 0, size_t(call.sizes[had]));
  }
  constexpr int out_of_memory = 1;
  int status = out_of_memory;
  if (had == call.workspaces) status = entered(call, pointers, threads);
  while (had) scratch.put(blocks[--had]);
  return status;
}

// METH_FASTCALL: threads, or None, and the arrays.
Object *called(Object *self, Object *const *arguments, intptr_t) {
  const Call *call = static_cast<Call *>(PyCapsule_GetPointer(self, capsule_name));
  if (!call) return nullptr;
  Extent extents[most_arrays];
  void *pointers[2 * most_arrays];
  for (int i = 0; i < call->arrays; ++i) {
    Object *of = PyTuple_GetItem(arguments[1], call->places[i]);
    if (!of) return nullptr;
    if (!seen(of, call->bytes[i], extents[i])) return PyLong_FromLong(-1);
    pointers[i] = extents[i].data;
  }
  for (int w = 0; w < call->arrays; ++w)
    for (int i = 0; i < call->arrays && call->written >> w & 1; ++i)
      if (i != w && extents[i].first < extents[w].last && extents[w].first < extents[i].last)
        return PyLong_FromLong(-1);
  long threads = 1;
  if (arguments[0] != known.head_none) {
    threads = PyLong_AsLong(arguments[0]);
    constexpr int most_threads = 99999;
    if (threads < 1 || threads > most_threads) {
      PyErr_Clear();
      return PyLong_FromLong(-1);
    }
  } else if (!call->is_alone && (threads = thread_count()) < 0) {
    return nullptr;
  }
  void *state = call->is_long ? PyEval_SaveThread() : nullptr;
  const int status = run(*call, pointers, int(threads));
  if (state) PyEval_RestoreThread(state);
  return PyLong_FromLong(status);
}

imbrex::pool threads;

// The threads of an OpenMP that the process uses besides.  Its threads go on looking for work for milliseconds after they
// had some, so that a job on other threads, between two of its own, would find the cores taken.
class openmp {
public:
  void lend(void *called, void *counted) {
    __atomic_store_n(&owner, getpid(), __ATOMIC_RELAXED);
    __atomic_store_n(&most, reinterpret_cast<Most>(counted), __ATOMIC_RELAXED);
    __atomic_store_n(&parallel, reinterpret_cast<Parallel>(called), __ATOMIC_RELEASE);
  }

  // As pool::run.  The whole team is called, since another size of it costs more than those who are not let in.
  bool run(void (*share)(void *), void *what, int helpers) {
    const Parallel called = __atomic_load_n(&parallel, __ATOMIC_ACQUIRE);
    if (!called || __atomic_load_n(&owner, __ATOMIC_RELAXED) != getpid()) return false; // a fork has no such threads
    job one{share, what, helpers + 1};
    called(enter, &one, most() > helpers ? 0 : unsigned(helpers + 1), 0);
    return true;
  }

private:
  using Parallel = void (*)(void (*)(void *), void *, unsigned threads, unsigned flags);
  using Most = int (*)();
  struct job {
    void (*share)(void *what);
    void *what;
    int32_t seats;
  };

  Parallel parallel;
  Most most;
  int32_t owner;

  static void enter(void *of) {
    job &one = *static_cast<job *>(of);
    if (__atomic_fetch_sub(&one.seats, 1, __ATOMIC_RELAXED) > 0) one.share(one.what);
  }
} team;

Method describing = {"describe", reinterpret_cast<decltype(Method::call)>(described), one_object, nullptr};
Method comparing = {"same", same, fast_call, nullptr};
Method calling = {"call", called, fast_call, nullptr};
} // namespace

extern "C" {
// Called once, before all others.
void imbrex_launcher_begin(intptr_t head, Object *nothing, Object *array_type, Object *count_threads) {
  known.head = head, known.head_none = nothing, known.array_type = array_type, known.count_threads = count_threads;
  Py_IncRef(nothing), Py_IncRef(array_type), Py_IncRef(count_threads);
  known.requires_grad = PyUnicode_InternFromString("requires_grad");
  known.is_negated = PyUnicode_InternFromString("is_neg");
}

// Arrays of this dtype are described; it stays.
void imbrex_launcher_take(Object *dtype) {
  if (known.dtypes == most_dtypes) return;
  Py_IncRef(dtype);
  known.dtype[known.dtypes++] = dtype;
}

// Tensors of this very type are described, too; false where they have no exchange functions that are known here.
bool imbrex_launcher_add(Object *type, Object *exchange, Object *is_recording) {
  struct Exchange {
    uint32_t major, minor;
    Exchange *before;
    void *allocate, *managed, *made;
    Export exported;
    void *stream;
  };
  auto *found = static_cast<Exchange *>(PyCapsule_GetPointer(exchange, "dlpack_exchange_api"));
  while (found && found->major > 1) found = found->before;
  if (!found || found->major != 1 || !found->exported || known.types == most_types) {
    PyErr_Clear();
    return false;
  }
  Py_IncRef(type), Py_IncRef(is_recording);
  known.is_recording = is_recording;
  known.tensors[known.types] = {type, found->exported};
  ++known.types;
  return true;
}

// What is read of an array of NumPy's, for a look at whether it is that.
void imbrex_launcher_read(Object *array, int64_t *told) {
  const Array &a = array_of(array);
  told[0] = type_of(array) == known.array_type, told[1] = reinterpret_cast<int64_t>(a.data), told[2] = a.rank;
  told[3] = reinterpret_cast<int64_t>(a.dtype), told[4] = a.flags;
  for (int i = 0; i < 2; ++i) told[5 + i] = a.sizes[i], told[7 + i] = a.strides[i];
}

// The threads that all kernels of this process share: an OpenMP's where they were lent, else a pool's.
bool imbrex_launcher_share(void (*share)(void *), void *job, int helpers) {
  return team.run(share, job, helpers) || threads.run(share, job, helpers);
}

// From now on jobs of this process run on the threads of an OpenMP: its GOMP_parallel and omp_get_max_threads; of none
// where they are null.
void imbrex_launcher_team(void *parallel, void *most) { team.lend(parallel, most); }

// And their scratch memory.
extern const imbrex::lender imbrex_launcher_memory = {[](size_t bytes) { return scratch.take(bytes); },
                                                      [](imbrex::block of) { scratch.put(of); }};

Object *imbrex_launcher_describe() { return PyCFunction_NewEx(&describing, nullptr, nullptr); }
Object *imbrex_launcher_same() { return PyCFunction_NewEx(&comparing, nullptr, nullptr); }

// A new `call`; `of` stays until it ends.
Object *imbrex_launcher_call(const Call *of) {
  Call *own = static_cast<Call *>(aligned_alloc(64, (sizeof(Call) + 63) / 64 * 64));
  if (!own) return none();
  *own = *of;
  Object *self = PyCapsule_New(own, capsule_name, [](Object *ended) { free(PyCapsule_GetPointer(ended, capsule_name)); });
  if (!self) return nullptr;
  Object *made = PyCFunction_NewEx(&calling, self, nullptr);
  Py_DecRef(self);
  return made;
}
}
