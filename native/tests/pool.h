// A pool of threads such as XLA lends, for tests: the kernel asks it how many there are.

#ifndef JAXTREE_NATIVE_TESTS_POOL_H_
#define JAXTREE_NATIVE_TESTS_POOL_H_

#include <cstdint>

#include "common/parallel.h"
#include "xla/ffi/api/ffi.h"

namespace jaxtree::test {

class Pool {
 public:
  explicit Pool(int64_t num_threads) : num_threads_(num_threads) {
    api_.XLA_FFI_ThreadPool_NumThreads = [](XLA_FFI_ThreadPool_NumThreads_Args* own) -> XLA_FFI_Error* {
      *own->num_threads = Of(own->ctx).num_threads_;
      return nullptr;
    };
  }

  Threads threads() { return Threads(&pool_); }

 private:
  static Pool& Of(XLA_FFI_ExecutionContext* context) { return *reinterpret_cast<Pool*>(context); }

  const int64_t num_threads_;
  XLA_FFI_Api api_{};
  xla::ffi::DiagnosticEngine diagnostic_;
  xla::ffi::ThreadPool pool_ = *xla::ffi::CtxDecoding<xla::ffi::ThreadPool>::Decode(
      &api_, reinterpret_cast<XLA_FFI_ExecutionContext*>(this), diagnostic_);
};

}  // namespace jaxtree::test

#endif  // JAXTREE_NATIVE_TESTS_POOL_H_
