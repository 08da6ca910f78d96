// Calls of the kernel's handlers without XLA, by ctypes: arrays on the host need no program that is compiled first.
//
// A handler reads a frame of arguments, results and attributes, which XLA fills in for a compiled program. Here it is
// filled in from a description that Python packs, see `jaxtree/kernels/choose.py`.

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <exception>
#include <string>
#include <vector>

#include "common/schedule.h"
#include "xla/ffi/api/c_api.h"

namespace jaxtree {
namespace {

constexpr int64_t kMostAxes = 4;

// An array as Python describes it; all numbers have 64 bits.
struct HostArray {
  int64_t data, type, rank, dimensions[kMostAxes];
};

// An attribute: one number, or with a size from 0 on an array of them.
struct HostAttribute {
  int64_t name, type, size, data;
};

// An error of a handler is its message.
XLA_FFI_Error* CreateError(XLA_FFI_Error_Create_Args* args) {
  return reinterpret_cast<XLA_FFI_Error*>(new std::string(args->message));
}

void GetMessage(XLA_FFI_Error_GetMessage_Args* args) {
  args->message = reinterpret_cast<std::string*>(args->error)->c_str();
}

void DestroyError(XLA_FFI_Error_Destroy_Args* args) { delete reinterpret_cast<std::string*>(args->error); }

XLA_FFI_Error* CountThreads(XLA_FFI_ThreadPool_NumThreads_Args* args) {
  *args->num_threads = *reinterpret_cast<int64_t*>(args->ctx);
  return nullptr;
}

// The services of XLA that the handlers use: errors, and how many threads a call may use.
const XLA_FFI_Api& HostApi() {
  static const XLA_FFI_Api api = [] {
    XLA_FFI_Api made{};
    made.struct_size = XLA_FFI_Api_STRUCT_SIZE;
    made.api_version = {XLA_FFI_Api_Version_STRUCT_SIZE, nullptr, XLA_FFI_API_MAJOR, XLA_FFI_API_MINOR};
    made.XLA_FFI_Error_Create = CreateError;
    made.XLA_FFI_Error_GetMessage = GetMessage;
    made.XLA_FFI_Error_Destroy = DestroyError;
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
    Buffers<XLA_FFI_ArgType> in(arguments, num_arguments, XLA_FFI_ArgType_BUFFER);
    Buffers<XLA_FFI_RetType> out(results, num_results, XLA_FFI_RetType_BUFFER);
    Attributes named(attributes, num_attributes);
    XLA_FFI_CallFrame frame{};
    frame.struct_size = XLA_FFI_CallFrame_STRUCT_SIZE;
    frame.api = &HostApi();
    frame.ctx = reinterpret_cast<XLA_FFI_ExecutionContext*>(&num_threads);
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

#ifdef JAXTREE_SCHEDULE
// The seconds that as many threads as calls may use would have saved so far.
extern "C" double jaxtree_saved_seconds() { return jaxtree::Schedule::Saved() / 1e9; }

// What every region has taken so far, see `Schedule::Regions`; the text lives until the next call.
extern "C" const char* jaxtree_regions() {
  static std::string text;
  return (text = jaxtree::Schedule::Regions()).c_str();
}
#endif
