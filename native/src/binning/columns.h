// The columns of a table, wherever they are in memory.

#ifndef JAXTREE_NATIVE_BINNING_COLUMNS_H_
#define JAXTREE_NATIVE_BINNING_COLUMNS_H_

#include <cstdint>
#include <cstring>
#include <vector>

#include "common/simd.h"
#include "xla/ffi/api/ffi.h"

namespace jaxtree {

// Rows of a tile: those of a usual table stay in a core's own cache while its columns are read one after the other.
constexpr int64_t kRowsOfTile = 256;

// A column of numbers: `type` is that of XLA's interface, `stride` is in bytes.
struct Column {
  const char* data;
  int64_t stride, type;

  bool is_single() const { return IsSingle(static_cast<xla::ffi::DataType>(type)); }

  // Whether float32 holds all numbers of a type, so that they compare in it.
  static bool IsSingle(xla::ffi::DataType type) {
    using Type = xla::ffi::DataType;
    return type == Type::F32 || type == Type::S8 || type == Type::S16 || type == Type::U8 || type == Type::U16;
  }
};

// The columns as jaxtree/kernels/binning.py describes them, [column, 3].
inline std::vector<Column> ColumnsOf(const xla::ffi::AnyBuffer& described) {
  const auto* at = described.reinterpret_data<int64_t>();
  std::vector<Column> columns;
  for (int64_t column = 0; column < described.dimensions()[0]; ++column, at += 3) {
    columns.push_back({reinterpret_cast<const char*>(at[0]), at[1], at[2]});
  }
  return columns;
}

template <typename From, typename Real>
void ReadNumbersOf(const Column& column, int64_t begin, int64_t end, Real* numbers) {
  const char* const first = column.data + begin * column.stride;
  const auto read = [&](int64_t stride) {
    for (int64_t row = 0; row < end - begin; ++row) {
      From number;
      std::memcpy(&number, first + row * stride, sizeof(From));
      numbers[row] = static_cast<Real>(number);
    }
  };
  WithWidest([&] {
    // Of numbers side by side several are read at once.
    if (column.stride == sizeof(From)) return read(sizeof(From));
    read(column.stride);
  });
}

// Writes the numbers of some rows.
template <typename Real>
void ReadNumbers(const Column& column, int64_t begin, int64_t end, Real* numbers) {
  using Type = xla::ffi::DataType;
  switch (static_cast<Type>(column.type)) {
    case Type::F32: return ReadNumbersOf<float>(column, begin, end, numbers);
    case Type::S8: return ReadNumbersOf<int8_t>(column, begin, end, numbers);
    case Type::S16: return ReadNumbersOf<int16_t>(column, begin, end, numbers);
    case Type::S32: return ReadNumbersOf<int32_t>(column, begin, end, numbers);
    case Type::S64: return ReadNumbersOf<int64_t>(column, begin, end, numbers);
    case Type::U8: return ReadNumbersOf<uint8_t>(column, begin, end, numbers);
    case Type::U16: return ReadNumbersOf<uint16_t>(column, begin, end, numbers);
    case Type::U32: return ReadNumbersOf<uint32_t>(column, begin, end, numbers);
    case Type::U64: return ReadNumbersOf<uint64_t>(column, begin, end, numbers);
    default: return ReadNumbersOf<double>(column, begin, end, numbers);
  }
}

}  // namespace jaxtree

#endif  // JAXTREE_NATIVE_BINNING_COLUMNS_H_
