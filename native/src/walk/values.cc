// The functions by which jaxtree/kernels/native_walk.py walks rows, called by ctypes.

#include "walk/values.h"

#include <algorithm>
#include <cstdint>
#include <new>
#include <optional>
#include <vector>

#include "common/parallel.h"
#include "walk/ranks.h"
#include "walk/results.h"

namespace jaxtree {
namespace {

// Calls walk(begin, end, take) for blocks of rows, where take(tree, row, nodes) wants the nodes where kTogether rows end; every
// thread has a walk that make_walk() returns.
template <typename MakeWalk>
void WalkBlocks(int64_t num_rows, int64_t num_trees, const Results& results, int64_t num_threads, int64_t rows_of_block,
                int64_t rows_of_group, const MakeWalk& make_walk) {
  // With few rows every thread has a part.
  const int64_t part = (num_rows / num_threads + rows_of_group) / rows_of_group * rows_of_group;
  const int64_t size = std::min(rows_of_block, part);
  const int64_t num_blocks = (num_rows + size - 1) / size;
  InThreads(num_threads, num_blocks, [&](auto&& next) {
    auto walk = make_walk(size);
    Sums sums(results, size);
    std::optional<BagScores> scores;
    if (results.between) scores.emplace(results, size, num_trees);
    for (int64_t block; (block = next()) < num_blocks;) {
      const int64_t begin = block * size, end = std::min(begin + size, num_rows);
      if (results.means) {
        sums.Clear();
        walk(begin, end, [&](int64_t tree, int64_t row, const int32_t* ends) { sums.Add(tree, row - begin, ends, begin, end); });
        sums.Write(begin, end, num_trees);
      } else if (results.between) {
        scores->Open(begin, end);
        walk(begin, end, [&](int64_t tree, int64_t row, const int32_t* ends) { scores->Add(tree, row - begin, ends); });
        scores->Write();
      } else {
        walk(begin, end, [&](int64_t tree, int64_t row, const int32_t* ends) {
          for (int64_t at = row; at < std::min(row + kTogether, end); ++at) {
            results.ends[at * num_trees + tree] = ends[at - row];
          }
        });
      }
    }
  });
}

template <typename Real>
void WalkRows(const Trees& trees, const Matrix<Real>& values, const int32_t* start, const Results& results,
              int64_t num_threads) {
  const int64_t rows_of_block = RowsOfBlock(trees, sizeof(KeyOf<Real>));
  WalkBlocks(values.num_rows, trees.num_trees, results, num_threads, rows_of_block, kTogether, [&](int64_t size) {
    return [&trees, &values, start, keys = Keys<Real>(trees, size)](int64_t begin, int64_t end, const auto& take) mutable {
      WalkBlock(trees, keys, values, start, begin, end, take);
    };
  });
}

template <typename Real, typename Rank>
void WalkByRanks(const RankedTrees& trees, const Matrix<Real>& values, const Results& results, int64_t num_threads) {
  constexpr int64_t kRowsOfBlock = kRowsOfGroup * kGroupsOfBlock;
  WalkBlocks(values.num_rows, trees.num_trees, results, num_threads, kRowsOfBlock, kRowsOfGroup, [&](int64_t) {
    return [&values, rows = RankedRows<Real, Rank>(trees)](int64_t begin, int64_t end, const auto& take) mutable {
      rows.Walk(values, begin, end, take);
    };
  });
}

}  // namespace
}  // namespace jaxtree

extern "C" {

// Writes the nodes where rows end, or what follows from their values. Strides are in values, of 4 bytes or of 8. `start` has the
// nodes where rows begin, in trees with rules; where it is null they begin at the roots. Returns whether there was enough
// memory.
bool jaxtree_walk(const jaxtree::Trees* trees, const void* data, int64_t bytes_of_value, int64_t num_rows, int64_t row_stride,
                  int64_t column_stride, const int32_t* start, const jaxtree::Results* results, int64_t num_threads) {
  const auto walk = [&](auto real) {
    using Real = decltype(real);
    const jaxtree::Matrix<Real> rows{static_cast<const Real*>(data), num_rows, row_stride, column_stride};
    jaxtree::WalkRows(*trees, rows, start, *results, num_threads);
  };
  try {
    bytes_of_value == 4 ? walk(float{}) : walk(double{});
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

// The same by ranks, of 1 byte or of 2.
bool jaxtree_walk_by_ranks(const jaxtree::RankedTrees* trees, int64_t bytes_of_rank, const void* data, int64_t bytes_of_value,
                           int64_t num_rows, int64_t row_stride, int64_t column_stride, const jaxtree::Results* results,
                           int64_t num_threads) {
  const auto walk = [&](auto real, auto rank) {
    using Real = decltype(real);
    const jaxtree::Matrix<Real> rows{static_cast<const Real*>(data), num_rows, row_stride, column_stride};
    jaxtree::WalkByRanks<Real, decltype(rank)>(*trees, rows, *results, num_threads);
  };
  const auto walk_values = [&](auto real) { bytes_of_rank == 1 ? walk(real, uint8_t{}) : walk(real, uint16_t{}); };
  try {
    bytes_of_value == 4 ? walk_values(float{}) : walk_values(double{});
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}
}
