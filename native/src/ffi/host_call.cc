// Calls of the kernel's handlers without XLA, by ctypes: arrays on the host need no program that is compiled first.
//
// A handler reads a frame of arguments, results and attributes, which XLA fills in for a compiled program. Here it is
// filled in from a description that Python packs, see `jaxtree/kernels/choose.py`, and threads are our own.

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <deque>
#include <exception>
#include <mutex>
#include <new>
#include <string>
#include <thread>
#include <vector>

#ifdef _WIN32
#include <process.h>
#else
#include <unistd.h>
#endif

#include "xla/ffi/api/c_api.h"

namespace jaxtree {
namespace {

int64_t ProcessId() {
#ifdef _WIN32
  return _getpid();
#else
  return getpid();
#endif
}

constexpr int64_t kMostAxes = 4;

// An array as Python describes it; all numbers have 64 bits.
struct HostArray {
  int64_t data, type, rank, dimensions[kMostAxes];
};

// An attribute: one number, or with a size from 0 on an array of them.
struct HostAttribute {
  int64_t name, type, size, data;
};

// The threads of all calls, which wait for tasks as long as the process lives.
class HostThreads {
 public:
  // A forked process has none of its parent's threads, and begins anew; what the parent has is left as it is.
  static HostThreads& OfProcess() {
    // No mutex, which another thread might hold while this one forks; of two that are made at once, one is forgotten.
    static std::atomic<HostThreads*> threads{nullptr};
    HostThreads* own = threads.load();
    while (own == nullptr || own->process_ != ProcessId()) {
      auto* const made = new HostThreads();
      if (threads.compare_exchange_strong(own, made)) return *made;
      delete made;
    }
    return *own;
  }

  // Starts threads until there are so many, or as many as the system lets start; the caller of a handler is one more.
  // Returns whether there is any.
  bool Start(int64_t number) {
    std::lock_guard<std::mutex> lock(mutex_);
    try {
      for (; num_threads_ < number; ++num_threads_) std::thread([this] { Run(); }).detach();
    } catch (const std::exception&) {
      return num_threads_ > 0;
    }
    return true;
  }

  void Schedule(XLA_FFI_Task* task, void* data) {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      tasks_.push_back({task, data});
    }
    is_new_.notify_one();
  }

 private:
  struct Task {
    XLA_FFI_Task* run;
    void* data;
  };

  HostThreads() : process_(ProcessId()) {}

  void Run() {
    std::unique_lock<std::mutex> lock(mutex_);
    while (true) {
      is_new_.wait(lock, [this] { return !tasks_.empty(); });
      const Task task = tasks_.front();
      tasks_.pop_front();
      lock.unlock();
      task.run(task.data);
      lock.lock();
    }
  }

  const int64_t process_;
  std::mutex mutex_;
  std::condition_variable is_new_;
  std::deque<Task> tasks_;
  int64_t num_threads_ = 0;
};

// The threads that a call may use. They are there from its first task on: most calls of small tables have none.
struct CallThreads {
  int64_t number;

  // Without a thread, or memory to keep the task, the caller does it.
  void Schedule(XLA_FFI_Task* task, void* data) const {
    bool is_kept = false;
    try {
      HostThreads& threads = HostThreads::OfProcess();
      if (threads.Start(number - 1)) {
        threads.Schedule(task, data);
        is_kept = true;
      }
    } catch (const std::bad_alloc&) {
    }
    if (!is_kept) task(data);
  }
};

// An error of a handler is its message.
XLA_FFI_Error* CreateError(XLA_FFI_Error_Create_Args* args) {
  return reinterpret_cast<XLA_FFI_Error*>(new std::string(args->message));
}

void GetMessage(XLA_FFI_Error_GetMessage_Args* args) {
  args->message = reinterpret_cast<std::string*>(args->error)->c_str();
}

void DestroyError(XLA_FFI_Error_Destroy_Args* args) { delete reinterpret_cast<std::string*>(args->error); }

XLA_FFI_Error* ScheduleTask(XLA_FFI_ThreadPool_Schedule_Args* args) {
  reinterpret_cast<CallThreads*>(args->ctx)->Schedule(args->task, args->data);
  return nullptr;
}

XLA_FFI_Error* CountThreads(XLA_FFI_ThreadPool_NumThreads_Args* args) {
  *args->num_threads = reinterpret_cast<CallThreads*>(args->ctx)->number;
  return nullptr;
}

// The services of XLA that the handlers use: errors and threads.
const XLA_FFI_Api& HostApi() {
  static const XLA_FFI_Api api = [] {
    XLA_FFI_Api made{};
    made.struct_size = XLA_FFI_Api_STRUCT_SIZE;
    made.api_version = {XLA_FFI_Api_Version_STRUCT_SIZE, nullptr, XLA_FFI_API_MAJOR, XLA_FFI_API_MINOR};
    made.XLA_FFI_Error_Create = CreateError;
    made.XLA_FFI_Error_GetMessage = GetMessage;
    made.XLA_FFI_Error_Destroy = DestroyError;
    made.XLA_FFI_ThreadPool_Schedule = ScheduleTask;
    made.XLA_FFI_ThreadPool_NumThreads = CountThreads;
    return made;
  }();
  return api;
}

// Buffers in the form of a frame.
template <typename Type>
class Buffers {
 public:
  Buffers(HostArray* arrays, int64_t number, Type type) : buffers_(number), types_(number, type), places_(number) {
    for (int64_t at = 0; at < number; ++at) {
      HostArray& array = arrays[at];
      buffers_[at] = {XLA_FFI_Buffer_STRUCT_SIZE, nullptr, static_cast<XLA_FFI_DataType>(array.type),
                      reinterpret_cast<void*>(array.data), array.rank, array.dimensions};
      places_[at] = &buffers_[at];
    }
  }

