// The arrays that XLA hands over: their types, found at run time, and the models of a call of `jax.vmap`.

#ifndef JAXTREE_NATIVE_COMMON_BATCH_H_
#define JAXTREE_NATIVE_COMMON_BATCH_H_

#include <cstdint>
#include <functional>
#include <numeric>
#include <vector>

#include "common/parallel.h"
#include "xla/ffi/api/ffi.h"

namespace jaxtree {

// Returns run(a number of the type of codes).
template <typename Run>
xla::ffi::Error ForCodes(const xla::ffi::AnyBuffer& codes, const Run& run) {
  switch (codes.element_type()) {
    case xla::ffi::DataType::U8: return run(uint8_t{});
    case xla::ffi::DataType::U16: return run(uint16_t{});
    default: return xla::ffi::Error::InvalidArgument("codes must be uint8 or uint16");
  }
}

// Returns run(a number of the type of values).
template <typename Run>
xla::ffi::Error ForValues(const xla::ffi::AnyBuffer& values, const Run& run) {
  switch (values.element_type()) {
    case xla::ffi::DataType::S32: return run(int32_t{});
    case xla::ffi::DataType::S64: return run(int64_t{});
    default: return xla::ffi::Error::InvalidArgument("values must be int32 or int64");
  }
}

// Returns run(a number of the type of an array of floats).
template <typename Run>
xla::ffi::Error ForReals(const xla::ffi::AnyBuffer& array, const Run& run) {
  switch (array.element_type()) {
    case xla::ffi::DataType::F32: run(float{}); break;
    case xla::ffi::DataType::F64: run(double{}); break;
    default: return xla::ffi::Error::InvalidArgument("numbers must be float32 or float64");
  }
  return xla::ffi::Error::Success();
}

// One model's part of an array.
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

// Calls work(threads, model) for all models, side by side; threads that have no model share in the work on others'.
template <typename Work>
void ForEachModel(xla::ffi::ThreadPool& pool, const Models& models, const Work& work) {
  Threads threads(&pool);
  ForEach(threads, models.number(), [&](int64_t model) { work(threads, model); });
}

}  // namespace jaxtree

#endif  // JAXTREE_NATIVE_COMMON_BATCH_H_
