// Arrays of many models that work is done for in one call, as `jax.vmap` hands them over.

#ifndef JAXTREE_NATIVE_MODELS_H_
#define JAXTREE_NATIVE_MODELS_H_

#include <cstdint>
#include <functional>
#include <numeric>
#include <vector>

#include "parallel.h"
#include "xla/ffi/api/ffi.h"

namespace jaxtree {

// What one model has of an array.
struct Array {
  xla::ffi::DataType type;
  std::vector<int64_t> dimensions;
  int64_t size;
  void* data;

  template <typename T>
  T* As() const { return static_cast<T*>(data); }
};

// The models of a call. Every array has axes in front for them, of length 1 where all models share it; without any axis
// there is one model.
class Models {
 public:
  // `result` has a place for every model; that of one model has `rank` axes.
  Models(const xla::ffi::AnyBuffer& result, int64_t rank)
      : lengths_(result.dimensions().begin(), result.dimensions().end() - rank),
        number_(std::accumulate(lengths_.begin(), lengths_.end(), int64_t{1}, std::multiplies<>())) {}

  int64_t number() const { return number_; }

  Array Of(const xla::ffi::AnyBuffer& buffer, int64_t model) const {
    const auto dimensions = buffer.dimensions();
    int64_t place = 0, stride = 1;
    for (int64_t axis = static_cast<int64_t>(lengths_.size()) - 1; axis >= 0; --axis) {
      if (dimensions[axis] > 1) place += model % lengths_[axis] * stride;
      model /= lengths_[axis];
      stride *= dimensions[axis];
    }
    Array array{buffer.element_type(), {dimensions.begin() + lengths_.size(), dimensions.end()}, 1, nullptr};
    for (const int64_t length : array.dimensions) array.size *= length;
    const int64_t bytes = array.size * xla::ffi::ByteWidth(array.type);
    array.data = static_cast<uint8_t*>(buffer.untyped_data()) + place * bytes;
    return array;
  }

 private:
  const std::vector<int64_t> lengths_;
  const int64_t number_;
};

// Calls work(threads, model) for all models: each on one thread, or where they are few, one after another on all threads.
template <typename Work>
void ForEachModel(xla::ffi::ThreadPool& pool, const Models& models, const Work& work) {
  Threads all(&pool), one;
  if (models.number() < all.num_threads()) {
    for (int64_t model = 0; model < models.number(); ++model) work(all, model);
    return;
  }
  ForEach(all, models.number(), [&](int64_t model) { work(one, model); });
}

}  // namespace jaxtree

#endif  // JAXTREE_NATIVE_MODELS_H_
