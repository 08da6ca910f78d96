// Walks of rows that begin at any address, as columns of packed records do.

#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "check.h"
#include "walk/results.h"
#include "walk/values.h"

extern "C" bool jaxtree_walk(const jaxtree::Trees* trees, const void* data, int64_t bytes_of_value, int64_t num_rows,
                             int64_t row_stride, int64_t column_stride, const int32_t* start,
                             const jaxtree::Results* results, int64_t num_threads);

namespace jaxtree {
namespace {

// A tree of one split: rows above 0 in the last of two columns go right, and those without a value left.
template <typename Real>
struct Stump {
  using Key = KeyOf<Real>;

  std::vector<int32_t> column{0, 1}, levels{1}, more_levels{0}, below{1, 2};
  std::vector<int64_t> first_top{0};
  std::vector<Split<Key>> tops{{0, 0}, {MakeKey(Real{0}), Key{kTogether}}};
  std::vector<uint8_t> missing{0, 1};
  Trees trees{};

  explicit Stump(bool is_straight) {
    trees.num_trees = 1;
    trees.num_columns = 2;
    trees.is_straight = is_straight;
    trees.column = column.data();
    trees.first_top = first_top.data();
    trees.levels = levels.data();
    trees.more_levels = more_levels.data();
    trees.tops = tops.data();
    trees.top_missing = missing.data();
    trees.below = below.data();
    trees.node_missing = missing.data();
  }
};

template <typename Real>
void CheckRowsAtAnyAddress(bool is_straight) {
  constexpr int64_t kRows = 2 * kTogether + 3;
  std::mt19937 random(0);
  std::normal_distribution<Real> normal;
  std::vector<Real> rows(2 * kRows);
  for (Real& value : rows) value = normal(random);
  rows[1] = std::numeric_limits<Real>::quiet_NaN();
  const Stump<Real> stump(is_straight);
  for (size_t offset = 0; offset < sizeof(Real); ++offset) {
    std::vector<unsigned char> bytes(rows.size() * sizeof(Real) + offset);
    std::memcpy(bytes.data() + offset, rows.data(), rows.size() * sizeof(Real));
    std::vector<int64_t> ends(kRows);
    Results results{};
    results.ends = ends.data();
    CHECK(jaxtree_walk(&stump.trees, bytes.data() + offset, sizeof(Real), kRows, 2, 1, nullptr, &results, 1));
    for (int64_t row = 0; row < kRows; ++row) CHECK_EQ(ends[row], rows[2 * row + 1] > 0 ? 2 : 1);
  }
}

TEST(Walk_rows_begin_at_any_address) {
  for (const bool is_straight : {false, true}) {
    CheckRowsAtAnyAddress<float>(is_straight);
    CheckRowsAtAnyAddress<double>(is_straight);
  }
}

}  // namespace
}  // namespace jaxtree