  template <typename Frame>
  Frame In(int64_t struct_size) {
    return {static_cast<size_t>(struct_size), nullptr, static_cast<int64_t>(places_.size()), types_.data(), places_.data()};
  }

 private:
  std::vector<XLA_FFI_Buffer> buffers_;
  std::vector<Type> types_;
  std::vector<void*> places_;
};

// Attributes in the form of a frame, which must be sorted by their names.
class Attributes {
 public:
  Attributes(const HostAttribute* attributes, int64_t number)
      : spans_(number), names_(number), scalars_(number), arrays_(number), types_(number), places_(number) {
    for (int64_t at = 0; at < number; ++at) {
      const HostAttribute& own = attributes[at];
      const auto* name = reinterpret_cast<const char*>(own.name);
      const auto type = static_cast<XLA_FFI_DataType>(own.type);
      void* const data = reinterpret_cast<void*>(own.data);
      spans_[at] = {name, std::strlen(name)};
      names_[at] = &spans_[at];
      scalars_[at] = {type, data};
      arrays_[at] = {type, static_cast<size_t>(std::max<int64_t>(own.size, 0)), data};
      types_[at] = own.size < 0 ? XLA_FFI_AttrType_SCALAR : XLA_FFI_AttrType_ARRAY;
      places_[at] = own.size < 0 ? static_cast<void*>(&scalars_[at]) : &arrays_[at];
    }
  }

  XLA_FFI_Attrs In() {
    return {XLA_FFI_Attrs_STRUCT_SIZE, nullptr, static_cast<int64_t>(places_.size()), types_.data(), names_.data(), places_.data()};
  }

 private:
  std::vector<XLA_FFI_ByteSpan> spans_;
  std::vector<XLA_FFI_ByteSpan*> names_;
  std::vector<XLA_FFI_Scalar> scalars_;
  std::vector<XLA_FFI_Array> arrays_;
  std::vector<XLA_FFI_AttrType> types_;
  std::vector<void*> places_;
};

void Write(const char* text, char* message, int64_t size) {
  std::strncpy(message, text, size - 1);
  message[size - 1] = '\0';
}

}  // namespace
}  // namespace jaxtree

// Calls a handler on arrays of the host. Returns 0; 1 with a message where the handler refuses the call, and 2 where there
// is not enough memory.
extern "C" int32_t jaxtree_call_on_host(XLA_FFI_Handler* handler, jaxtree::HostArray* arguments, int64_t num_arguments,
                                        jaxtree::HostArray* results, int64_t num_results,
                                        const jaxtree::HostAttribute* attributes, int64_t num_attributes, int64_t num_threads,
                                        char* message, int64_t message_size) {
  using namespace jaxtree;
  try {
    CallThreads threads{num_threads};
    Buffers<XLA_FFI_ArgType> in(arguments, num_arguments, XLA_FFI_ArgType_BUFFER);
    Buffers<XLA_FFI_RetType> out(results, num_results, XLA_FFI_RetType_BUFFER);
    Attributes named(attributes, num_attributes);
    XLA_FFI_CallFrame frame{};
    frame.struct_size = XLA_FFI_CallFrame_STRUCT_SIZE;
    frame.api = &HostApi();
    frame.ctx = reinterpret_cast<XLA_FFI_ExecutionContext*>(&threads);
    frame.stage = XLA_FFI_ExecutionStage_EXECUTE;
    frame.args = in.In<XLA_FFI_Args>(XLA_FFI_Args_STRUCT_SIZE);
    frame.rets = out.In<XLA_FFI_Rets>(XLA_FFI_Rets_STRUCT_SIZE);
    frame.attrs = named.In();
    XLA_FFI_Error* const error = handler(&frame);
    if (error == nullptr) return 0;
    Write(reinterpret_cast<std::string*>(error)->c_str(), message, message_size);
    delete reinterpret_cast<std::string*>(error);
    return 1;
  } catch (const std::exception& failure) {
    Write(failure.what(), message, message_size);
    return 2;
  }
}
