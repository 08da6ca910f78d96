// The types of the arrays that XLA hands over, found at run time; and what all files know of splits.

#ifndef JAXTREE_NATIVE_TYPES_H_
#define JAXTREE_NATIVE_TYPES_H_

#include <cstdint>

#include "xla/ffi/api/ffi.h"

namespace jaxtree {

// As in `jaxtree/tree/nodes.py`.
enum SplitKind : int32_t { kThreshold = 0, kMultiway = 1, kOneVsRest = 2, kSubset = 3 };
constexpr int32_t kCodesPerWord = 32;

// Returns run(a number of the type of codes).
template <typename Run>
xla::ffi::Error ForCodes(const xla::ffi::AnyBuffer& codes, const Run& run) {
  switch (codes.element_type()) {
    case xla::ffi::DataType::U8: return run(uint8_t{});
    case xla::ffi::DataType::U16: return run(uint16_t{});
    case xla::ffi::DataType::S32: return run(int32_t{});
    default: return xla::ffi::Error::InvalidArgument("codes must be uint8, uint16 or int32");
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

}  // namespace jaxtree

#endif  // JAXTREE_NATIVE_TYPES_H_
