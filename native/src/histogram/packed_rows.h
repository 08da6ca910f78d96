// Rows of one score, each a number of 64 bits: the gradient, the second derivative and a one side by side, so that one addition
// adds all three to a cell. How many rows a cell holds before its parts reach into each other follows from their greatest bits.

#ifndef JAXTREE_NATIVE_HISTOGRAM_PACKED_ROWS_H_
#define JAXTREE_NATIVE_HISTOGRAM_PACKED_ROWS_H_

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace jaxtree {

// The bits that any of some derivatives has; of those below 0 the bits that are not set.
struct BitsOfRows {
  uint32_t curvature = 0, gradient = 0;

  void Add(int32_t own_curvature, int32_t own_gradient) {
    curvature |= std::max(own_curvature, 0);
    gradient |= own_gradient ^ (own_gradient >> 31);
  }

  void Add(const BitsOfRows& other) {
    curvature |= other.curvature;
    gradient |= other.gradient;
  }
};

struct PackedFormat {
  int32_t curvature_at, one_at;
  int64_t most_rows;  // of a cell
  uint64_t start;     // of a sum: by it the gradients' part is not below 0

  static PackedFormat For(const BitsOfRows& bits) {
    const int32_t curvature = NumBits(bits.curvature), gradient = NumBits(bits.gradient);
    // Each of the three parts needs as many bits more as the number of rows has.
    const int32_t of_count = std::max((63 - curvature - gradient) / 3, 1);
    const int32_t curvature_at = gradient + 1 + (of_count > 1 ? of_count : 0);
    return {curvature_at, 64 - of_count, (int64_t{1} << of_count) - 1, uint64_t{1} << (curvature_at - 1)};
  }

  uint64_t Pack(int32_t curvature, int32_t gradient) const {
    const uint64_t own = static_cast<uint64_t>(int64_t{gradient}) + (static_cast<uint64_t>(curvature) << curvature_at);
    return own + (uint64_t{1} << one_at);
  }

  // Writes what a row adds to a cell of four numbers: the second derivative, the gradient, and 1.
  inline __attribute__((always_inline)) void UnpackRow(uint64_t own, int32_t* cell) const {
    const int64_t above_gradient = 64 - curvature_at;
    const int64_t gradient = static_cast<int64_t>(own << above_gradient) >> above_gradient;
    const uint64_t rest = (own - static_cast<uint64_t>(gradient)) >> curvature_at;
    cell[0] = static_cast<int32_t>(rest & ((uint64_t{1} << (one_at - curvature_at)) - 1));
    cell[1] = static_cast<int32_t>(gradient);
    cell[2] = 1;
    cell[3] = 0;
  }

  // Whether sums of `count` rows are right. If a cell has more than `most_rows`, its number of rows passes the highest bit, and
  // loses more than the other parts, whose second derivatives are above 0, carry into it.
  bool AreRight(const uint64_t* sums, int64_t num_codes, int64_t count) const {
    if (count <= most_rows) return true;
    uint64_t held = 0;
    for (int64_t code = 0; code < num_codes; ++code) held += sums[code] >> one_at;
    return held == static_cast<uint64_t>(count);
  }

  // Adds sums to cells of four numbers: the second derivative, the gradient, and twice the number of rows. Or gives cells the
  // sums up to their codes.
  template <bool kUpTo>
  inline __attribute__((always_inline)) void Unpack(const uint64_t* sums, int64_t num_codes, int32_t* cells) const {
    typedef uint64_t Parts __attribute__((vector_size(4 * sizeof(uint64_t))));
    typedef uint32_t Cell __attribute__((vector_size(4 * sizeof(uint32_t))));
    const uint64_t of_count = 64 - one_at, above_gradient = 64 - curvature_at, place = one_at;
    const Parts left = {of_count, above_gradient, 0, 0}, right = {of_count + curvature_at, above_gradient, place, place};
    const Cell from = {0, static_cast<uint32_t>(start), 0, 0};
    Cell cell = {};
    for (int64_t code = 0; code < num_codes; ++code) {
      const uint64_t sum = sums[code];
      const Parts parts = (Parts{sum, sum, sum, sum} << left) >> right;
      if (!kUpTo) std::memcpy(&cell, cells + 4 * code, sizeof(cell));
      cell += __builtin_convertvector(parts, Cell) - from;
      std::memcpy(cells + 4 * code, &cell, sizeof(cell));
    }
  }

 private:
  static int32_t NumBits(uint32_t bits) { return bits == 0 ? 0 : 32 - __builtin_clz(bits); }
};

}  // namespace jaxtree

#endif  // JAXTREE_NATIVE_HISTOGRAM_PACKED_ROWS_H_
